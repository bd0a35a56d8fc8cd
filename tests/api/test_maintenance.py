"""Read-only maintenance: reads work, changes are refused, jobs wait, and pages say so."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from registry.core import leases, maintenance_mode, outbox, usage
from registry.core.maintenance_mode import NORMAL, Mode
from registry.models import AccessToken, Delivery, DownloadCount, MaintenanceMode, Namespace
from runners.models import Job
from runners.queue import services
from tests import factories
from tests.api.test_reads import READS, addresses, everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


def command(capsys, *words, **options):
    call_command("maintenance", *words, **options)
    return capsys.readouterr().out


@pytest.fixture
def read_only(db):
    maintenance_mode.change(Mode(is_read_only=True))


def test_a_change_is_refused_with_the_time_and_a_read_is_answered(api, ada):
    ends_at = timezone.now() + timedelta(minutes=30)
    maintenance_mode.change(Mode(is_read_only=True, ends_at=ends_at))
    answer = api(ada).post("models", {"namespace": "ada", "name": "net"})
    assert answer.status_code == 503
    assert 1700 < int(answer["Retry-After"]) <= 1800
    problem = answer.json()
    assert problem["type"].endswith("/problems/unavailable")
    assert f"{ends_at:%Y-%m-%d %H:%M} UTC" in problem["detail"]
    assert "read-only for maintenance" in problem["detail"]
    assert api(ada).get("namespaces/ada").status_code == 200
    maintenance_mode.change(NORMAL)
    assert api(ada).post("models", {"namespace": "ada", "name": "net"}).status_code == 201


def test_a_refused_change_is_no_error_in_the_log(read_only, api, ada, caplog):
    for method, path in (("POST", "models"), ("DELETE", "models/ada/net")):
        answer = api(ada)(method, path, {"namespace": "ada", "name": "net"})
        assert answer.status_code == 503
    lines = [row for row in caplog.records if row.levelno >= logging.INFO]
    assert {row.levelname for row in lines} == {"INFO"}
    refusals = [row.msg for row in lines if row.name == "hub.server.reads"]
    assert [row["event"] for row in refusals] == ["change_refused"] * 2
    assert all(row["reason"] == "read-only maintenance" for row in refusals)


def test_no_statement_of_a_request_changes_rows(read_only, api, ada, admin):
    before = {table: table.objects.count() for table in (Namespace, AccessToken, Job)}
    asked = (
        ("POST", "users", {"username": "eve"}),
        ("PATCH", "users/ada", {"is_active": False}),
        ("POST", "tokens", {"name": "x", "scopes": ["read"]}),
        ("PUT", "namespaces/zoo/members/ada", {"role": "writer"}),
        ("DELETE", "namespaces/zoo/members/admin", None),
        ("POST", "namespaces", {"slug": "lab"}),
    )
    administrator = api(admin)
    before[AccessToken] += 1
    for method, path, data in asked:
        answer = administrator(method, path, data)
        assert (path, answer.status_code) == (path, 503)
        assert answer["Retry-After"] == str(maintenance_mode.RETRY_SECONDS)
    assert {table: table.objects.count() for table in before} == before


def test_an_upload_is_refused_before_its_bytes_are_stored(api, ada):
    client = api(ada)
    made = client(
        "POST", "uploads", Tus_Resumable="1.0.0", Upload_Length="4",
        Upload_Metadata=f"filename {factories.base64_text('f')}",
    )  # fmt: skip
    path = made["Location"].removeprefix("http://testserver")
    maintenance_mode.change(Mode(is_read_only=True))
    headers = {"Tus_Resumable": "1.0.0", "Upload_Offset": "0"}
    kind = "application/offset+octet-stream"
    assert client("PATCH", path, b"abcd", content_type=kind, **headers).status_code == 503
    maintenance_mode.change(NORMAL)
    assert client("PATCH", path, b"abcd", content_type=kind, **headers).status_code == 204


def test_a_post_that_only_reads_is_answered(read_only, api, ada):
    answer = api(ada)(
        "POST", "/sparql", "ASK {}", content_type="application/sparql-query",
        Accept="application/sparql-results+json",
    )  # fmt: skip
    assert "read-only" not in answer.content.decode(errors="replace")
    batch = {"operation": "download", "objects": []}
    answer = api(ada)(
        "POST", "/ada/net.git/info/lfs/objects/batch", batch,
        content_type="application/vnd.git-lfs+json",
    )  # fmt: skip
    assert answer.status_code != 503


@pytest.mark.capability("community")
@pytest.mark.capability("federated")
@pytest.mark.capability("webhooks")
@pytest.mark.capability("mirrors")
def test_no_request_to_any_route_changes_rows(ada, admin, graphs):
    paths = sorted(set(addresses(*everything(ada)[:2])))
    secret = factories.token(admin)
    browser, guest = Client(), Client()
    browser.force_login(admin)
    changed, statuses, here = [], {}, ""

    def witness(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if not READS.match(sql):
            changed.append((here, sql[:100]))
        return result

    def ask(client, method, path, content, kind, **headers):
        nonlocal here
        here = f"{method} /{path}"
        with transaction.atomic():  # a refusal within a transaction would break that of the test
            with connection.execute_wrapper(witness):
                answer = client.generic(
                    method, f"/{path}", content, content_type=kind, headers=headers
                )
            transaction.set_rollback(True)
        statuses.setdefault(answer.status_code, []).append(here)

    maintenance_mode.change(Mode(is_read_only=True))
    for path in paths:
        for method in UNSAFE:
            ask(guest, method, path, "{}", "application/json", Authorization=f"Bearer {secret}")
        ask(browser, "POST", path, "", "application/x-www-form-urlencoded")
    assert changed == []
    assert 503 in statuses
    assert statuses.get(500) is None


def test_signing_in_is_refused_with_a_page_that_says_why(ada):
    ada.set_password("correct horse battery")
    ada.save()
    maintenance_mode.change(Mode(is_read_only=True, banner="New disks until noon."))
    answer = Client().post(
        "/login", {"username": "ada", "password": "correct horse battery"}, HTTP_ACCEPT="text/html"
    )
    page = answer.content.decode()
    assert answer.status_code == 503
    assert "Retry-After" in answer.headers
    assert "read-only for maintenance" in page
    assert "New disks until noon." in page


def test_pages_show_a_banner_as_text_alone_and_changes_go_on(api, ada):
    maintenance_mode.change(Mode(banner="<b>Move</b> on Friday"))
    page = Client().get("/help").content.decode()
    assert "&lt;b&gt;Move&lt;/b&gt; on Friday" in page
    assert "read-only" not in page
    assert api(ada).post("models", {"namespace": "ada", "name": "net"}).status_code == 201


def test_no_job_begins_and_no_periodic_task_has_a_turn(ada):
    version = factories.version(ada)
    Job.objects.all().delete()
    job = services.enqueue(
        kind="describe", version=version, entry="model.onnx", priority=Job.URGENT
    )
    services.see("w1", host="h1", pool="cpu", features={})
    maintenance_mode.change(Mode(is_read_only=True))
    waiting = Delivery.objects.count()
    assert services.claim("w1", ["cpu"]) is None
    assert not leases.take_turn("tidy", 10.0)
    assert outbox.deliver() == 0
    assert Delivery.objects.count() == waiting > 0
    maintenance_mode.change(NORMAL)
    assert leases.take_turn("tidy", 10.0)
    assert outbox.deliver() > 0
    assert services.claim("w1", ["cpu"]) == job


def test_what_reads_leave_behind_is_not_written_by_a_process_that_ends(ada, monkeypatch):
    version = factories.version(ada)
    maintenance_mode.change(Mode(is_read_only=True))
    usage.notes.add_download(version.pk)
    # It closes the connections of a process that ends; this test goes on with its own.
    monkeypatch.setattr(usage.connections, "close_all", lambda: None)
    usage.notes._flush_at_exit()
    assert not DownloadCount.objects.exists()
    maintenance_mode.change(NORMAL)
    usage.notes.flush()
    assert DownloadCount.objects.get().downloads == 1


def test_the_command_says_what_is_so(capsys):
    assert command(capsys) == "This hub accepts changes.\n"
    words = command(capsys, "on", "New disks.", minutes=10)
    assert "probably until" in words
    assert words.endswith("banner: New disks.\n")
    assert MaintenanceMode.objects.get().is_read_only
    assert command(capsys, "off") == "This hub accepts changes.\n"
    assert command(capsys, "banner", "Soon.") == "This hub accepts changes.\nbanner: Soon.\n"


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["banner"], {}),
        (["off", "text"], {}),
        (["banner", "text"], {"minutes": 5}),
        (["on"], {"minutes": 0}),
        (["banner", "x" * 501], {}),
    ],
)
def test_the_command_refuses_what_makes_no_sense(words, options):
    with pytest.raises(CommandError):
        call_command("maintenance", *words, **options)
    assert not MaintenanceMode.objects.exists()


def test_the_database_has_one_mode_alone():
    with pytest.raises(IntegrityError), transaction.atomic():
        MaintenanceMode.objects.create(pk=2)
