"""Backups that are killed, damaged, refused and removed, with the database and folders of a hub."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.faults.conftest import ROOT, own_environment, prepared

WRITE = """
from registry.storage.services import blobs
print(blobs.write({content!r}).pk)
"""
# Ends as `kill -9` does, at the first call of a function of a module.
KILL = """
import os
from registry.storage.backups import {module} as module
def end(*args, **kwargs):
    os._exit(9)
module.{name} = end
from django.core.management import call_command
call_command({command!r}, {place!r})
"""


# Runs commands and scripts one after the other, so that not each has to start Django.
RUNNER = """
import io, json, sys
from contextlib import redirect_stdout
from django.core.management import CommandError, call_command
for line in sys.stdin:
    (kind, *arguments), output, code = json.loads(line), io.StringIO(), 0
    with redirect_stdout(output):
        try:
            if kind == "script":
                exec(arguments[0], {})
            else:
                call_command(*arguments)
        except CommandError as error:
            print(error)
            code = 1
    print(json.dumps([code, output.getvalue()]), flush=True)
"""


class Home:
    """A hub's data folder, and its commands."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = own_environment() | {
            "DJANGO_SETTINGS_MODULE": "hub.server.settings",
            "HUB_HOME": str(folder),
        }
        self._runner = self._python(RUNNER)

    def _python(self, script):
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{script}"],
            cwd=ROOT, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def manage(self, *arguments, code=0):
        return self._ask("command", *arguments, code=code)

    def _ask(self, *words, code):
        self._runner.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self._runner.stdin.flush()
        actual, output = json.loads(self._runner.stdout.readline())
        assert actual == code, output
        return output

    def run(self, script):
        return self._ask("script", script, code=0).strip()

    def kill_at(self, module, name, command, place):
        script = KILL.format(module=module, name=name, command=command, place=str(place))
        process = self._python(script)
        process.communicate()
        assert process.returncode == 9

    def write(self, content):
        return self.run(WRITE.format(content=content))

    def stop(self):
        self._runner.communicate()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backed-up") / "home"
    shutil.copytree(prepared()[0], folder)
    home = Home(folder)
    yield home
    home.stop()


@pytest.fixture
def other(tmp_path):
    """An empty home."""
    home = Home(tmp_path / "other")
    yield home
    home.stop()


def stored(place, sha256):
    return place / "sha256" / sha256[:2] / sha256[2:4] / sha256


def test_a_backup_that_was_killed_is_not_whole_and_goes_on(home, other, tmp_path):
    place = tmp_path / "backups"
    digest = home.write(b"of the first")
    home.kill_at("services", "_secret_key", "backup", place)
    assert place.stat().st_mode & 0o777 == 0o700
    assert "There is no whole backup here" in home.manage("verify_backup", place, code=1)
    assert "There is no whole backup here" in home.manage("restore", place, code=1)
    written = stored(place, digest).stat().st_mtime_ns
    home.manage("backup", place)
    assert stored(place, digest).stat().st_mtime_ns == written
    assert "is intact" in home.manage("verify_backup", place)

    # A restore that was killed before the database came, and one that was killed after it.
    other.kill_at("database", "load", "restore", place)
    other.kill_at("restoring", "_finish", "restore", place)
    assert "restored" in other.manage("restore", place)
    assert "not empty" in other.manage("restore", place, code=1)
    assert "all blobs are intact" in other.manage("verify_blobs")


def test_a_restored_hub_signs_its_log_with_the_restored_key(home, other, tmp_path):
    home.run("from registry.provenance import log\nlog.append_missing()")
    place = tmp_path / "backups"
    home.manage("backup", place)
    other.manage("restore", place)
    signer = "from registry.provenance import log\nprint(log.state().signer())"
    again = Home(other.folder)  # a process that starts with the secret key that was restored
    assert again.run(signer) == home.run(signer)
    again.run("from registry.provenance import log\nlog.rotate_key()")
    assert "Every record is in the tree" in again.manage("verify_log")
    again.stop()


def test_damaged_backups_are_reported_and_mended(home, other, tmp_path):
    place = tmp_path / "backups"
    damaged, lost = home.write(b"damaged later"), home.write(b"lost later")
    home.manage("backup", place)
    stored(place, damaged).write_bytes(b"damaged LATER")
    stored(place, lost).unlink()
    words = home.manage("verify_backup", place, code=1)
    assert f"sha256:{damaged} has other bytes than its digest names" in words
    assert f"sha256:{lost} is missing" in words
    words = other.manage("restore", place, code=1)
    assert f"sha256:{damaged} has other bytes" in words
    assert "2 files of the backup are lost" in words
    stored(place, damaged).unlink()
    home.manage("backup", place)
    assert "is intact" in home.manage("verify_backup", place)
    (manifest, *_) = sorted((place / "backups").glob("*.json"))
    manifest.write_text("{")
    assert "damaged" in home.manage("verify_backup", place, "--backup", manifest.stem, code=1)


def test_old_backups_are_removed_and_what_the_others_need_stays(home, tmp_path):
    place = tmp_path / "backups"
    gone, kept = home.write(b"gone soon"), home.write(b"kept")
    home.manage("backup", place)
    home.run(f"from registry.models import Blob\nBlob.objects.get(pk={gone!r}).delete()")
    (home.folder / "storage" / "sha256" / gone[:2] / gone[2:4] / gone).unlink()
    home.run("from registry.storage.backups import hold\nhold.begin()")
    assert "no old backup removed: another backup" in home.manage("backup", place, "--keep", "1")
    home.run(
        "from django.utils import timezone\nfrom registry.models import Backup\n"
        "Backup.objects.filter(ended_at=None).update(ended_at=timezone.now())"
    )
    assert "2 old backups removed" in home.manage("backup", place, "--keep", "1")
    assert not stored(place, gone).exists()
    assert stored(place, kept).exists()
    assert "is intact" in home.manage("verify_backup", place)


def test_what_the_hub_itself_has_lost_is_named_and_the_rest_is_saved(home, tmp_path):
    place = tmp_path / "backups"
    lost = home.write(b"lost by the hub")
    (home.folder / "storage" / "sha256" / lost[:2] / lost[2:4] / lost).unlink()
    words = home.manage("backup", place, code=1)
    assert f"sha256:{lost} is missing" in words
    assert "is intact" in home.manage("verify_backup", place)
    home.write(b"lost by the hub")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("storage", "overlaps the hub's own storage"),
        ("storage/below", "overlaps the hub's own storage"),
        ("", "overlaps the hub's own storage"),
        ("ftp://host/folder", "is not supported"),
    ],
)
def test_places_that_are_refused(home, place, message):
    address = place if "://" in place else home.folder / place
    assert message in home.manage("backup", address, code=1)


@pytest.mark.parametrize(
    ("migration", "message"),
    [
        ("registry.9999_new", "newer than this one (registry.9999"),
        ("registry.0001_initial", "made before release 0.1.0"),
    ],
)
def test_a_backup_of_other_migrations_is_refused(home, other, tmp_path, migration, message):
    place = tmp_path / "backups"
    home.manage("backup", place)
    (manifest,) = (place / "backups").glob("*.json")
    text = manifest.read_text().replace('"registry.0001_tables"', f'"{migration}"')
    manifest.write_text(text)
    assert message in other.manage("restore", place, code=1)
    assert not (other.folder / "hub.sqlite3").exists()
