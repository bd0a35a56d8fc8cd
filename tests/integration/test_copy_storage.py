"""`copy_storage` from a folder to a bucket and back, killed again and again."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
import uuid
from datetime import timedelta
from hashlib import sha256

import pytest

from registry.storage import files
from registry.storage.services import uploads
from tests import ceph
from tests.faults.conftest import ROOT, own_environment, prepared
from tests.integration.conftest import bucket_of
from tests.integration.test_backups import manage
from tests.integration.test_s3 import store_of

KILLS = 5
# Some are one request of a bucket, some more than one part of a multipart upload.
SIZES = (0, 1, 1_000, 300_000, 9_000_000, 17_000_000, 40_000_000)
FILL = """
import io
import random
from pathlib import Path
from registry.models import Namespace, RegisteredModel, XetStore, Xorb
from registry.storage.files import store
from registry.storage.services import blobs
chance = random.Random(1)
for size in {sizes}:
    for _ in range(3 if size else 1):
        blobs.write(chance.randbytes(size))
model = RegisteredModel.objects.create(namespace=Namespace.objects.first(), name="packed")
chunks = XetStore.objects.create(model=model)
store().put(f"xorbs/{{chunks}}/{{'ab' * 32}}", io.BytesIO(chance.randbytes(6_000_000)))
Xorb.objects.create(store=chunks, name="ab" * 32, lengths=b"", size=6_000_000)
print(chunks)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home folder of a hub that is stopped, with blobs and a xorb, and the xorb's folder."""
    home = tmp_path_factory.mktemp("copied") / "home"
    shutil.copytree(prepared()[0], home)
    lines = manage(home, own_environment(), "shell", "-v", "0", "-c", FILL.format(sizes=SIZES))
    return home, lines.split()[-1]


def stored(home):
    """The SHA-256 of every blob that the folder of a hub holds."""
    return {path.name for path in (home / "storage" / "sha256").rglob("*") if path.is_file()}


class Copy:
    """`copy_storage` to a store, as an operator runs it."""

    def __init__(self, home, url, target, things, environment):
        """``things`` lists what lies at the target, whole or not."""
        self.home, self.url, self.target, self.things = home, url, target, things
        self.environment = own_environment() | environment | {"HUB_HOME": str(home)}

    def kill_at(self, changes, seconds):
        """Kill it some time after the target has changed so often; returns whether it had ended."""
        before, left = self.things(), changes
        process = subprocess.Popen(
            [sys.executable, "-m", "hub", "manage", "copy_storage", self.url],
            cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while left and process.poll() is None:
                now = self.things()
                left -= now != before
                before = now
            time.sleep(seconds)
            return process.poll() is not None
        finally:
            process.kill()
            process.wait()

    def run(self):
        """Run it to its end."""
        return manage(self.home, self.environment, "copy_storage", self.url)

    def check(self):
        """Everything under a digest is whole; returns the digests."""
        digests = set(self.target.names())
        for digest in digests:
            with self.target.open(digest) as reader:
                assert sha256(reader.read()).hexdigest() == digest
        return digests


def kill_until_copied(copy, wanted, chance):
    """Kill a copy at random moments, then let it end; returns how often it was killed in between.

    What was copied before a kill is there after it, and is not written again.
    """
    written, killed = {}, 0
    for _ in range(KILLS):
        killed += not copy.kill_at(chance.randint(1, 6), chance.random() / 5)
        digests = copy.check()
        assert digests <= wanted
        assert written.keys() <= digests
        for digest, at in written.items():
            assert copy.target.find(digest).written_at == at
        written = {digest: copy.target.find(digest).written_at for digest in digests}
    assert "all files are stored at" in copy.run()
    assert copy.check() == wanted
    return killed


@pytest.mark.django_db
def test_storage_moves_to_a_bucket_and_back_however_often_it_is_killed(
    cluster, home, tmp_path, settings, monkeypatch
):
    home, folder = home
    seed = random.SystemRandom().randrange(10**6)
    print("seed", seed)  # noqa: T201 - of a failure
    chance = random.Random(seed)
    wanted = stored(home)
    assert len(wanted) >= len(SIZES)

    prefix = uuid.uuid4().hex
    bucket = bucket_of(prefix)
    url = f"s3://{ceph.BUCKET}/{prefix}"
    in_bucket = store_of(bucket, tmp_path / "cache")

    def keys():
        parts = {upload for _, upload, _ in bucket.unfinished("")}
        return parts | {row.key for row in bucket.objects("")}

    copy = Copy(home, url, in_bucket, keys, cluster.environment)
    assert kill_until_copied(copy, wanted, chance) > 0
    with in_bucket.get(f"xorbs/{folder}/{'ab' * 32}") as packed:
        assert packed.read() == (home / "storage" / "xorbs" / folder / ("ab" * 32)).read_bytes()

    # What the kills left in staging is removed by the nightly task of the hub that moved there.
    settings.HUB_STORAGE_URL, settings.HUB_STORAGE_CACHE = url, tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(uploads, "LIFETIME", timedelta(seconds=-600))
        uploads.expire()
    files.store_at.cache_clear()
    assert list(bucket.unfinished("")) == []
    assert {row.key.rpartition("/")[2] for row in bucket.objects("")} == wanted | {"ab" * 32}
    moved = {"HUB_STORAGE_URL": url} | cluster.environment
    manage(home, own_environment() | moved, "verify_blobs")

    # Back: the folder of before is lost.
    shutil.rmtree(home / "storage")
    back = tmp_path / "back"
    in_folder = files.FolderStore(back)

    def paths():
        return {path: path.stat().st_size for path in back.rglob("*") if path.is_file()}

    copy = Copy(home, back.as_uri(), in_folder, quietly(paths), moved)
    assert kill_until_copied(copy, wanted, chance) > 0
    assert (back / "xorbs" / folder / ("ab" * 32)).stat().st_size == 6_000_000
    manage(home, own_environment() | {"HUB_STORAGE_URL": back.as_uri()}, "verify_blobs")
    for name in in_folder.staged_before(time.time() + 600):
        in_folder.discard(name)
    assert list(in_folder.root.glob("staging/*")) == []


def quietly(listing):
    """A listing of a folder that changes meanwhile."""

    def tolerant():
        while True:
            try:
                return listing()
            except FileNotFoundError:
                continue

    return tolerant
