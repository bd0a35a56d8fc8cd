"""`hub training simulate`: the hub's own engine, the same figures for the same seed."""

from __future__ import annotations

import json

import pytest

from hub.cli.control import simulation
from hub.protocol import privacy
from tests import simulated

pytestmark = pytest.mark.capability("federated")


@pytest.fixture
def files(tmp_path):
    simulated.write(tmp_path)
    return tmp_path


@pytest.fixture
def simulate(files, capsys):
    """Run the command with these arguments; the rounds that it prints."""

    def simulate(*arguments):
        words = [
            "training", "simulate", str(files / "digits.onnx"), "--data", str(files / "digits.npz"),
            "--code", str(files / "device.py"), "--rounds", "3", "--json", *arguments,
        ]  # fmt: skip
        from hub.cli.command import main

        code = main(words)
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return json.loads(shown.out)["rounds"]

    return simulate


def figures(rows):
    """What follows from the options: everything but the times."""
    return [{name: row[name] for name in row if not name.endswith("_seconds")} for row in rows]


def test_the_same_seed_gives_the_same_figures_and_another_does_not(simulate):
    options = ("--split", "dirichlet:0.3", "--attack", "random", "--attackers", "2")
    noise = ("--rules", '{"noise_multiplier": 0.1, "clip_norm": 1.0}')
    first, second = (figures(simulate(*options, *noise, "--seed", "7")) for _ in range(2))
    assert first == second
    assert figures(simulate(*options, *noise, "--seed", "8")) != first


def test_devices_learn_and_rules_withstand_attackers(simulate):
    attacked = ("--attack", "reversed", "--attackers", "3")
    assert simulate()[-1]["accuracy"] > 0.8
    robust = simulate(*attacked, "--rules", '{"rule": "median"}')[-1]["accuracy"]
    fragile = simulate(*attacked, "--rules", '{"clip_multiple": null, "examples_multiple": null}')[
        -1
    ]["accuracy"]
    assert robust > 0.8 > fragile


def test_epsilon_is_that_of_the_ledger_and_bytes_those_of_the_encoding(simulate):
    rules = '{"noise_multiplier": 2.0, "clip_norm": 1.0, "delta": 1e-4}'
    rows = simulate("--rules", rules, "--devices", "4")
    expected = [privacy.epsilon([privacy.Term(number, 2.0)], 1e-4) for number in (1, 2, 3)]
    assert [row["epsilon"] for row in rows] == expected
    short = simulate("--devices", "4", "--encoding", "delta/f16")
    assert simulate("--devices", "4")[0]["epsilon"] is None
    assert rows[0]["sent_bytes"] - short[0]["sent_bytes"] == pytest.approx(4 * 12 * 2, abs=64)


def test_what_the_rules_refuse_is_rejected(simulate):
    rows = simulate("--attack", "reversed", "--attackers", "2", "--rules", '{"norm_limit": 6.0}')
    assert rows[0]["rejected"] == 2


def test_groups_are_devices(simulate):
    by_group, two = simulate("--split", "group"), simulate("--devices", "2")
    assert by_group[0]["sent_bytes"] == two[0]["sent_bytes"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--split", "dirichlet"),
        ("--split", "dirichlet:-1"),
        ("--split", "other"),
        ("--attackers", "10"),
        ("--rules", "{"),
        ("--rules", '{"rule": "other"}'),
        ("--roles", '{"frozen": ["no-such-tensor"]}'),
    ],
)
def test_options_that_do_not_fit_are_refused(files, capsys, arguments):
    from hub.cli.command import main

    words = [
        "training", "simulate", str(files / "digits.onnx"), "--data", str(files / "digits.npz"),
        "--code", str(files / "device.py"), *arguments,
    ]  # fmt: skip
    assert main(words) != 0
    assert capsys.readouterr().err


def test_the_attacks_are_those_of_the_engine():
    from runners.engine.federated.simulation import Attack

    assert tuple(Attack) == simulation._ATTACKS
