"""Differences that are made ahead: between which versions, and with which priority."""

from __future__ import annotations

import pytest
from onnx import helper

from registry.core import outbox
from registry.models import Version
from registry.versions.services import versions
from runners.graphs import differences
from runners.models import Job
from runners.queue import order
from tests import factories, samples

pytestmark = pytest.mark.django_db


def chain(length):
    nodes = [helper.make_node("Neg", ["x"], ["v0"])]
    nodes += [helper.make_node("Neg", [f"v{at}"], [f"v{at + 1}"]) for at in range(length)]
    return {"model.onnx": samples.model([*nodes, helper.make_node("Neg", [f"v{length}"], ["y"])])
            .SerializeToString()}  # fmt: skip


@pytest.fixture
def ada():
    return factories.somebody("ada")


@pytest.fixture
def publish(ada):
    """List versions of one model, each a chain of that many nodes."""
    net = factories.model(ada)
    return lambda *lengths: [factories.version(ada, net, chain(length)) for length in lengths]


def pairs():
    rows = Job.objects.filter(kind=differences.KIND).select_related("version")
    return sorted((row.input["against_version"], row.version.number) for row in rows)


def test_a_version_is_compared_with_the_served_ones_beside_it(publish):
    _, second, _, _ = publish(1, 2, 3, 4)
    assert differences.schedule_missing(second) == 2
    assert pairs() == [(1, 2), (2, 3)]
    assert differences.schedule_missing(second) == 2
    assert len(pairs()) == 2


def test_what_is_not_served_is_passed_over(ada, publish):
    first, second, third = publish(1, 2, 3)
    versions.withdraw(ada, version=second, reason="It was wrong.")
    assert differences.schedule_missing(third) == 1
    assert pairs() == [(1, 3)]
    assert differences.schedule_missing(first) == 1


def test_equal_files_are_not_compared(publish):
    _, again = publish(5, 5)
    assert differences.schedule_missing(again) == 0
    assert pairs() == []


def test_it_waits_behind_first_evidence_until_somebody_asks(ada, publish):
    before, after = publish(1, 2)
    differences.schedule_missing(after)
    job = Job.objects.get(kind=differences.KIND)
    assert job.priority == order.DEEP
    asked = differences.request(ada, before=before.variants.get(), after=after.variants.get())
    assert asked.pk == job.pk
    job.refresh_from_db()
    assert job.priority < order.FIRST


def test_publishing_queues_the_difference(ada):
    net = factories.model(ada)
    for length in (1, 2):
        factories.published(ada, net, chain(length))
    outbox.deliver()
    assert pairs() == [(1, 2)]
    assert Version.objects.filter(state="published").count() == 2
