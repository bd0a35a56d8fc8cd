"""``/metrics``: who may read it, what it counts, and that it names no model and no user."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest
from django.db import DatabaseError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from hub.server import gauges, metrics, requests
from hub.server.public_files import PublicFiles
from registry.core import periodic, work_totals
from registry.core.work_totals import Cost
from tests import factories

pytestmark = pytest.mark.django_db
TOKEN = "a-token-for-monitoring"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr(metrics, "_collector", gauges.HubCollector())


@pytest.fixture
def read(settings):
    settings.HUB_METRICS_TOKEN = TOKEN

    def call(**headers):
        answer = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"} | headers)
        assert answer.status_code == 200
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(answer.content.decode())
            for sample in family.samples
        }

    return call


def test_guests_and_users_find_nothing(settings):
    user, admin = factories.token(factories.user("ada")), factories.token(factories.admin())
    for header in ({}, {"Authorization": f"Bearer {user}"}, {"Authorization": "Bearer "},
                   {"Authorization": f"Bearer {TOKEN}"}):  # fmt: skip
        assert Client().get("/metrics", headers=header).status_code == 404
    settings.HUB_METRICS_TOKEN = TOKEN
    assert Client().get("/metrics", headers={"Authorization": "Bearer other"}).status_code == 404
    assert Client().get("/metrics", headers={"Authorization": f"Bearer {admin}"}).status_code == 200


def test_requests_are_counted_by_route_and_status(read):
    path = "/api/v1/models/ada/secret-name"
    key = ("hub_requests_total", "GET", "api/v1/models/<str:namespace>/<str:name>", "404")
    before = read().get(key, 0)
    for _ in range(3):
        assert Client().get(path).status_code == 404
    Client().generic("BREW", "/nowhere-at-all")
    after = read()
    assert after[key] == before + 3
    assert after["hub_requests_total", "other", "unknown", "404"] >= 1
    assert after["hub_request_seconds_count", key[2]] >= 3
    assert not any("secret-name" in part or "nowhere" in part for row in after for part in row)


def test_the_state_of_the_hub(read):
    owner = factories.user("quokka")
    factories.submitted(owner, factories.model(owner, "wombat"))
    work_totals.add("check", "passed", Cost(3.0, 2.0))
    with periodic.run("tidy"):
        pass
    values = read()
    assert values["hub_jobs", "cpu.urgent", "queued"] >= 1
    assert values["hub_queue_age_seconds", "cpu.urgent"] >= 0
    assert values["hub_attempts_total", "check", "passed"] == 1
    assert values["hub_attempt_cpu_seconds_total", "check", "passed"] == 2.0
    assert ("hub_attempt_joules_total", "check", "passed") not in values
    assert values["hub_files_bytes",] > 0
    assert values["hub_periodic_task_success_timestamp_seconds", "tidy"] > 1e9
    assert not any(name in part for row in values for part in row for name in ("quokka", "wombat"))
    assert {value for row, value in values.items() if row[0] == "hub_metrics_unreadable"} == {0}


def test_a_part_that_cannot_be_read_is_named_and_the_others_are_there(read, monkeypatch):
    def broken():
        raise DatabaseError("no such table")
        yield

    parts = [replace(part, read=broken) if part.name == "work" else part for part in gauges.gauges]
    monkeypatch.setattr(gauges, "gauges", parts)
    values = read()
    assert values["hub_metrics_unreadable", "work"] == 1
    assert values["hub_metrics_unreadable", "queue"] == 0
    assert ("hub_files",) in values


def test_a_task_that_fails_says_why_and_keeps_its_last_success(read):
    with periodic.run("tidy"):
        pass
    with pytest.raises(ValueError, match="why"), periodic.run("tidy"):
        raise ValueError("why")
    values = read()
    assert values["hub_periodic_task_failure_timestamp_seconds", "tidy"] > 1e9
    assert values["hub_periodic_task_success_timestamp_seconds", "tidy"] > 1e9


def test_openmetrics_is_given_to_those_who_ask_for_it(settings):
    settings.HUB_METRICS_TOKEN = TOKEN
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/openmetrics-text"}
    answer = Client().get("/metrics", headers=headers)
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")


def test_a_request_is_logged_with_its_route_and_user_and_without_names(settings, caplog):
    settings.HUB_LOG_REQUEST_SECONDS = settings.HUB_LOG_QUERY_SECONDS = 0
    ada = factories.user("ada")
    secret = factories.token(ada)
    caplog.clear()
    headers = {"Authorization": f"Bearer {secret}", "X-Request-Id": "quoted-by-a-user"}
    answer = Client().get("/api/v1/models/ada/secret-name", headers=headers)
    assert (answer["X-Request-Id"], answer.json()["instance"]) == ("quoted-by-a-user",) * 2
    rows = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    (row,) = (row for row in rows if row["event"] == "request")
    assert (row["method"], row["status"], row["user"]) == ("GET", 404, ada.pk)
    assert (row["route"], row["request_id"]) == (
        "api/v1/models/<str:namespace>/<str:name>", "quoted-by-a-user",
    )  # fmt: skip
    queries = [row for row in rows if row["event"] == "slow_query"]
    assert {query["route"] for query in queries} >= {row["route"]}
    assert secret not in caplog.text
    assert "secret-name" not in caplog.text.replace("Not Found: /api/v1/models/ada/secret-name", "")


def access_lines(caplog):
    rows = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [row for row in rows if row["event"] == "access"]


def test_no_address_is_logged_by_default(caplog):
    assert Client().get("/healthz").status_code == 200
    assert access_lines(caplog) == []


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "2001:db8:0:1::7")])
def test_the_access_log_names_client_and_route(settings, caplog, proxies, address):
    settings.HUB_LOG_ACCESS, settings.HUB_LOG_REQUEST_SECONDS = True, -1
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": proxies}
    ada = factories.user("ada")
    headers = {
        "Authorization": f"Bearer {factories.token(ada)}",
        "X-Request-Id": "quoted-by-a-user",
        "X-Forwarded-For": "192.0.2.1, 2001:db8:0:1::7",
    }
    caplog.clear()
    assert Client().get("/api/v1/models/ada/secret-name", headers=headers).status_code == 404
    (row,) = access_lines(caplog)
    assert row.pop("seconds") >= 0
    assert {name: row[name] for name in row if name not in {"level", "logger", "timestamp"}} == {
        "event": "access",
        "address": address,
        "method": "GET",
        "route": "api/v1/models/<str:namespace>/<str:name>",
        "status": 404,
        "user": ada.pk,
        "request_id": "quoted-by-a-user",
    }


@pytest.mark.usefixtures("lists")
def test_files_are_in_the_access_log_however_they_are_answered(settings, caplog):
    version = factories.published(factories.somebody("ada"))
    model = version.model
    settings.HUB_LOG_ACCESS = True
    caplog.clear()
    path = f"/api/v1/models/{model.ref}/versions/1/files/model.onnx"
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "REMOTE_ADDR": "192.0.2.9",
        "HTTP_HOST": "localhost",
        "wsgi.url_scheme": "http",
    }
    answer = PublicFiles(None).direct(environ)
    answer.file.close()
    streamed = Client().get(path, REMOTE_ADDR="192.0.2.9")
    assert len(b"".join(streamed.streaming_content)) == answer.length
    first, second = access_lines(caplog)
    assert (first["address"], first["status"]) == ("192.0.2.9", 200)
    assert first["route"].endswith("/versions/<number:number>/files/<path:path>")
    for name in ("address", "route", "status", "user", "method"):
        assert first[name] == second[name], name
    assert "model.onnx" not in str([first, second])


def test_fast_requests_are_not_logged(settings, caplog):
    settings.HUB_LOG_REQUEST_SECONDS = -1
    assert Client().get("/healthz").status_code == 200
    settings.HUB_LOG_REQUEST_SECONDS = 5.0
    assert Client().get("/healthz").status_code == 200
    assert not any("request" in str(record.msg) for record in caplog.records)


def test_a_connection_made_by_a_read_is_watched_and_may_write_afterwards():
    class Connection:
        execute_wrappers: ClassVar = ["the guard of a read"]

    for _ in range(2):
        requests._watch(Connection)
    # As the guard's context manager of Django does.
    assert Connection.execute_wrappers.pop() == "the guard of a read"
    assert [type(one) for one in Connection.execute_wrappers] == [requests._SlowQueries]
