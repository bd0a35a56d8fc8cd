"""The collector meets uploads of the same bytes, and `kill -9` at every step of either."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from hashlib import sha256

import pytest

from tests.faults.conftest import ROOT, own_environment, prepared
from tests.integration.conftest import database  # noqa: F401 - a fixture

CONTENT = b"the same bytes, twice " * 1000
SHA256 = sha256(CONTENT).hexdigest()

# Moving or removing the bytes of the blob waits for a line, before it or after it.
HOLD = f"""
import pathlib
def held(name):
    real = getattr(pathlib.Path, name)
    def hold(self, *args, **kwargs):
        if not {SHA256!r} in {{self.name, *(str(a).rpartition("/")[2] for a in args)}}:
            return real(self, *args, **kwargs)
        if WHEN == "before":
            print("held", flush=True); input()
        real(self, *args, **kwargs)
        if WHEN == "after":
            print("held", flush=True); input()
    setattr(pathlib.Path, name, hold)
held("unlink")
held("replace")
"""
COLLECT = (
    "from registry.storage import collector\nprint('freed', collector.collect(), flush=True)\n"
)
OPEN = f"""
import io
from registry.models import Upload, User
from registry.storage.services import uploads
admin = User.objects.get(username="admin")
content = {CONTENT[:22]!r} * 1000
uploads.create(admin, length=len(content), claimed={SHA256!r})
"""
SEND = f"""
import io
from registry.models import Upload
from registry.storage.services import uploads
upload = Upload.objects.select_related("owner").get(state="receiving")
print("begun", flush=True)
stream = io.BytesIO({CONTENT[:22]!r} * 1000)
print(uploads.append(upload.owner, upload=upload, offset=0, stream=stream).state, flush=True)
"""
UPLOAD = OPEN + SEND
AGE = """
from datetime import timedelta
from django.utils import timezone
from registry.models import Blob, Upload
Upload.objects.all().delete()
Blob.objects.update(touched_at=timezone.now() - timedelta(days=2))
"""
ORPHANS = """
import os
from datetime import timedelta
from django.utils import timezone
from registry.storage.files import store
from registry.storage.services import blobs
blobs.GRACE = timedelta(seconds=-1)
print(blobs.free_orphans(f"{number:02x}" for number in range(256)), flush=True)
"""


# Somebody names the blob in a transaction that takes its time.
NAME = f"""
from django.db import transaction
from django.utils import timezone
from registry.models import Upload, User
from registry.storage.services import blobs
with transaction.atomic():
    blob = blobs.hold([{SHA256!r}])[{SHA256!r}]
    print("held", flush=True)
    input()
    Upload.objects.create(
        owner=User.objects.get(username="admin"), length=blob.size, offset=blob.size,
        state="stored", blob=blob, expires_at=timezone.now(),
    )
"""
BACKUP = """
from registry.models import Blob
from registry.storage.backups import hold
backup = hold.begin()
print(Blob.objects.filter(erased_at=None).count(), "blobs", flush=True)
input()
hold.end(backup, is_whole=False)
"""
# Runs scripts one after the other, so that not each has to start Django.
RUNNER = """
import json, sys
for line in sys.stdin:
    exec(json.loads(line), {})
    print("\\0", flush=True)
"""


class Place:
    """A database and a storage folder that processes share, without a hub."""

    def __init__(self, home, url):
        self.home = home
        self.environment = own_environment() | {
            "DJANGO_SETTINGS_MODULE": "hub.server.settings",
            "HUB_HOME": str(home),
            "HUB_LOG_FORMAT": "json",
        }
        if url:
            self.environment["DATABASE_URL"] = url
        self.runner = self.start(RUNNER)

    def start(self, script):
        """A process that runs a script beside the others."""
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{script}"],
            cwd=ROOT, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, script):
        """The words that a script prints."""
        self.runner.stdin.write(json.dumps(script) + "\n")
        self.runner.stdin.flush()
        lines = iter(self.runner.stdout.readline, "\0\n")
        words = []
        for line in lines:
            assert line, "the script failed"
            words += line.split()
        return words

    def stop(self):
        self.runner.communicate()

    @contextmanager
    def held(self, when, script):
        """A process that stops where the bytes are about to move, or have moved."""
        with self.start(f"WHEN = {when!r}\n{HOLD}\n{script}") as process:
            try:
                for line in process.stdout:
                    if line.strip() == "held":
                        break
                yield process
            finally:
                process.kill()

    def files(self):
        """Where the bytes lie, below the storage folder."""
        storage = self.home / "storage"
        return sorted(
            str(path.relative_to(storage)).rpartition(".")[0] or str(path.relative_to(storage))
            for path in storage.rglob("*")
            if path.is_file()
        )

    def rows(self):
        """The digests that rows say are stored."""
        return self.run(
            "from registry.models import Blob\n"
            "print(*Blob.objects.filter(erased_at=None).values_list('pk', flat=True))"
        )


STORED = f"sha256/{SHA256[:2]}/{SHA256[2:4]}/{SHA256}"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request, tmp_path_factory):
    """A place with an unneeded blob that nobody touched for two days; tests begin from that."""
    home = tmp_path_factory.mktemp("place") / "home"
    shutil.copytree(prepared()[0], home)
    url = request.getfixturevalue("database") if request.param == "postgresql" else ""
    place = Place(home, url)
    if url:
        place.run(
            "from django.core.management import call_command\n"
            "call_command('migrate', verbosity=0)\n"
            "from hub.server import first_run\nfirst_run.make_admin('a long enough password')\n"
        )
    yield place
    place.stop()


@pytest.fixture(autouse=True)
def _aged(place):
    place.run(f"{AGE}\n{UPLOAD}\n{AGE}")
    assert place.files() == [STORED]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_upload_while_the_same_bytes_are_freed(place, when):
    place.run(OPEN)
    with place.held(when, COLLECT) as collector, place.start(SEND) as upload:
        assert upload.stdout.readline() == "begun\n"
        with pytest.raises(subprocess.TimeoutExpired):
            upload.wait(1)  # for the lock of the digest
        collector.stdin.write("\n" * 9)
        collector.stdin.close()
        assert "freed 1" in collector.stdout.read()
        assert upload.stdout.read().split() == ["stored"]
    assert (place.rows(), place.files()) == ([SHA256], [STORED])


def test_the_collector_waits_for_whoever_is_about_to_name_the_blob(place):
    with place.held("never", NAME) as naming, place.start(COLLECT) as collector:
        with pytest.raises(subprocess.TimeoutExpired):
            collector.wait(3)
        naming.communicate("\n")
        assert collector.stdout.read().split() == ["freed", "0"]
    assert (place.rows(), place.files()) == ([SHA256], [STORED])


def test_a_backup_waits_for_a_free_under_way_and_the_next_waits_for_the_backup(place):
    with place.held("before", COLLECT) as collector, place.start(BACKUP) as backup:
        with pytest.raises(subprocess.TimeoutExpired):
            backup.wait(2)
        collector.communicate("\n" * 9)
        assert backup.stdout.readline() == "0 blobs\n"
        place.run(f"{UPLOAD}\n{AGE}")
        assert place.run(COLLECT) == ["freed", "0"]
        backup.communicate("\n")
    assert place.run(COLLECT) == ["freed", "1"]
    assert (place.rows(), place.files()) == ([], [])


def test_a_worker_reads_storage_again_beside_its_work(place):
    words = place.run(
        "import os\nfrom runners.workers import storage_verification\n"
        "from registry.models import BlobCheck\n"
        "storage_verification.start().join()\n"
        "nice = [os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, os.getppid())]\n"
        "print(nice[0] - nice[1])\n"
        "print(*BlobCheck.objects.filter(checked_at__isnull=False, problem='').values_list('pk'))\n"
    )
    assert words[-2:] == ["0", f"('{SHA256}',)"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_collector_is_killed_and_the_same_bytes_are_uploaded(place, when):
    with place.held(when, COLLECT) as collector:
        collector.kill()
    assert place.run(UPLOAD)[-1] == "stored"
    assert place.run(COLLECT)[-1] == "0"
    assert (place.rows(), place.files()) == ([SHA256], [STORED])


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_collector_is_killed_and_goes_on_the_next_time(place, when):
    with place.held(when, COLLECT) as collector:
        collector.kill()
    assert place.run(COLLECT)[-1] == "1"
    assert (place.rows(), place.files()) == ([], [])


def test_what_a_killed_collector_left_in_the_trash_is_restored(place):
    with place.held("after", COLLECT) as collector:
        collector.kill()
    assert place.rows() == [SHA256]
    assert place.files() == [f"trash/{SHA256}"]
    place.run("from registry.storage.services import blobs\nblobs.empty_trash()\n")
    assert (place.rows(), place.files()) == ([SHA256], [STORED])


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_upload_is_killed_while_it_becomes_a_blob(place, when):
    """The row is of before, so its bytes are unneeded; the upload waits to be asked for."""
    with place.held(when, UPLOAD) as upload:
        upload.kill()
    assert place.run(COLLECT)[-1] == "0"
    state = place.run(
        "from registry.models import Upload\nfrom registry.storage.services import uploads\n"
        "print(uploads.refresh(Upload.objects.get()).state)\n"
    )
    assert (state[-1], place.rows(), place.files()) == ("stored", [SHA256], [STORED])


def test_bytes_that_a_killed_upload_left_without_a_row_are_freed_when_it_is_over(place):
    place.run(COLLECT)
    with place.held("after", UPLOAD) as upload:
        upload.kill()
    assert (place.rows(), place.files()) == ([], [STORED])
    assert place.run(ORPHANS)[-1] == "0"  # its owner may still ask for it
    place.run("from registry.models import Upload\nUpload.objects.all().delete()\n")
    assert place.run(ORPHANS)[-1] == "1"
    assert (place.rows(), place.files()) == ([], [])
