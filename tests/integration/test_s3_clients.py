"""Other people's clients on a hub whose files lie in a bucket: huggingface_hub, hf_xet, git-lfs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from hashlib import sha256

import pytest

from registry.storage.s3.bucket import LEAST_PART_BYTES
from tests import ceph, samples
from tests.faults.conftest import Hub, wait_for
from tests.integration.conftest import bucket_of
from tests.integration.environments import python_with
from tests.integration.test_backups import manage
from tests.integration.test_git import fresh, with_token
from tests.integration.test_huggingface_upload import write_and_publish

# More than two parts of Git LFS, and of a multipart upload of the bucket.
LARGE = bytes(range(256)) * 80_000


@pytest.fixture(scope="module")
def hub(cluster, tmp_path_factory):
    """A hub with its files in a bucket; large objects come in the smallest parts that S3 takes."""
    made = Hub(
        tmp_path_factory.mktemp("clients") / "home",
        HUB_STORAGE_URL=f"s3://{ceph.BUCKET}/clients",
        HUB_STORAGE_REDIRECT="true",
        HUB_LIMITS_PUT_BYTES=str(LEAST_PART_BYTES),
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
        **cluster.environment,
    )
    yield made
    made.stop()


def stored():
    """The digests of the blobs in the hub's bucket, once nothing is in staging."""
    bucket = bucket_of("clients")

    def is_settled():  # jobs store their reports meanwhile
        return not list(bucket.unfinished("")) and not list(bucket.objects("staging/"))

    wait_for(is_settled, "staging to be empty")
    return {row.key.rpartition("/")[2] for row in bucket.objects("sha256/")}


@pytest.mark.parametrize("xet", [True, False], ids=["xet", "lfs"])
def test_huggingface_hub_writes_to_a_bucket_and_reads_from_it(hub, xet, tmp_path):
    python = python_with("huggingface-newest", "huggingface_hub")
    write_and_publish(hub, python, f"net-{'xet' if xet else 'lfs'}", tmp_path, xet=xet)
    assert sha256(samples.mlp()).hexdigest() in stored()
    environment = hub.environment | {"HUB_STORAGE_URL": f"s3://{ceph.BUCKET}/clients"}
    assert "are intact" in manage(hub.home, environment, "verify_blobs")


def test_git_lfs_writes_to_a_bucket_and_reads_from_it(hub, tmp_path):
    if shutil.which("git-lfs") is None:
        pytest.skip("git-lfs is not installed here")

    def git(*words, at):
        done = subprocess.run(
            ["git", *map(str, words)], cwd=at, capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"},
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    name, digest = fresh("large"), sha256(LARGE).hexdigest()
    hub.call("POST", "models", {"namespace": "zoo", "name": name})
    mine = tmp_path / "mine"
    mine.mkdir()
    git("init", "--quiet", at=mine)
    git("lfs", "install", at=mine)
    git("lfs", "track", "*.bin", at=mine)
    (mine / "w.bin").write_bytes(LARGE)
    git("add", ".", at=mine)
    git("remote", "add", "origin", with_token(hub, f"/zoo/{name}"), at=mine)
    git("lfs", "push", "--object-id", "origin", digest, at=mine)
    assert digest in stored()
    lines = [
        {"key": "header", "value": {"summary": "Weights"}},
        {"key": "lfsFile", "value": {"path": "w.bin", "algo": "sha256", "oid": digest,
                                     "size": len(LARGE)}},
    ]  # fmt: skip
    body = "\n".join(map(json.dumps, lines)).encode()
    path = f"/api/models/zoo/{name}/commit/main"
    status, _, answer = hub.call("POST", path, body, Content_Type="application/x-ndjson")
    assert status == 200, answer
    git("clone", "--quiet", with_token(hub, f"/zoo/{name}"), "here", at=tmp_path)
    assert (tmp_path / "here" / "w.bin").read_bytes() == LARGE
