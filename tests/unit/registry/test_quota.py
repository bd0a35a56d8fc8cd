"""A namespace's quota, exact to the byte by every way that bytes come in."""

from __future__ import annotations

import pytest

from hub.protocol import problems
from registry.models import Namespace, RegisteredModel, Version
from registry.services import commits, files, uploads, versions
from tests import factories, samples

pytestmark = pytest.mark.django_db
ROOM = 1_000


def leave_room():
    """Set a quota that leaves ada's namespace exactly ROOM bytes."""
    space = Namespace.objects.get(slug="ada")
    space.quota_bytes = files.room(space) - files.room_left(space) + ROOM
    space.save()
    assert files.room_left(space) == ROOM


def upload(ada, model, size):
    uploads.create(ada, length=size)


def upload_to_a_model(ada, model, size):
    uploads.create(ada, length=size, model=model)


def commit(ada, model, size):
    sha256 = commits.store_content(ada, model=model, content=b"x" * size)
    add = commits.Add("weights.bin", sha256, is_own=True)
    commits.make(ada, model=model, branch="main", message="", changes=[add])


@pytest.mark.parametrize("send", [upload, upload_to_a_model, commit])
def test_the_last_byte_fits_and_one_more_does_not(ada, send):
    model = factories.model(ada)
    leave_room()
    model = RegisteredModel.objects.get(pk=model.pk)
    with pytest.raises(problems.QuotaExceeded) as refused:
        send(ada, model, ROOM + 1)
    assert refused.value.extensions["room_bytes"] == ROOM
    send(ada, model, ROOM)


@pytest.mark.parametrize("size", [ROOM, ROOM + 1])
def test_a_file_of_a_draft_fits_to_the_byte(ada, size):
    version = factories.draft(ada)
    digest = factories.blob(ada, b"x" * size)
    leave_room()
    if size > ROOM:
        with pytest.raises(problems.QuotaExceeded):
            files.put(ada, version=version, path="weights.bin", digest=digest)
    else:
        files.put(ada, version=version, path="weights.bin", digest=digest)
    assert version.files.filter(path="weights.bin").exists() == (size == ROOM)


def test_a_file_that_is_replaced_gives_its_room(ada):
    version = factories.draft(ada, contents={"model.onnx": samples.mlp(), "a.bin": b"a" * 500})
    leave_room()
    digest = factories.blob(ada, b"x" * (ROOM + 500))
    files.put(ada, version=version, path="a.bin", digest=digest)
    assert files.room_left(version.model.namespace) == 0


def test_what_is_withdrawn_or_derived_is_not_held_against_a_namespace(ada):
    version = factories.listed(ada)
    space = Namespace.objects.get(slug="ada")
    used = files.bytes_used(space)
    assert used == sum(file.blob.size for file in version.files.select_related("blob"))
    file = version.files.get(path="model.onnx")
    version.files.create(path="d.onnx", derived=True, blob=file.blob, git_oid=file.git_oid)
    assert files.bytes_used(space) == used
    versions.withdraw(ada, version=version, reason="consent")
    assert Version.objects.get().state == Version.State.WITHDRAWN
    assert files.bytes_used(space) == 0
