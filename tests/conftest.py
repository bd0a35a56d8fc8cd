"""What every test may use: people, a store of its own, and a client for each of them."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import deque
from pathlib import Path
from typing import ClassVar

import pytest
from django.conf import settings as django_settings
from django.db.models import QuerySet
from django.test import Client
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests import factories, long_files, migrated, shared, slow_servers

# How long an example takes is the machine's business, not a test's.
hypothesis_settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("untimed")


def pytest_configure(config):
    """Have processes take files of tests in the order of `long_files`, not by counts of tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_itemcollected(item):
    """Mark what asks for a database: only that can come out otherwise on another database."""
    if item.get_closest_marker("django_db") or {"db", "transactional_db"} & set(item.fixturenames):
        item.add_marker("database")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Begin with the longest files; in each, tests without shared rows precede those rows.

    Tests of capabilities that HUB_CAPABILITIES leaves out are not run.
    """
    items[:] = [item for item in items if _is_offered(item)]
    shared.put_last(items)
    long_files.put_first(items, config.rootpath)


def _is_offered(item):
    names = {mark.args[0] for mark in item.iter_markers("capability")}
    return names <= set(django_settings.HUB_CAPABILITIES)


def pytest_collection_finish():
    """Spare every later collection of garbage what stays to the end: modules and tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_setup(request, pytestconfig, django_db_blocker):
    """The database of the whole run, from the copy of an earlier run where that is the same."""
    with django_db_blocker.unblock(), migrated.kept(migrated.place_of(pytestconfig)):
        request.getfixturevalue("django_db_setup")


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """A folder for the blob stores of all tests: in memory, where there is room.

    The hub waits for the disk after every file that it stores, and tests store thousands. What
    becomes of files when processes or disks fail is tested on real disks, in tests/faults.
    """
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 4 << 30:
        yield tmp_path_factory.mktemp("stores")
        return
    with tempfile.TemporaryDirectory(prefix="hub-test-", dir=memory) as made:
        yield Path(made)


@pytest.fixture(autouse=True)
def _storage(request, stores, settings, monkeypatch):
    """Every test has an empty cache and a blob store of its own: empty, or that of shared rows."""
    from django.core.cache import cache, caches

    from registry.core import maintenance_mode, usage

    # Counts of queries must not depend on when the row was read last.
    monkeypatch.setattr(maintenance_mode, "KEPT_SECONDS", float("inf"))
    maintenance_mode.keep(maintenance_mode.NORMAL)
    storage = Path(tempfile.mkdtemp(dir=stores)) / "storage"
    if "start" in request.fixturenames:
        source = request.node.getparent(pytest.Module).stash[shared.STORAGE]
        shutil.copytree(source, storage)
    settings.HUB_STORAGE_URL = storage.as_uri()
    if "django" in str(django_settings.CACHES["default"]["BACKEND"]):
        cache.clear()
    caches["process"].clear()
    usage.notes.clear()
    # A test that imports what serves requests starts the writer, which would write in later tests.
    usage.notes._has_writer = False
    yield
    # Rows of the next module may be made, and notes written, before its first test begins.
    usage.notes.clear()
    shutil.rmtree(storage.parent, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_validator(request, monkeypatch):
    """Cards pass and reports are not made, as shapes are asked in a process of its own.

    A test that is about them asks for `real_shapes`.
    """
    if "real_shapes" not in request.fixturenames:
        shared.pass_cards(monkeypatch)


@pytest.fixture
def real_shapes():
    """Let the validator run: its process starts with the first question and is used again."""


@pytest.fixture
def graphs():
    """Let events make graphs in a folder whose tests have none (`shared.no_graphs`)."""


@pytest.fixture
def lists():
    """Let events make the documents of lists where tests have none (`shared.no_lists`)."""


@pytest.fixture
def events_delivered(django_capture_on_commit_callbacks):
    """Run what waits for the commit: `with events_delivered(): …`."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def locks(monkeypatch):
    """The models whose rows are locked (`SELECT … FOR UPDATE`), in their order, on any database."""
    names = []
    lock = QuerySet.select_for_update

    def note(rows, *args, **options):
        names.append(rows.model.__name__)
        return lock(rows, *args, **options)

    monkeypatch.setattr(QuerySet, "select_for_update", note)
    return names


@pytest.fixture
def ada(db):
    """Somebody with a namespace of her own."""
    return factories.somebody("ada")


@pytest.fixture
def bob(db):
    """Somebody else."""
    return factories.somebody("bob")


@pytest.fixture
def admin(db):
    """An administrator, who owns the namespace zoo."""
    return factories.admin()


class Api:
    """Speaks JSON to the API as somebody."""

    answers: ClassVar[list] = []

    def __init__(self, user=None, scopes=("admin",), namespace=None, models=()):
        self.http = Client()
        self.headers = {}
        if user is not None:
            secret = factories.token(user, scopes, namespace, models)
            self.headers["Authorization"] = f"Bearer {secret}"

    def __call__(self, method, path, data=None, *, content_type="application/json", **headers):
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.http.generic(
            method,
            path if path.startswith("/") else f"/api/v1/{path}",
            data if isinstance(data, bytes | str) else factories.json_text(data),
            content_type=content_type,
            headers=self.headers | names,
        )
        self.answers.append(answer)
        return answer

    def get(self, path, **headers):
        return self("GET", path, **headers)

    def post(self, path, data=None, **headers):
        return self("POST", path, data, **headers)

    def put(self, path, data=None, **headers):
        return self("PUT", path, data, **headers)

    def patch(self, path, data=None, **headers):
        return self("PATCH", path, data, **headers)

    def delete(self, path, **headers):
        return self("DELETE", path, **headers)

    def upload(self, content: bytes, *, claimed: str = "", filename: str = "file"):
        """Upload bytes in one step; returns the last answer."""
        metadata = [f"filename {factories.base64_text(filename)}"]
        if claimed:
            metadata.append(f"sha256 {factories.base64_text(claimed)}")
        made = self(
            "POST",
            "uploads",
            Tus_Resumable="1.0.0",
            Upload_Length=str(len(content)),
            Upload_Metadata=",".join(metadata),
        )
        if made.status_code != 201 or not content:
            return made
        return self(
            "PATCH",
            made["Location"].removeprefix("http://testserver"),
            content,
            content_type="application/offset+octet-stream",
            Tus_Resumable="1.0.0",
            Upload_Offset="0",
        )

    def put_file(self, version: str, path: str, content: bytes):
        """Upload bytes and point a path of a draft at them."""
        digest = self.upload(content)["Hub-Blob"]
        return self.put(f"{version}/files/{path}", {"blob": digest})


@pytest.fixture
def api():
    """Make an API client: `api()` for a guest, `api(ada)` with a token of hers."""
    yield Api
    while Api.answers:  # a file that is sent is open until it was read
        answer = Api.answers.pop()
        if answer.streaming:
            deque(answer, maxlen=0)


@pytest.fixture
def dribble():
    """Start servers that send one byte after another: `tests.slow_servers.Dribble`."""
    servers = []

    def start(*arguments, **options):
        servers.append(slow_servers.Dribble(*arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
