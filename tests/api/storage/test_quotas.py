"""Quotas count from the first byte that is announced, to the byte, whatever the protocol."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from hub.protocol import problems
from registry.models import Blob, File, Namespace, Reservation, Upload, Version
from registry.storage import collector
from registry.storage.files import store
from registry.storage.services import quotas, uploads
from registry.versions.services import commits, derivatives, files, versions
from tests import factories, xet_samples
from tests.api.protocols.huggingface.test_writing import Xet, batch, commit
from tests.api.storage.test_uploads import create, patch
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
QUOTA = 5_000


@pytest.fixture
def space(ada):
    """The namespace of ada with room for 5,000 bytes."""
    Namespace.objects.filter(slug="ada").update(quota_bytes=QUOTA)
    return Namespace.objects.get(slug="ada")


@pytest.fixture
def net(ada, space):
    return factories.model(ada)


def content_of(size, seed=0):
    return hashlib.shake_256(bytes([seed])).digest(size)


def room(space):
    found = quotas.of_namespace(space)
    return found.used, found.reserved


def numbers(document):
    names = ("quota_bytes", "used_bytes", "reserved_bytes", "asked_bytes", "room_bytes")
    return tuple(document[name] for name in names)


def test_open_and_stored_uploads_count_to_the_byte(api, ada, space):
    client = api(ada)
    made, url = create(client, 3_000)
    assert made.status_code == 201
    document = problem(create(client, 2_001)[0], 413, "quota-exceeded")
    assert numbers(document) == (QUOTA, 0, 3_000, 2_001, 2_000)
    assert create(client, 2_000)[0].status_code == 201
    assert patch(client, url, 0, content_of(3_000)).status_code == 204
    problem(create(client, 1)[0], 413, "quota-exceeded")  # stored, and in no version
    assert Upload.objects.count() == 2


def test_what_is_cancelled_gives_its_room_back_once_no_byte_is_left(api, ada, space):
    client = api(ada)
    _, url = create(client, QUOTA)
    patch(client, url, 0, b"x" * 4_000)
    assert client("DELETE", url, Tus_Resumable="1.0.0").status_code == 204
    stored = client.upload(content_of(QUOTA))
    assert stored.status_code == 204
    url = f"/api/v1/uploads/{Upload.objects.get().pk}"
    assert client("DELETE", url, Tus_Resumable="1.0.0").status_code == 204
    assert client.get(url).status_code == 404
    problem(create(client, 1)[0], 413, "quota-exceeded")  # the bytes are still there
    Blob.objects.update(touched_at=timezone.now() - timedelta(days=2))
    assert collector.collect() == 1
    assert not Upload.objects.exists()
    assert create(client, QUOTA)[0].status_code == 201


def test_a_cancelled_upload_gives_no_right_to_its_blob(api, ada, net):
    client = api(ada)
    digest = client.upload(b"cancelled")["Hub-Blob"]
    client("DELETE", f"/api/v1/uploads/{Upload.objects.get().pk}", Tus_Resumable="1.0.0")
    client.post("models/ada/net/versions", {})
    put = client.put("models/ada/net/versions/1/files/a.bin", {"blob": digest})
    problem(put, 422, "blob-unknown")


def test_uploads_that_are_over_give_their_room_back(api, ada, space):
    client = api(ada)
    create(client, QUOTA)
    problem(create(client, 1)[0], 413, "quota-exceeded")
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert uploads.expire() == 1
    assert create(client, QUOTA)[0].status_code == 201


def test_an_upload_that_goes_on_while_others_are_forgotten_is_kept(ada, monkeypatch):
    upload = uploads.create(ada, length=10)
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    monkeypatch.setattr(quotas, "expire", lambda: None)
    real = type(Upload.objects.all()).values_list

    def go_on(self, *fields, **more):
        keys = list(real(self, *fields, **more))
        Upload.objects.update(expires_at=timezone.now() + timedelta(hours=1))
        return keys

    monkeypatch.setattr(type(Upload.objects.all()), "values_list", go_on)
    assert uploads.expire() == 0
    assert (store().root / "staging" / str(upload.pk)).exists()


def test_a_file_in_a_version_counts_once(api, ada, net, space):
    client = api(ada)
    client.post("models/ada/net/versions", {})
    digest = client.upload(content_of(QUOTA))["Hub-Blob"]
    assert client.put("models/ada/net/versions/1/files/a.bin", {"blob": digest}).status_code == 201
    assert room(space) == (QUOTA, 0)
    detail = client.get("namespaces/ada").json()
    assert (detail["used_bytes"], detail["reserved_bytes"], detail["most_bytes"]) == (
        QUOTA, 0, QUOTA,
    )  # fmt: skip
    again = client.put("models/ada/net/versions/1/files/b.bin", {"blob": digest})
    assert numbers(problem(again, 413, "quota-exceeded")) == (QUOTA, QUOTA, 0, QUOTA, 0)
    assert client.delete("models/ada/net/versions/1/files/a.bin").status_code == 204
    problem(create(client, 1)[0], 413, "quota-exceeded")  # taken out, and still stored


def test_the_same_file_of_somebody_else_makes_no_difference(api, ada, bob, space):
    """Else a quota would tell who has which file."""
    Namespace.objects.filter(slug="bob").update(quota_bytes=QUOTA)
    content = content_of(QUOTA)
    factories.draft(bob, contents={"a.bin": content}, card="")
    client = api(ada)
    client.upload(content)
    problem(create(client, 1)[0], 413, "quota-exceeded")


def test_an_upload_to_a_model_fits_to_the_byte(ada, net, space):
    with pytest.raises(problems.QuotaExceeded) as refused:
        uploads.create(ada, length=QUOTA + 1, model=net)
    assert refused.value.extensions["room_bytes"] == QUOTA
    uploads.create(ada, length=QUOTA, model=net)
    assert room(space) == (0, QUOTA)


def test_files_of_a_draft_fit_to_the_byte_and_give_their_room(ada, net, space):
    version = versions.draft(ada, model=net)
    whole, more, rest = (factories.blob(ada, content_of(QUOTA - size)) for size in (0, -1, 1))
    with pytest.raises(problems.QuotaExceeded):
        files.put(ada, version=version, path="a.bin", digest=more)
    files.put(ada, version=version, path="a.bin", digest=whole)
    assert room(space) == (QUOTA, 0)
    files.put(ada, version=version, path="a.bin", digest=rest)
    files.put(ada, version=version, path="b.bin", digest=factories.blob(ada, b"x"))
    assert room(space) == (QUOTA, 0)


def test_what_is_withdrawn_or_derived_is_not_held_against_a_namespace(ada):
    version = factories.version(ada)
    space = Namespace.objects.get(slug="ada")
    used = quotas.of_namespace(space).used
    assert used == sum(file.blob.size for file in version.files.select_related("blob"))
    file = version.files.get(path="model.onnx")
    version.files.create(path="d.onnx", derived=True, blob=file.blob, git_oid=file.git_oid)
    assert quotas.of_namespace(space).used == used
    versions.withdraw(ada, version=version, reason="consent")
    assert quotas.of_namespace(space).used == 0


def test_uploads_count_for_who_sends_them(api, ada, space, settings):
    settings.HUB_LIMITS_USER_BYTES = 2_000
    client = api(ada)
    assert create(client, 2_000)[0].status_code == 201
    document = problem(create(client, 1)[0], 413, "quota-exceeded")
    assert numbers(document) == (2_000, 0, 2_000, 1, 0)


def test_open_uploads_are_counted(api, ada, settings):
    settings.HUB_LIMITS_OPEN_UPLOADS = 2
    client = api(ada)
    _, url = create(client, 1)
    assert create(client, 1)[0].status_code == 201
    assert problem(create(client, 1)[0], 413, "quota-exceeded")["open_uploads"] == 2
    patch(client, url, 0, b"x")
    assert create(client, 1)[0].status_code == 201


def test_uploads_for_two_namespaces_fit_into_both(api, ada, space):
    other = factories.namespace(ada, "lab")
    Namespace.objects.filter(pk=other.pk).update(quota_bytes=QUOTA - 1)
    client = api(ada)
    problem(create(client, QUOTA + 1)[0], 413, "quota-exceeded")  # fits into neither
    assert create(client, QUOTA)[0].status_code == 201
    problem(create(client, QUOTA)[0], 413, "quota-exceeded")
    assert create(client, QUOTA - 1)[0].status_code == 201


def test_the_disk_keeps_what_it_promised(api, ada, bob, settings, monkeypatch):
    settings.HUB_LIMITS_FREE_BYTES = 1_000
    free = [41_000]
    monkeypatch.setattr(type(store()), "free_bytes", lambda _: free[0])
    made = [create(api(user), 19_000)[0].status_code for user in (ada, bob, ada, bob)]
    assert made == [201, 201, 507, 507]
    assert create(api(ada), 2_000)[0].status_code == 201
    document = problem(create(api(bob), 1)[0], 507, "storage-full")
    assert (document["asked_bytes"], document["room_bytes"]) == (1, 0)
    upload = Upload.objects.filter(length=19_000).first()
    (store().root / "staging" / str(upload.pk)).write_bytes(content_of(19_000))
    free[0] += 1_500 - 19_000  # what has come is on the disk by now
    problem(create(api(bob), 1_501)[0], 507, "storage-full")
    assert create(api(bob), 1_500)[0].status_code == 201


def test_jobs_write_into_the_room_of_nobody_and_leave_what_was_promised(
    api, ada, space, settings, monkeypatch
):
    import io

    settings.HUB_LIMITS_FREE_BYTES = 0
    monkeypatch.setattr(type(store()), "free_bytes", lambda _: 10_000)
    create(api(ada), QUOTA)
    assert derivatives.store_bytes(io.BytesIO(b"x" * 5_000))[1] == 5_000
    with pytest.raises(problems.StorageFull, match="5001 bytes do not fit"):
        derivatives.store_bytes(io.BytesIO(b"y" * 5_001))
    assert room(space) == (0, 0)  # the upload of ada is hers until it is in a version
    assert not Reservation.objects.exists()
    assert [path.name for path in store().root.glob("staging/*")] == [str(Upload.objects.get().pk)]


def test_what_killed_processes_reserved_is_given_back(ada):
    row = Reservation(owner=ada, size=0, expires_at=timezone.now())
    quotas.grow(row, 1_000)
    quotas.expire()
    assert Reservation.objects.get().size == 1_000
    Reservation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    quotas.expire()
    assert not Reservation.objects.exists()


def test_room_is_taken_under_the_locks_of_namespace_and_user(ada, net, locks):
    """On PostgreSQL these rows are the locks; SQLite has one writer."""
    uploads.create(ada, length=1, model=net)
    assert locks == ["Namespace", "User"]
    locks.clear()
    with quotas.reserved(1, owner=ada, namespace=net.namespace):
        assert locks == ["Namespace", "User"]


def test_lfs_objects_are_counted_together(api, ada, net, space):
    first, second, third = content_of(3_000, 1), content_of(2_000, 2), b"x"
    objects = batch(api(ada), first, second, third).json()["objects"]
    assert ["error" in one for one in objects] == [False, False, True]
    assert objects[2]["error"]["code"] == 413
    assert room(space) == (0, 5_000)


def test_a_commit_with_its_content_counts(api, ada, net, space):
    client = api(ada)

    def line(size, seed, path):
        text = base64.b64encode(content_of(size, seed)).decode()
        return {"key": "file", "value": {"path": path, "content": text, "encoding": "base64"}}

    refused = commit(client, line(QUOTA - 1, 1, "a.bin"), line(2, 2, "b.bin"))
    assert refused.status_code == 413
    assert not Version.objects.exists()
    assert room(space) == (0, 0)  # what comes together is stored together
    assert commit(client, line(QUOTA - 1, 1, "a.bin"), line(1, 3, "b.bin")).status_code == 200
    assert room(space) == (QUOTA, 0)
    assert commit(client, line(1, 4, "c.bin")).status_code == 413
    assert File.objects.count() == 2


def test_a_commit_that_names_what_is_there_counts(ada, net, space):
    blob = uploads.take(ada, model=net, content=content_of(QUOTA))
    first, again = (commits.Add(path, blob.sha256) for path in ("a.bin", "b.bin"))
    commits.make(ada, model=net, branch="main", message="", changes=[first])
    with pytest.raises(problems.QuotaExceeded) as refused:
        commits.make(ada, model=net, branch="main", message="", changes=[again])
    assert refused.value.extensions["room_bytes"] == 0
    assert (room(space), File.objects.count()) == ((QUOTA, 0), 1)


@pytest.mark.capability("xet")
def test_xorbs_count_before_any_file_holds_them(api, ada, net, space):
    xet = Xet(api(ada), api)
    name, content = xet_samples.xorb(content_of(4_000))
    Namespace.objects.filter(pk=space.pk).update(quota_bytes=len(content) - 1)
    assert xet.post(f"v1/xorbs/default/{name}", content).status_code == 413
    assert not Reservation.objects.exists()
    Namespace.objects.filter(pk=space.pk).update(quota_bytes=len(content))
    assert xet.post(f"v1/xorbs/default/{name}", content).status_code == 200
    other, more = xet_samples.xorb(b"another")
    Namespace.objects.filter(pk=space.pk).update(quota_bytes=len(content) + len(more) - 1)
    assert xet.post(f"v1/xorbs/default/{other}", more).status_code == 413


def test_cards_count_those_that_were_written_before_too(api, ada, net, space):
    version = versions.draft(ada, model=net)
    text = "# Card\n\n" + "x" * 1_992
    for letter in "ab":
        files.write_card(ada, version=version, text=text.replace("x", letter))
    with pytest.raises(problems.QuotaExceeded):
        files.write_card(ada, version=version, text=text.replace("x", "c"))
    assert room(space) == (2_000, 2_000)
    files.write_card(ada, version=version, text=text[:1_000])
    assert room(space) == (1_000, 4_000)
