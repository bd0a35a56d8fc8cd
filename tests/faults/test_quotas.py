"""Requests at once never take the same room: on SQLite and PostgreSQL, whatever bounds them."""

from __future__ import annotations

import pytest

from tests.faults.test_storage import database, place  # noqa: F401 - fixtures

# As many at once as there are threads, each with a connection of its own.
AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from django.conf import settings
from django.db import connections
from hub.protocol import problems
from registry.storage.folder import FolderStore
from registry.models import File, Namespace, RegisteredModel, Reservation, Upload, User, Version
from registry.storage.services import quotas, uploads
from registry.versions.services import files, registered_models, versions
admin = User.objects.get(username="admin")
zoo = Namespace.objects.get(slug="zoo")
Upload.objects.all().delete()
barrier = Barrier(6)
def attempt(number):
    barrier.wait()
    try:
        act(number)
    except problems.Problem as problem:
        return problem.slug
    finally:
        connections.close_all()
    return "done"
def all_at_once():
    with ThreadPoolExecutor(6) as pool:
        print(*sorted(pool.map(attempt, range(6))), flush=True)
"""
OPEN_AT_ONCE = f"""{AT_ONCE}
settings.HUB_LIMITS_USER_BYTES = {{user}}
FolderStore.free_bytes = lambda self: {{free}}
settings.HUB_LIMITS_FREE_BYTES = 0
Namespace.objects.update(quota_bytes={{quota}})
model = {{model}}
def act(number):
    uploads.create(admin, length=3_000_000, model=model)
all_at_once()
Upload.objects.all().delete()
Namespace.objects.update(quota_bytes=None)
"""
MODEL = "RegisteredModel.objects.filter(name='net').first() or registered_models.create("
MODEL += "admin, namespace=zoo, name='net')"


@pytest.mark.parametrize(
    ("limits", "refusal"),
    [
        # In each of the administrator's two: zoo, and the one of their own name.
        ({"quota": 3_000_000}, "quota-exceeded"),
        ({"quota": 6_000_000, "model": MODEL}, "quota-exceeded"),
        ({"user": 6_000_000}, "quota-exceeded"),
        ({"free": 8_000_000}, "storage-full"),
    ],
    ids=["namespaces of a user", "namespace", "user", "disk"],
)
def test_uploads_opened_at_once_never_take_the_same_room(place, limits, refusal):  # noqa: F811 - the fixture
    told = {"quota": "None", "user": 10**12, "free": 10**12, "model": "None"} | limits
    assert place.run(OPEN_AT_ONCE.format(**told)) == ["done"] * 2 + [refusal] * 4


def test_files_put_into_versions_at_once_never_take_the_same_room(place):  # noqa: F811 - the fixture
    """Each into a model of its own, so that only the namespace is common to them."""
    script = f"""{AT_ONCE}
import io
made = []
for number in range(6):
    model = registered_models.create(admin, namespace=zoo, name=f"crowd{{number}}")
    upload = uploads.create(admin, length=1000)
    content = bytes([number]) * 1000
    upload = uploads.append(admin, upload=upload, offset=0, stream=io.BytesIO(content))
    made.append((versions.draft(admin, model=model), f"sha256:{{upload.blob_id}}"))
Upload.objects.filter(blob=None).delete()
used = quotas.of_namespace(zoo).used
Namespace.objects.update(quota_bytes=used + 2_000)
def act(number):
    version, digest = made[number]
    files.put(admin, version=version, path="a.bin", digest=digest)
all_at_once()
Namespace.objects.update(quota_bytes=None)
print(quotas.of_namespace(zoo).used - used)
for version, _ in made:
    registered_models.delete(admin, model=version.model)
"""
    assert place.run(script) == ["done"] * 2 + ["quota-exceeded"] * 4 + ["2000"]
