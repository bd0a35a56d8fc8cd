"""What graphs tell of rounds: an activity each, participants counted and never named."""

from __future__ import annotations

import datetime

import pytest

from metadata.graphs import facts, projection, selectors
from registry.federated.models import Round
from registry.models import Version
from tests import learning

HOME = "https://hub.example"
AT = datetime.datetime(2026, 11, 22, tzinfo=datetime.UTC)


def graph(**more):
    rounds = tuple(
        facts.RoundFacts(
            number=number, contributions=4, examples=400, rule="trimmed-mean", opened_at=AT,
            parameters={"trim": 0.2}, left_out={"non-finite": 2} if number == 2 else {},
        )
        for number in (1, 2)
    )  # fmt: skip
    given = {
        "namespace": "lab", "name": "net", "number": 5, "state": "published", "uploader": "ada",
        "created_at": AT, "published_at": AT, "rounds": rounds, "rounds_from": 3,
    }  # fmt: skip
    return projection.version_graph(facts.VersionFacts(**given | more), HOME).splitlines()


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


@pytest.mark.parametrize(
    ("spent", "word"),
    [
        (None, "false"),
        (facts.PrivacyFacts(2.5, 5.5, 1e-5, "add-or-remove-one-participant"), "true"),
    ],
)
def test_whether_privacy_was_bounded_is_always_told(spent, word):
    lines, hub = graph(privacy=spent), f"{HOME}/ns#"
    (said,) = told(lines, "#round-2", f"{hub}differentialPrivacy")
    assert said.startswith(f'"{word}"')
    values = {
        name: told(lines, "#round-2", f"{hub}{name}")
        for name in ("epsilon", "epsilonReplaceOne", "delta", "neighbourRelation")
    }
    if spent is None:
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
    found = selectors.version_facts(version)
    assert found.rounds_from == 1
    assert [(row.number, row.contributions, row.examples) for row in found.rounds] == [(1, 2, 20)]
    assert Round.objects.get(number=1).version == version
    text = projection.version_graph(found, HOME)
    assert "FederatedRound" in text
    assert not any(device.name in text for device in devices)
    assert selectors.version_facts(Version.objects.get(number=1)).rounds == ()
