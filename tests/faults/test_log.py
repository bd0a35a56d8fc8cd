"""The transparency log while processes append at once and are killed: no record is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from urllib.parse import urlsplit

import pytest

from tests.faults.conftest import ROOT, own_environment, prepared
from tests.integration.conftest import execute

pytestmark = pytest.mark.capability("provenance")

BEGIN = """
from registry.models import Namespace, User
from registry.provenance import log
from registry.versions.services import registered_models
admin = User.objects.get(username="admin")
space = Namespace.objects.filter(memberships__user=admin).first()
registered_models.create(admin, namespace=space, name="net")
log.append([])
"""
# Each line that it prints names an event that was acknowledged.
WRITE = """
from django.db import transaction
from registry.core import events
from registry.models import RegisteredModel
model = RegisteredModel.objects.get()
for number in range({count}):
    name = "{name}-" + str(number)
    with transaction.atomic():
        events.record("model.moved", model, actor=None, model=model, old=name, new=model.ref)
    print(name, flush=True)
"""
# Kills its process with SIGKILL at its third append, before or after it calls a function.
KILL = """
import os, signal
from django.db import connection
from registry.provenance import log
calls = []
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
def killing(function):
    def call(*args, **kwargs):
        calls.append(0)
        if len(calls) == 3 and "{when}" == "before":
            kill()
        result = function(*args, **kwargs)
        if len(calls) == 3 and "{when}" == "after":
            kill()
        return result
    return call
"""
KILL_FUNCTION = "log.{name} = killing(log.{name})"
# The commit of the transaction in which the third head was signed.
KILL_COMMIT = """
sign, commit, signed = log._sign, killing(connection._commit), []
log._sign = lambda *args: (sign(*args), signed.append(0))
ordinary = connection._commit
def end():
    if len(signed) == 3:
        calls.extend([0, 0])
        return commit()
    return ordinary()
connection._commit = end
"""
READ = """
import json
from registry.core import outbox
from registry.provenance import log
from registry.provenance.models import LogHead, LogLeaf
from hub.protocol.transparency.notes import Checkpoint, Note
{before}
sizes = [Checkpoint.parse(Note.parse(row.note).text).size for row in LogHead.objects.all()]
names = [json.loads(record).get("name") for record in
         LogLeaf.objects.order_by("position").values_list("record", flat=True)]
print(json.dumps([list(log.audit()), max(sizes), names]))
"""
DELIVER = "outbox.deliver(); log.append_missing()"


class Place:
    """A database and a key that processes share."""

    def __init__(self, home, url=""):
        self.environment = own_environment() | {
            "DJANGO_SETTINGS_MODULE": "hub.server.settings",
            "HUB_HOME": str(home),
        }
        if url:
            self.environment["DATABASE_URL"] = url

    def start(self, script):
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", f"import django; django.setup()\n{script}"],
            cwd=ROOT, env=self.environment, text=True, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, script):
        process = self.start(script)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        return output

    def read(self, before=""):
        """Faults of the log, the size of the newest head, and the names in its records."""
        faults, size, names = json.loads(self.run(READ.format(before=before)).splitlines()[-1])
        assert faults == []
        assert size == len(names)
        return names


@pytest.fixture
def own_database():
    """The address of a new, empty database."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL names no PostgreSQL server")
    name = f"hub_{uuid.uuid4().hex[:12]}"
    execute(url, f"CREATE DATABASE {name}")
    yield urlsplit(url)._replace(path=f"/{name}").geturl()
    execute(url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A hub's data folder with a model and a log."""
    home = tmp_path / "home"
    shutil.copytree(prepared()[0], home)
    url = request.getfixturevalue("own_database") if request.param == "postgresql" else ""
    place = Place(home, url)
    if url:
        place.run(
            "from django.core.management import call_command\n"
            "from registry.people.services import users\n"
            "call_command('migrate', verbosity=0)\n"
            "users.create(username='admin', superuser=True)"
        )
    place.run(BEGIN)
    return place


def test_two_processes_append_at_once(place):
    writers = [place.start(WRITE.format(name=name, count=25)) for name in ("one", "two")]
    names = {line for writer in writers for line in writer.communicate(timeout=300)[0].split()}
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(names) == 50
    recorded = [name for name in place.read(DELIVER) if name in names]
    assert sorted(recorded) == sorted(names)
    # Each writer's records are in its own order.
    for name in ("one", "two"):
        numbers = [int(word.partition("-")[2]) for word in recorded if word.startswith(name)]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("_verified_size", "before"),
        ("_insert", "before"),
        ("_insert", "after"),
        ("_sign", "before"),
        ("commit", "before"),
        ("commit", "after"),
    ],
)
def test_a_process_killed_within_an_append_loses_nothing(place, name, when):
    """Its transaction is undone, or it is there whole; the next append takes what waits."""
    end = KILL_COMMIT if name == "commit" else KILL_FUNCTION.format(name=name)
    process = place.start(KILL.format(when=when) + end + WRITE.format(name="one", count=10))
    output, _ = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    acknowledged, last = output.split(), f"one-{len(output.split())}"
    assert len(acknowledged) == 2
    # Each head that is signed holds what was acknowledged; what died with the process, no head.
    names = {word for word in place.read() if word and word.startswith("one-")}
    assert names == {*acknowledged, *([last] if (name, when) == ("commit", "after") else [])}
    # The event was committed before the process died within its delivery.
    recorded = [word for word in place.read(DELIVER) if word and word.startswith("one-")]
    assert recorded == [*acknowledged, last]
    place.run(WRITE.format(name="two", count=1))
    assert "two-0" in place.read(DELIVER)


def test_a_process_killed_at_any_time_leaves_a_log_that_goes_on(place):
    process = place.start(WRITE.format(name="one", count=1_000))
    acknowledged = [process.stdout.readline().strip() for _ in range(15)]
    process.send_signal(signal.SIGKILL)
    acknowledged += process.communicate(timeout=300)[0].split("\n")[:-1]
    assert 15 <= len(acknowledged) < 1_000
    assert set(acknowledged) <= set(place.read(DELIVER))
    place.run(WRITE.format(name="two", count=3))
    assert {"two-0", "two-1", "two-2"} <= set(place.read(DELIVER))
