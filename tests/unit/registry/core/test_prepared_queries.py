"""Querysets whose SQL is written once: rows and objects are those of the queryset."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Value
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.core.prepared_queries import Prepared, insert
from registry.models import RegisteredModel, Version
from registry.versions import selectors
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def versions(model_id):
    rows = Version.objects.filter(model=model_id).annotate(file_count=Count("files"))
    return rows.select_related("model__namespace", "deprecation").defer("readme")


def test_instances_are_those_of_the_queryset(ada):
    prepared = Prepared(versions)
    for name in ("first", "second"):
        model = factories.model(ada, name)
        factories.version(ada, model)
        factories.version(ada, model)
        expected, rows = list(versions(model.pk)), prepared.instances(model.pk)
        assert rows == expected
        assert [row.file_count for row in rows] == [row.file_count for row in expected]
        with CaptureQueriesContext(connection) as queries:
            assert {row.ref for row in rows} == {row.ref for row in expected}
            assert [hasattr(row, "deprecation") for row in rows] == [False, False]
        assert len(queries) == 0
        assert rows[0].readme == expected[0].readme  # deferred, and read when it is asked for


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no plans")
def test_a_planned_statement_is_prepared_once_in_each_connection(ada):
    def named(name, before):
        rows = RegisteredModel.objects.filter(name=name, created_at__lt=before)
        return rows.values_list(Value("100 %"), "name", "pk")

    prepared = Prepared(named, planned=True)
    model = factories.model(ada, "net")
    later = timezone.now() + timedelta(minutes=1)
    with CaptureQueriesContext(connection) as queries:
        for name, expected in (("net", [("100 %", "net", model.pk)]), ("no'ne", [])) * 4:
            assert prepared.rows(name, later) == expected
    prepares = [query["sql"] for query in queries if query["sql"].startswith("PREPARE")]
    assert (len(prepares), len(queries)) == (1, 9)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_prepared_statements")
            assert cursor.fetchone() == (0,)
    finally:
        other.close()


def test_rows_are_inserted_as_objects_are_saved(ada):
    at = timezone.now()
    rows = [Session(session_key=f"k'{n}", session_data="%s é", expire_date=at) for n in range(3)]
    with CaptureQueriesContext(connection) as queries:
        insert(rows)
    assert len(queries) == 1
    Session(session_key="saved", session_data="%s é", expire_date=at).save(force_insert=True)
    stored = Session.objects.order_by("pk").values_list("pk", "session_data", "expire_date")
    assert list(stored) == [(key, "%s é", at) for key in ("k'0", "k'1", "k'2", "saved")]
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(rows[:1])


def test_parts_of_a_version_are_read_in_three_questions(ada):
    version = factories.version(ada)
    row = Version.objects.select_related("model__namespace").get(pk=version.pk)
    with CaptureQueriesContext(connection) as queries:
        selectors.whole(row)
    assert len(queries) == 3
    with CaptureQueriesContext(connection) as queries:
        files = {(file.path, file.blob.size, file.version.ref) for file in row.files.all()}
        entries = [variant.entry.path for variant in row.variants.all()]
        assert row.checks.all()
    assert len(queries) == 0
    assert files == {
        (file.path, file.blob.size, version.ref) for file in version.files.select_related("blob")
    }
    assert entries == [variant.entry.path for variant in version.variants.all()]


def test_a_guest_and_a_user_find_the_same_public_model_and_not_a_private_one(ada):
    from django.contrib.auth.models import AnonymousUser

    guest = AnonymousUser()
    public = factories.version(ada, factories.model(ada, "Open"))
    factories.version(ada, factories.model(ada, "closed", visibility="private"))
    assert selectors.model(guest, "ADA", "open") == selectors.model(ada, "ada", "OPEN")
    assert selectors.version(guest, "ada", "open", 1) == public
    assert selectors.latest(guest, public.model) == public
    with pytest.raises(selectors.problems.NotFound):
        selectors.model(guest, "ada", "closed")
    RegisteredModel.objects.filter(name="Open").update(visibility="private")
    with pytest.raises(selectors.problems.NotFound):
        selectors.version(guest, "ada", "open", 1)
