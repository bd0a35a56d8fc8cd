"""The images, started: `setup`, `web`, `graphs`, `worker` and `beat` from what was built.

`scripts/images` builds them; `HUB_TEST_IMAGES=1` says that it did. Each role runs as the image's
user without capabilities, in the image's root, which is read-only, against PostgreSQL, Redis and an
S3 bucket outside.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import suppress

import onnx
import pytest

from hub.client.hub import Hub
from tests import ceph, samples
from tests.faults.conftest import wait_for
from tests.integration import charts
from tests.integration.test_backups import another_database, drop

pytestmark = pytest.mark.skipif(
    os.environ.get("HUB_TEST_IMAGES") != "1", reason="scripts/images has built none"
)
IMAGES = ("onnx-hub-web", "onnx-hub-worker-cpu")
DONE = ("conformance", "succeeded")
CARD = "---\nlicense: mit\n---\n# A net\n"


def buildah(*words):
    """Run buildah, which must succeed; returns what it printed."""
    done = subprocess.run(["buildah", *words], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


# What composition and chart ask for: a read-only root, three folders of its own, the image's user
# without capabilities. Arguments: the root, where the folders are, then what to run.
CONFINED = """
root=$1 folders=$2
shift 2
mount --bind "$root" "$root"
touch "$root/etc/resolv.conf" "$root/etc/hosts"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
mount --bind /etc/hosts "$root/etc/hosts"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$folders/home" "$root/var/lib/hub"
mount --bind "$folders/graphs" "$root/srv/graphs"
mount --bind "$folders/tmp" "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs \\
    --bounding-set=-all --inh-caps=-all env -i -C /var/lib/hub "$@"
"""


class Container:
    """A read-only root made from an image; what is started in it sees the host's network."""

    def __init__(self, image, environment, folders):
        self.name = buildah("from", f"localhost/{image}")
        self.root = buildah("mount", self.name)
        own = json.loads(buildah("inspect", self.name))["OCIv1"]["config"]["Env"]
        self.environment = [*own, *("=".join(each) for each in environment.items())]
        self.folders = folders / self.name
        for name in ("home", "graphs", "tmp"):
            (self.folders / name).mkdir(parents=True)
            os.chown(self.folders / name, 10001, 10001)
        self.processes = []

    def command(self, *words):
        confined = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", CONFINED, "sh"]
        return [*confined, self.root, str(self.folders), *self.environment, *words]

    def run(self, *words):
        """Run a command to its end, which must be a good one; returns what it printed."""
        done = subprocess.run(self.command(*words), check=False, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-3000:])
        return done.stdout

    def start(self, role, logs):
        with (logs / f"{role}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command("entrypoint", role), stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)

    def stop(self):
        for process in self.processes:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(20)
        for words in (["umount", self.name], ["rm", self.name]):
            subprocess.run(["buildah", *words], check=False, capture_output=True)


@pytest.fixture(scope="module")
def environment(database, redis, cluster):
    """What an operator sets; the address is that of `web`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return cluster.environment | {
        "PORT": port,
        "HUB_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "HUB_SECRET_KEY": "x7" * 40,
        "DATABASE_URL": database,
        "REDIS_URL": redis.url,
        "HUB_STORAGE_URL": f"s3://{ceph.BUCKET}/hub",
        "HUB_GRAPHS": "/srv/graphs",
        "HUB_SANDBOX_REQUIRED": "partial",
        "WEB_WORKERS": "1",
    }


@pytest.fixture(scope="module")
def containers(environment, tmp_path_factory):
    """Every role, running; web and graphs share a root, as they share the volume of the graphs."""
    logs = tmp_path_factory.mktemp("logs")
    web, beat, worker = (
        Container(image, environment, tmp_path_factory.mktemp("folders"))
        for image in ("onnx-hub-web", "onnx-hub-web", "onnx-hub-worker-cpu")
    )
    try:
        shown = web.run("entrypoint", "setup")
        assert re.search(r"^admin password: \S{12,}$", shown, re.MULTILINE)
        web.run("entrypoint", "wait-for-setup")
        for container, role in ((web, "graphs"), (web, "web"), (worker, "worker"), (beat, "beat")):
            container.start(role, logs)
        yield {"web": web, "beat": beat, "worker": worker}
    finally:
        for container in (web, beat, worker):
            container.stop()


@pytest.fixture(scope="module")
def address(containers, environment):
    place = environment["HUB_PUBLIC_URL"]

    def is_ready():
        try:
            with urllib.request.urlopen(f"{place}/readyz", timeout=5) as answer:  # noqa: S310
                return answer.status == 200
        except (OSError, urllib.error.HTTPError):
            return False

    wait_for(is_ready, "every part to be ready", 180)
    return place


@pytest.mark.parametrize("image", IMAGES)
def test_what_is_inside(image, tmp_path):
    container = Container(image, {}, tmp_path)
    try:
        assert container.run("id", "-u").strip() == "10001"
        assert container.run("python", "-V").startswith("Python 3.11")
        for tool in ("pip", "gcc", "git", "curl"):
            container.run("sh", "-c", f"! command -v {tool}")
        assert "en_US.utf8" in container.run("locale", "-a")
        container.run(
            "sh",
            "-c",
            "! touch /opt/hub/x /srv/blobs/x 2> /dev/null && touch /var/lib/hub/x /tmp/x",
        )
        has_runtime = 'import importlib.util as u; print(bool(u.find_spec("onnxruntime")))'
        assert container.run("python", "-c", has_runtime).strip() == str(
            image == "onnx-hub-worker-cpu"
        )
    finally:
        container.stop()


def test_the_quickstart_against_the_images(containers, address, tmp_path):
    web = containers["web"]
    assert "admin password" not in web.run("entrypoint", "setup")
    token = web.run("hub", "token", "create", "--user", "admin", "--scope", "admin").split()[-1]
    file = tmp_path / "model.onnx"
    file.write_bytes(samples.mlp())
    client = Hub(address, token=token, cache=tmp_path / "cache")
    version = client.push("admin/net", file, card=CARD, progress=False)
    assert version["state"] == "published"
    loaded = Hub(address, cache=tmp_path / "other").load("admin/net", progress=False)
    assert loaded.SerializeToString(deterministic=True) == onnx.load(file).SerializeToString(
        deterministic=True
    )
    wait_for(lambda: _conformance(client), "the worker to run the conformance of the model", 180)
    rows = {"query": "SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } } LIMIT 1"}
    wait_for(lambda: client.transport.get("/sparql", rows)["results"]["bindings"], "the graphs", 60)


@charts.needs_helm
def test_the_job_of_the_chart_backs_up_what_can_be_restored(
    containers, address, environment, database, tmp_path
):
    place = f"s3://{ceph.BUCKET}/backups"
    documents = charts.render(
        {
            "domain": "hub.example.org",
            "existingSecret": "keys",
            "storage": {"url": environment["HUB_STORAGE_URL"]},
            "backups": {"url": place},
        }
    )
    pod = dict(charts.templates(documents))["CronJob", "hub-backup"]["spec"]
    for container in (*pod["initContainers"], *pod["containers"]):
        output = containers["web"].run("entrypoint", *container["args"])
    assert re.search(r"^backup \S+: \d+ files? of ", output, re.MULTILINE)
    empty = {
        "DATABASE_URL": another_database(database),
        "HUB_STORAGE_URL": f"s3://{ceph.BUCKET}/other",
    }
    other = Container("onnx-hub-web", environment | empty, tmp_path)
    try:
        assert " restored: " in other.run("hub", "manage", "restore", place)
        assert "all blobs are intact" in other.run("hub", "manage", "verify_blobs")
    finally:
        other.stop()
        drop(empty["DATABASE_URL"])


def _conformance(client):
    return [job for job in client.jobs.list() if (job.kind, job.state) == DONE]


def test_roles_say_that_they_live(containers, address):
    containers["worker"].run("entrypoint", "worker-is-alive")
    containers["web"].run("entrypoint", "graphs-is-alive")
    wait_for(
        lambda: subprocess.run(
            containers["beat"].command("entrypoint", "beat-is-alive"), check=False
        ).returncode == 0,
        "beat to write its schedule", 60,
    )  # fmt: skip
