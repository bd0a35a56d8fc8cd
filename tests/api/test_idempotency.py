"""A request that is repeated with its Idempotency-Key has one effect."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.models import DraftKey, Event, Upload, Version
from registry.versions.services import versions
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
KEY = "0d9c1c1e-6f5e-4c0e-9f0a-0c6a1d6f2b11"


@pytest.fixture
def client(api, ada):
    client = api(ada)
    for name in ("net", "other"):
        client.post("models", {"namespace": "ada", "name": name})
    return client


def draft(client, key, name="net", **content):
    return client("POST", f"models/ada/{name}/versions", content, Idempotency_Key=key)


def upload(client, key, length=10):
    return client(
        "POST", "uploads", Tus_Resumable="1.0.0", Upload_Length=str(length), Idempotency_Key=key
    )


def test_a_draft_is_opened_once(client):
    answers = [draft(client, KEY, message="first") for _ in range(3)]
    assert [(answer.status_code, answer.json()["number"]) for answer in answers] == [(201, 1)] * 3
    assert Version.objects.count() == 1
    assert Event.objects.filter(verb="version.drafted").count() == 1
    assert draft(client, str(uuid.uuid4())).json()["number"] == 2


def test_a_key_of_another_request_is_refused(client):
    draft(client, KEY, message="first")
    problem(draft(client, KEY, message="second"), 409, "state-conflict")
    problem(draft(client, KEY, "other", message="first"), 409, "state-conflict")
    problem(draft(client, "1"), 400, "invalid-request")
    assert Version.objects.count() == 1


def test_a_key_is_its_owners(client, api):
    draft(client, KEY)
    bob = factories.somebody("bob")
    other = api(bob)
    other.post("models", {"namespace": "bob", "name": "net"})
    made = other("POST", "models/bob/net/versions", {}, Idempotency_Key=KEY)
    assert (made.status_code, made.json()["ref"]) == (201, "bob/net@1")
    first, second = upload(client, KEY), upload(other, KEY)
    assert first["Location"] != second["Location"]


def test_the_database_keeps_keys_unique(client, ada):
    draft(client, KEY)
    kept = DraftKey.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        DraftKey.objects.create(owner=ada, key=kept.key, version=kept.version)


def test_keys_are_kept_for_a_day(client):
    draft(client, KEY)
    versions.forget_keys()
    assert DraftKey.objects.count() == 1
    DraftKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    versions.forget_keys()
    assert DraftKey.objects.count() == 0


def test_an_upload_is_opened_once(client):
    answers = [upload(client, KEY) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0]["Location"] == answers[1]["Location"]
    assert Upload.objects.count() == 1
    problem(upload(client, KEY, length=11), 409, "state-conflict")
    problem(upload(client, "one"), 400, "invalid-request")
    assert Upload.objects.count() == 1
