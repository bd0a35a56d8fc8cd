"""Differential privacy along the versions that a version came of, wherever it is stated."""

from __future__ import annotations

import pytest
from django.test import Client

from hub.protocol import privacy
from hub.protocol.privacy import Term
from metadata.graphs import projection, selectors
from registry.federated.models import Round, Training
from registry.models import Version
from registry.versions import lifecycle
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]
NOISE = {"noise_multiplier": 4.0, "clip_norm": 0.5, "delta": 1e-3}
PATH = "models/ada/net/trainings"


@rows
def start():
    ada = factories.user("ada")
    return ada, factories.version(ada, factories.model(ada))


@pytest.fixture
def ada(start):
    return fresh(start[0])


def publish(number):
    """Publish a round's version as its checks would."""
    version = Version.objects.select_related("model").get(number=number)
    version.checks.update(outcome="passed")
    lifecycle.publish(version, version.created_by)
    return version


@pytest.fixture
def train(api, ada):
    """Train from a version for so many rounds; gives the version that the last one becomes."""

    def run(version, rounds, **given):
        asked = {
            "version": version,
            "schedule": learning.SCHEDULE | {"most_rounds": rounds},
            "release_every": 0,
        }
        made = api(ada).post(PATH, asked | given)
        assert made.status_code == 201, made.content
        learning.work()
        training = Training.objects.select_related("model__namespace").get(uuid=made.json()["id"])
        code = learning.invited(ada, training)
        devices = [learning.Device(api, training, code) for _ in range(2)]
        for _ in range(rounds):
            for device in devices:
                device.push(device.task(), learning.tensors(0.1))
            learning.work()
        return publish(Round.objects.get(training=training, version__isnull=False).version.number)

    return run


def read(api, version):
    made = version.federated_round
    address = f"{PATH}/{made.training.number}"
    told = api().get(address).json()["privacy"]
    assert api().get(f"{address}/rounds/{made.number}/aggregate").json()["privacy"] == told
    return told


def test_three_rounds_and_two_from_their_version_cost_as_much_as_five(api, train, graphs):
    first = train(1, 3, rules=NOISE, base_data="untrained")
    second = train(first.number, 2, rules=NOISE)
    told = read(api, second)
    five = privacy.epsilon([Term(5, 4.0)], 1e-3)
    two = privacy.epsilon([Term(2, 4.0)], 1e-3)
    assert told["epsilon"] == pytest.approx(five)
    assert five > 1.5 * two
    assert told["epsilon_replace_one"] == privacy.epsilon([Term(5, 2.0)], 1e-3)
    assert (told["delta"], told["rounds"]) == (1e-3, 5)
    assert told["neighbours"] == "add-or-remove-one-participant"
    assert [term["rounds"] for term in told["terms"]] == [3, 2]
    assert read(api, first)["epsilon"] == privacy.epsilon([Term(3, 4.0)], 1e-3)
    # The same on the card, on the pages, and in the graph.
    stated = told["words"].partition("(ε = ")[2].partition(",")[0]
    assert five <= float(stated) < 1.001 * five  # never rounded down
    sentence = f"(ε = {stated}, δ = 0.001) for one participant over 5 rounds of trainings 1 and 2"
    assert told["words"] in second.readme
    assert sentence in told["words"]
    assert "declared untrained" in told["words"]
    pages = (f"/models/ada/net/v/{second.number}", "/models/ada/net/trainings/2")
    for page in pages:
        assert sentence in Client().get(page).content.decode()
    graph = projection.version_graph(selectors.version_facts(second), "https://hub.example")
    assert '/ns#differentialPrivacy> "true"' in graph
    (line,) = [line for line in graph.splitlines() if "/ns#epsilon>" in line]
    assert float(line.split('"')[1]) == pytest.approx(five)
    assert "/ns#epsilonReplaceOne>" in graph


def test_noises_of_different_trainings_add_up(api, train):
    first = train(1, 1, rules=NOISE, base_data="public")
    second = train(first.number, 2, rules=NOISE | {"noise_multiplier": 8.0, "delta": 1e-6})
    told = read(api, second)
    assert told["epsilon"] == privacy.epsilon([Term(1, 4.0), Term(2, 8.0)], 1e-6)
    assert "1 with noise multiplier 4, 2 with noise multiplier 8" in told["words"]


@pytest.mark.parametrize("order", ["noise first", "noise last"])
def test_one_training_without_noise_leaves_no_guarantee(api, train, order):
    rules = [NOISE, {}] if order == "noise first" else [{}, NOISE]
    first = train(1, 1, rules=rules[0], base_data="untrained")
    second = train(first.number, 1, rules=rules[1])
    told = read(api, second)
    assert (told["guarantee"], told["cause"], told["epsilon"]) == ("none", "no-noise", None)
    number = 2 if order == "noise first" else 1
    assert told["words"].startswith(f"No differential privacy: training {number} added no noise")
    assert told["words"] in second.readme
    assert "ε =" not in second.readme
    graph = projection.version_graph(selectors.version_facts(second), "https://hub.example")
    assert '/ns#differentialPrivacy> "false"' in graph
    assert "/ns#epsilon" not in graph


def test_a_base_of_unknown_data_leaves_no_guarantee(api, train):
    told = read(api, train(1, 1, rules=NOISE))
    assert (told["guarantee"], told["cause"]) == ("none", "unknown-base")
    assert "version 1 was uploaded" in told["words"]
    assert told["terms"] == [{"rounds": 1, "noise_multiplier": 4.0, "sampling_rate": 1.0}]


def test_a_version_made_elsewhere_from_a_noisy_one_copies_no_epsilon(api, ada, train, graphs):
    noisy = train(1, 1, rules=NOISE, base_data="untrained")
    assert read(api, noisy)["epsilon"] > 0
    copy = factories.version(ada, noisy.model, card=noisy.readme + "\nConverted.\n")
    shown = Client().get(f"/models/ada/net/v/{copy.number}").content.decode()
    assert "Unknown. This version was uploaded" in shown
    assert "/ns#differentialPrivacy" not in projection.version_graph(
        selectors.version_facts(copy), "https://hub.example"
    )
    told = read(api, train(copy.number, 1, rules=NOISE))
    assert (told["guarantee"], told["cause"]) == ("none", "unknown-base")


def test_what_the_hub_knows_of_a_base_is_not_declared(api, ada, train):
    noisy = train(1, 1, rules=NOISE)
    refused = api(ada).post(PATH, {"version": noisy.number, "base_data": "untrained"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/base_data")


def test_before_the_first_round_nothing_is_spent(api, ada):
    made = api(ada).post(PATH, {"version": 1, "rules": NOISE, "base_data": "untrained"})
    told = made.json()["privacy"]
    assert (told["guarantee"], told["epsilon"]) == ("differential-privacy", 0.0)
    assert told["words"].startswith("No round is aggregated yet.")


def test_a_card_of_the_earlier_method_is_pointed_out(monkeypatch, train, graphs):
    note = "The card states a budget computed with an earlier method"
    first = train(1, 1, rules=NOISE, base_data="untrained")
    with monkeypatch.context() as patch:
        patch.setattr("registry.federated.privacy.words", lambda _: "(ε = 0.669, δ = 0.17)")
        second = train(first.number, 1, rules=NOISE)
    for version, is_noted in ((first, False), (second, True)):
        shown = Client().get(f"/models/ada/net/v/{version.number}").content.decode()
        assert (note in shown) is is_noted
