"""`hub training simulate`: the hub's own engine, the same figures for the same seed."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.cli.control import simulation
from hub.protocol import privacy

pytestmark = pytest.mark.capability("federated")

CODE = """
import numpy as np


def logits(tensors, x):
    return x @ tensors["w"] + tensors["b"]


def train(tensors, x, y, seed):
    for _ in range(20):
        odds = np.exp(logits(tensors, x))
        error = odds / odds.sum(axis=1, keepdims=True)
        error[np.arange(len(y)), y] -= 1
        tensors["w"] -= (0.5 * x.T @ error / len(y)).astype("f4")
        tensors["b"] -= (0.5 * error.mean(axis=0)).astype("f4")
    return tensors


def right(tensors, x, y):
    return int((logits(tensors, x).argmax(axis=1) == y).sum())
"""


@pytest.fixture
def files(tmp_path):
    """A linear model of three classes, their data in three groups, and a device's code."""
    draw = np.random.default_rng(5)
    y = draw.integers(0, 3, 600)
    x = np.eye(3)[y] * 2 + draw.standard_normal((600, 3))
    np.savez(tmp_path / "data.npz", x=x.astype("f4"), y=y, group=y % 2)
    (tmp_path / "device.py").write_text(CODE)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["logits"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 3])],
        [
            numpy_helper.from_array(np.zeros((3, 3), "f4"), "w"),
            numpy_helper.from_array(np.zeros(3, "f4"), "b"),
        ],
    )
    onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
    return tmp_path


@pytest.fixture
def simulate(files, capsys):
    """Run the command with these arguments; the rounds that it prints."""

    def simulate(*arguments):
        words = [
            "training", "simulate", str(files / "model.onnx"), "--data", str(files / "data.npz"),
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
        "training", "simulate", str(files / "model.onnx"), "--data", str(files / "data.npz"),
        "--code", str(files / "device.py"), *arguments,
    ]  # fmt: skip
    assert main(words) != 0
    assert capsys.readouterr().err


def test_the_attacks_are_those_of_the_engine():
    from runners.engine.federated.simulation import Attack

    assert tuple(Attack) == simulation._ATTACKS
