"""What `hub serve` says of its samples before it greets."""

from __future__ import annotations

import socket

import pytest
from django.utils import timezone

from hub.server import first_run, samples, serve
from hub.server.supervisor import Supervisor, wait_for_samples
from registry.models import RegisteredModel, Version
from registry.versions.services import registered_models
from runners.models import Job

pytestmark = pytest.mark.django_db
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setenv("HUB_PUBLIC_URL", ADDRESS)
    monkeypatch.setattr("hub.server.supervisor.SAMPLES_SECONDS", 0.0)
    few = ("digits-cnn", "digits-cnn-int8", "wine-gbt")
    monkeypatch.setattr(
        samples, "SAMPLES", [sample for sample in samples.SAMPLES if sample.name in few]
    )
    first_run.make_admin("a password of some length")
    first_run.plant()


def supervisor(workers):
    with socket.socket() as listener:
        return Supervisor(listener, threads=1, workers=workers)


def notes(*, workers=True):
    return wait_for_samples(workers=workers)


@pytest.mark.parametrize(
    ("cores", "workers"), [(1, 1), (2, 1), (3, 2), (4, 3), (8, 7), (9, 8), (256, 8)]
)
def test_workers_grow_with_the_processors(cores, workers):
    assert serve.default_workers(cores) == workers


def test_one_worker_measures_and_the_others_check_and_prove():
    proofs = ("cpu", "light")
    assert supervisor(3).pools == {
        "worker": ("cpu", "bench-cpu", "light"),
        "urgent worker": ("cpu.urgent",),
        "worker 2": proofs,
        "worker 3": proofs,
    }
    assert supervisor(0).pools == {}


def set_state(name, state):
    Version.objects.filter(model__name=name).update(state=state, published_at="2026-01-01T00:00Z")


def test_after_a_bounded_wait_the_rest_is_told(planted, monkeypatch):
    assert notes() == [f"3 samples are still being checked; see {ADDRESS}/jobs"]
    assert notes(workers=False) == [f"3 samples are waiting for a worker; see {ADDRESS}/jobs"]
    for name in ("digits-cnn-int8", "wine-gbt"):
        set_state(name, "published")
    assert first_run.unchecked() == ["zoo/digits-cnn"]
    assert notes() == [f"1 sample is still being checked; see {ADDRESS}/jobs"]
    monkeypatch.setattr("hub.server.supervisor.SAMPLES_SECONDS", 1e9)
    assert notes(workers=False) == [f"1 sample is waiting for a worker; see {ADDRESS}/jobs"]


def test_progress_and_refusals(planted, monkeypatch, capsys):
    monkeypatch.setattr("hub.server.supervisor.SAMPLES_SECONDS", 1e9)
    states = iter(
        [("digits-cnn", "published"), ("wine-gbt", "draft"), ("digits-cnn-int8", "published")]
    )
    monkeypatch.setattr("hub.server.supervisor.time.sleep", lambda _: set_state(*next(states)))
    assert notes() == [f"zoo/wine-gbt did not pass its checks; see {ADDRESS}/models/zoo/wine-gbt"]
    assert capsys.readouterr().out.splitlines() == [
        "Checking zoo/digits-cnn (1 of 3).",
        "Checking zoo/digits-cnn-int8 (2 of 3).",
        "Checking zoo/digits-cnn-int8 (3 of 3).",
    ]
    assert notes() == []  # a later start has nothing to wait for


def test_a_running_check_comes_first_and_a_deleted_sample_not_at_all(planted):
    Job.objects.create(
        kind="check",
        version=Version.objects.get(model__name="wine-gbt"),
        state="running",
        worker="w",
        attempt=1,
        lease_until=timezone.now(),
    )
    assert first_run.unchecked() == ["zoo/wine-gbt", "zoo/digits-cnn", "zoo/digits-cnn-int8"]
    model = RegisteredModel.objects.get(name="digits-cnn")
    registered_models.delete(model.namespace.memberships.first().user, model=model)
    assert first_run.unchecked() == ["zoo/wine-gbt", "zoo/digits-cnn-int8"]
