"""What graphs tell of rounds: an activity each, participants counted and never named."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from hub.protocol import privacy
from metadata.federated import rounds
from metadata.graphs import projection, selectors
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places
from registry.federated import history, scores
from registry.federated.models import DeviceReport, Participant, Round
from registry.federated.models.trainings import BaseData
from registry.federated.privacy import Statement
from registry.models import Version
from tests import learning

HOME = "https://hub.example"
pytestmark = pytest.mark.capability("federated")
AT = datetime.datetime(2026, 11, 22, tzinfo=datetime.UTC)
NO_NOISE = Statement(
    delta=1e-5, terms=(), trainings=(1,), root=3, root_data=BaseData.PUBLIC, cause="no-noise"
)


def graph(statement=NO_NOISE, scores=None):
    rows = tuple(
        history.RoundSummary(
            number=number, contributions=4, examples=400, rule="trimmed-mean", opened_at=AT,
            ended_at=None, result_sha256="", noise_multiplier=None,
            parameters={"trim": 0.2}, left_out={"non-finite": 2} if number == 2 else {},
            scores=scores if number == 2 else None,
        )
        for number in (1, 2)
    )  # fmt: skip
    of = history.History(training=1, base=3, rounds=rows, privacy=statement)
    graph = Graph("urn:graph", Places(HOME))
    rounds.describe_rounds(graph, f"{HOME}/models/lab/net/v/5", of, "lab", "net")
    return graph.text().splitlines()


def told(lines, subject, predicate):
    start = f"<{HOME}/models/lab/net/v/5{subject}> <{predicate}> "
    return {line[len(start) :].rpartition(" <")[0] for line in lines if line.startswith(start)}


def test_each_round_is_an_activity_that_follows_the_one_before():
    lines, prov, hub = graph(), "http://www.w3.org/ns/prov#", f"{HOME}/ns#"
    version = f"{HOME}/models/lab/net/v/5"
    assert f"<{version}#round-2>" in told(lines, "", f"{prov}wasGeneratedBy")
    assert told(lines, "#round-1", f"{prov}used") == {f"<{HOME}/models/lab/net/v/3>"}
    assert told(lines, "#round-2", f"{prov}wasInformedBy") == {f"<{version}#round-1>"}
    assert told(lines, "#round-2", f"{hub}aggregationRule") == {'"trimmed-mean"'}
    assert told(lines, "#round-2", f"{hub}ruleParameters") == {'"{\\"trim\\": 0.2}"'}
    (count,) = told(lines, "#round-2", f"{hub}contributions")
    assert count.startswith('"4"')
    (left,) = told(lines, "#round-2-without-non-finite", f"{hub}contributions")
    assert left.startswith('"2"')


def test_evaluations_on_devices_are_their_word_with_counts_and_intervals():
    reports = [
        DeviceReport(
            participant=Participant(group=f"clinic-{n % 2}"), n=100,
            base_right=80, candidate_right=82 + n,
        )
        for n in range(12)
    ]  # fmt: skip
    lines, hub = graph(scores=scores.of(reports, lambda _: 100).public(5)), f"{HOME}/ns#"
    version = f"{HOME}/models/lab/net/v/5"
    assert told(lines, "#round-2", f"{hub}deviceEvaluation") == {
        f"<{version}#round-2-devices>",
        f"<{version}#round-2-devices-1>",
        f"<{version}#round-2-devices-2>",
    }
    assert told(lines, "#round-1", f"{hub}deviceEvaluation") == set()
    (count,) = told(lines, "#round-2-devices", f"{hub}deviceReports")
    assert count.startswith('"12"')
    change = "#round-2-devices-change"
    (value,) = told(lines, change, "http://www.w3.org/ns/dqv#value")
    assert value.startswith('"0.075"')
    assert told(lines, change, f"{hub}figureKind") == {'"declared"'}
    assert told(lines, change, f"{hub}figureStatus") == {'"unverified"'}
    assert told(lines, change, f"{hub}intervalMethod") == {'"order statistics of the median"'}
    assert "clinic" not in "".join(lines)


@pytest.mark.parametrize(
    ("statement", "word"), [(NO_NOISE, "false"), (replace(NO_NOISE, cause=""), "true")]
)
def test_whether_privacy_was_bounded_is_always_told(statement, word, monkeypatch):
    monkeypatch.setattr(
        privacy, "epsilon", lambda *_, replace_one=False: 5.5 if replace_one else 2.5
    )
    lines, hub = graph(statement), f"{HOME}/ns#"
    (said,) = told(lines, "#round-2", f"{hub}differentialPrivacy")
    assert said.startswith(f'"{word}"')
    values = {
        name: told(lines, "#round-2", f"{hub}{name}")
        for name in ("epsilon", "epsilonReplaceOne", "delta", "neighbourRelation")
    }
    if statement.cause:
        assert not any(values.values())
        return
    decimal = "^^<http://www.w3.org/2001/XMLSchema#decimal>"
    assert values == {
        "epsilon": {f'"2.5"{decimal}'},
        "epsilonReplaceOne": {f'"5.5"{decimal}'},
        "delta": {f'"0.00001"{decimal}'},
        "neighbourRelation": {'"add-or-remove-one-participant"'},
    }


@pytest.mark.django_db
def test_a_released_round_is_read_from_its_rows(ada, api):
    training = learning.training(ada, release_every=1)
    code = learning.invited(ada, training)
    devices = [learning.Device(api, training, code) for _ in range(2)]
    for device in devices:
        device.push(device.task(), learning.tensors())
    learning.work()
    version = Version.objects.get(number=2)
    found = history.of(version)
    assert found.base == 1
    assert [(row.number, row.contributions, row.examples) for row in found.rounds] == [(1, 2, 20)]
    assert Round.objects.get(number=1).version == version
    text = projection.version_graph(selectors.version_facts(version), HOME)
    assert "FederatedRound" in text
    assert not any(device.name in text for device in devices)
    assert history.of(Version.objects.get(number=1)) is None
