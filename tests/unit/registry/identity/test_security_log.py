"""The security log: what it keeps, in which transaction, and what its tables refuse."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from registry.core import security_log, usage
from registry.core.security_log import Kind
from registry.identity import services
from registry.identity.models import SecurityEvent, SecurityRetention
from registry.models import Event
from registry.people.services import tokens
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]


@pytest.fixture
def ada():
    return factories.user("ada")


@pytest.fixture(autouse=True)
def _no_notes():
    usage.notes.clear()
    yield
    usage.notes.clear()


def refused(sql, *params):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def entry(ada, **columns):
    """An entry of the last hour."""
    at = timezone.now() - timedelta(minutes=1)
    return SecurityEvent.objects.create(
        **{"kind": Kind.SIGN_IN.value, "actor": ada, "at": at} | columns
    )


def test_a_change_is_kept_in_its_transaction_with_the_address(ada):
    with security_log.request_from(lambda: "192.0.2.7"):
        tokens.create(ada, name="laptop", scopes=["read"])
    row, event = SecurityEvent.objects.get(), Event.objects.latest("pk")
    assert (row.kind, row.subject_kind, row.subject_id) == (
        event.verb,
        event.subject_kind,
        event.subject_id,
    )
    assert (row.actor, row.address, row.request_id) == (ada, "192.0.2.7", event.request_id)


def test_what_no_request_changed_has_no_entry(ada):
    tokens.create(ada, name="laptop", scopes=["read"])
    assert not SecurityEvent.objects.exists()


def test_entries_wait_while_the_database_takes_none(ada, monkeypatch):
    security_log.report(Kind.SIGN_IN, actor=ada)
    with monkeypatch.context() as patch:
        patch.setattr(SecurityEvent.objects, "bulk_create", _fail)
        with pytest.raises(DatabaseError):
            usage.notes.flush()
    usage.notes.flush()
    assert SecurityEvent.objects.get().kind == Kind.SIGN_IN


def _fail(_rows):
    raise DatabaseError


def test_entries_are_never_changed_and_deleted_only_after_their_time(ada):
    row = entry(ada)
    refused("UPDATE identity_securityevent SET address = 'other'")
    refused("DELETE FROM identity_securityevent")
    earlier = row.at - timedelta(seconds=1)
    retention = SecurityRetention.objects.create(pk=1, before=earlier)
    refused("DELETE FROM identity_securityevent")
    refused("DELETE FROM identity_securityretention")
    for wrong in (earlier - timedelta(days=1), timezone.now() + timedelta(days=1)):
        with pytest.raises(IntegrityError), transaction.atomic():
            SecurityRetention.objects.filter(pk=1).update(before=wrong)
    assert SecurityEvent.objects.get() == row
    retention.before = row.at + timedelta(microseconds=1)
    retention.save()
    SecurityEvent.objects.all().delete()


def test_entries_are_deleted_after_their_days(ada, settings):
    settings.HUB_SECURITY_LOG_DAYS = 30
    old = entry(ada, at=timezone.now() - timedelta(days=31))
    new = entry(ada, at=timezone.now() - timedelta(days=29))
    assert services.forget() == 1
    assert list(SecurityEvent.objects.all()) == [new]
    assert SecurityRetention.objects.get().before > old.at
    settings.HUB_SECURITY_LOG_DAYS = 300
    assert services.forget() == 0
    assert SecurityEvent.objects.get() == new
