"""Jobs, their attempts and workers over HTTP: what is told, and who may do what."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.core import outbox
from runners.engine.hardware import causes
from runners.models import Bar, Job
from runners.queue import aliases, services
from runners.worker_features import WorkerFeatures
from tests import factories

pytestmark = pytest.mark.django_db

FEATURES = {
    "isolation": {"name": "full"},
    "runtimes": {"onnxruntime": "1.31.1"},
    "providers": ["CPUExecutionProvider"],
    "versions": {"onnx": "1.23.2"},
}


@pytest.fixture
def version(ada):
    return factories.submitted(ada)


def poison(version):
    """Crash the version's first job twice; returns it."""
    for _ in range(2):
        Job.objects.update(not_before=timezone.now())
        job = services.claim("w", ["cpu"], host="h")
        services.give_back(job, reason="crash", detail="ended by SIGKILL")
    outbox.deliver()
    return Job.objects.get(version=version, kind="describe")


def test_a_job_tells_every_attempt_and_why_it_waits(api, ada, admin, version):
    job = Job.objects.get()
    expected = {
        "waiting_for": "no worker takes jobs of the pool cpu",
        "attempts": [],
        "queue": "cpu.urgent",
        "requires": {},
        "exclusive": "none",
        "priority": 0,
        "barred": False,
    }
    told = api(ada).get(f"jobs/{job.pk}").json()
    assert {name: told[name] for name in expected} == expected
    services.give_back(services.claim("w", ["cpu"], host="h"), reason="errored", detail="disk full")
    Job.objects.update(not_before=timezone.now())
    services.claim("w2", ["cpu"], host="h2")
    told = api(admin).get(f"jobs/{job.pk}").json()
    assert told["waiting_for"] == ""
    assert [
        [row[name] for name in ("number", "worker", "host", "outcome", "detail")]
        for row in told["attempts"]
    ] == [[1, "w", "h", "errored", "disk full"], [2, "w2", "h2", "running", ""]]
    assert told["attempts"][0]["ended_at"] is not None
    assert told["attempts"][1]["ended_at"] is None


def test_the_list_asks_as_much_for_many_as_for_one(api, ada, django_assert_max_num_queries):
    for n in range(5):
        services.enqueue(kind="suite", version=None, job_input={"n": n})
    asker = api(ada)
    with django_assert_max_num_queries(8):
        assert len(asker.get("jobs").json()["items"]) == 5


def test_only_an_administrator_lifts_a_bar(api, ada, bob, admin, version):
    job = poison(version)
    told = api(ada).get(f"jobs/{job.pk}").json()
    assert (told["state"], told["error_class"], told["barred"]) == ("failed", "poison", True)
    for who, status in ((None, 404), (bob, 404), (ada, 403)):
        assert api(who).post(f"jobs/{job.pk}/lift").status_code == status
    # A token of so narrow a scope does not even show the drafts of others.
    assert api(admin, scopes=("write",)).post(f"jobs/{job.pk}/lift").status_code == 404
    assert Bar.objects.get().lifted_at is None
    lifted = api(admin).post(f"jobs/{job.pk}/lift")
    assert (lifted.status_code, lifted.json()["barred"]) == (200, False)
    assert api(admin).post(f"jobs/{job.pk}/lift").status_code == 409


def test_the_page_shows_attempts_and_lifts_the_bar(client, ada, admin, version):
    job = poison(version)
    client.force_login(ada)
    page = client.get(f"/jobs/{job.pk}").content.decode()
    assert page.count("ended by SIGKILL") >= 2
    assert "<b>Quarantined.</b>" in page
    assert "Release from quarantine" not in page
    assert client.post(f"/jobs/{job.pk}/lift").status_code == 403
    client.force_login(admin)
    assert "Release from quarantine" in client.get(f"/jobs/{job.pk}").content.decode()
    assert client.post(f"/jobs/{job.pk}/lift").status_code == 302
    assert "<b>Quarantined.</b>" not in client.get(f"/jobs/{job.pk}").content.decode()


def test_workers_tell_what_they_offer_and_administrators_where(api, ada, admin):
    assert api().get("workers").json()["items"] == []
    failed = {"CUDAExecutionProvider": "libcublasLt.so.13: cannot open shared object file"}
    offered = FEATURES | {"failed": failed}
    services.see("rack7-17", host="rack7", pool="cpu,light", features=offered, slots=2)
    offers = {
        "queues": ["cpu.urgent", "cpu", "light"],
        "slots": 2,
        "runtimes": {"onnxruntime": "1.31.1"},
        "providers": ["CPUExecutionProvider"],
        "isolation": "full",
        "versions": {"onnx": "1.23.2"},
        "unavailable": {"CUDAExecutionProvider": ""},
    }
    assert causes.of(failed["CUDAExecutionProvider"]).code == "missing-library"
    for client in (api(), api(ada), api(admin, ["write"])):
        (shown,) = client.get("workers").json()["items"]
        names = {name: shown.pop(name) for name in ("name", "host")}
        assert {name: shown[name] for name in offers} == offers
        assert names == {"name": aliases.worker("rack7-17"), "host": aliases.host("rack7")}
        assert "rack7" not in str(names)
    (shown,) = api(admin).get("workers").json()["items"]
    assert (shown["name"], shown["host"]) == ("rack7-17", "rack7")
    assert shown["unavailable"] == failed
    (told,) = api().get("workers").json()["items"]
    assert told["causes"]["CUDAExecutionProvider"]["code"] == "missing-library"
    assert "onnxruntime-gpu[cuda,cudnn]" in told["causes"]["CUDAExecutionProvider"]["cure"]


def test_the_page_of_workers_tells_causes_to_all_and_reasons_to_administrators(client, ada, admin):
    assert "No worker running" in client.get("/workers").content.decode()
    failed = {"CUDAExecutionProvider": "libcublasLt.so.12: cannot open shared object file"}
    offered = FEATURES | {"failed": failed}
    services.see("rack7-17", host="rack7", pool="gpu-a100", features=offered)
    for user, sees in ((None, False), (ada, False), (admin, True)):
        if user:
            client.force_login(user)
        page = client.get("/workers").content.decode()
        assert "missing-library" in page
        assert "gpu-a100" in page
        assert ("libcublasLt.so.12" in page, "rack7-17" in page) == (sees, sees)


def test_the_page_of_workers_leaves_out_providers_that_take_no_operators(client):
    words = "fallback to CPU EP has been explicitly disabled by the user"
    failed = {"AzureExecutionProvider": words, "CUDAExecutionProvider": "no CUDA-capable device"}
    services.see("w", host="h", pool="cpu", features=FEATURES | {"failed": failed})
    page = client.get("/workers").content.decode()
    assert "AzureExecutionProvider" not in page
    # One line, with its cure behind it.
    line = page.partition('<details class="fold">')[2].partition("</details>")[0]
    assert "CUDAExecutionProvider: no-device" in line.partition("</summary>")[0]
    assert "Give the worker a GPU" in line.partition("</summary>")[2]


def test_jobs_name_machines_to_administrators_alone(client, api, ada, admin, version):
    services.see("rack7-17", host="rack7", pool="cpu", features=FEATURES)
    Job.objects.all().delete()
    job = services.enqueue(
        kind="suite", version=version, requires={"host": "rack7"}, max_attempts=1
    )
    here = WorkerFeatures(host="rack7")
    assert services.claim("rack7-17", ["cpu"], host="rack7", features=here) == job
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    services.recover()
    paths = [f"/api/v1/jobs/{job.pk}", "/api/v1/jobs", f"/jobs/{job.pk}", "/jobs", "/health"]
    client.force_login(ada)
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200
        assert "rack7" not in answer.content.decode(), path
    shown = api(ada).get(f"jobs/{job.pk}").json()
    assert shown["error_detail"] == "The worker was lost 1 times."
    assert shown["requires"] == {"host": aliases.host("rack7")}
    (attempt,) = shown["attempts"]
    assert (attempt["worker"], attempt["host"]) == (
        aliases.worker("rack7-17"),
        aliases.host("rack7"),
    )
    (attempt,) = api(admin).get(f"jobs/{job.pk}").json()["attempts"]
    assert (attempt["worker"], attempt["host"]) == ("rack7-17", "rack7")
    client.force_login(admin)
    assert "rack7-17" in client.get(f"/jobs/{job.pk}").content.decode()
    assert "rack7-17" in client.get("/health").content.decode()


def test_the_hubs_own_jobs_are_seen_by_all_and_cancelled_by_administrators(api, ada, admin):
    job = services.enqueue(kind="suite", version=None, requires={"runtime": "openvino"})
    told = api().get(f"jobs/{job.pk}").json()
    assert (told["model"], told["waiting_for"]) == (None, "no worker offers openvino")
    assert api().post(f"jobs/{job.pk}/cancel").status_code == 401
    assert api(ada).post(f"jobs/{job.pk}/cancel").status_code == 403
    assert api(admin, scopes=("write",)).post(f"jobs/{job.pk}/cancel").status_code == 403
    job.refresh_from_db()
    assert job.state == Job.State.QUEUED
    assert api(admin).post(f"jobs/{job.pk}/cancel").json()["state"] == "cancelled"
