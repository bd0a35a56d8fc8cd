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
# Ends as `kill -9` does, where it would call a function for the third time.
KILL = """
import os
from registry.provenance import {module} as module
function, calls = module.{name}, []
def end(*args, **kwargs):
    calls.append(0)
    if len(calls) == 3:
        os._exit(9)
    return function(*args, **kwargs)
module.{name} = end
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


@pytest.mark.parametrize("name", ["_verified_size", "_insert", "_sign"])
def test_a_process_killed_within_an_append_loses_nothing(place, name):
    """Its transaction is undone; the next append takes what was committed before."""
    script = KILL.format(module="log", name=name) + WRITE.format(name="one", count=10)
    process = place.start(script)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 9
    acknowledged = output.split()
    assert len(acknowledged) < 10
    assert set(acknowledged) <= set(place.read())
    recorded = place.read(DELIVER)
    # The event was committed before the process died within its delivery.
    assert [word for word in recorded if word and word.startswith("one-")] == [
        *acknowledged, f"one-{len(acknowledged)}"
    ]  # fmt: skip


def test_a_process_killed_at_any_time_leaves_a_log_that_goes_on(place):
    process = place.start(WRITE.format(name="one", count=1_000))
    acknowledged = [process.stdout.readline().strip() for _ in range(15)]
    process.send_signal(signal.SIGKILL)
    acknowledged += process.communicate(timeout=300)[0].split("\n")[:-1]
    assert 15 <= len(acknowledged) < 1_000
    assert set(acknowledged) <= set(place.read(DELIVER))
    place.run(WRITE.format(name="two", count=3))
    assert {"two-0", "two-1", "two-2"} <= set(place.read(DELIVER))
