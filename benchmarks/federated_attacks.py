"""What each rule of a training withstands: accuracy with attackers among ten devices.

Ten devices train a network with two batch normalisations on scikit-learn's digits; some of them
attack. Each round is aggregated by the hub's own engine. With --write the figures go to the file
that pages, the API and docs/federated.md state them from.

    python -m venv attacks && attacks/bin/pip install scikit-learn numpy onnx
    attacks/bin/python benchmarks/federated_attacks.py --write

About six minutes on one core. Everything is drawn from fixed seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from hub.protocol import federated, safetensors  # noqa: E402
from hub.protocol.federated import STATISTIC, TRAINABLE, Part  # noqa: E402
from hub.protocol.training_rules import RULES, Rules  # noqa: E402
from runners.engine.federated import simulation  # noqa: E402
from runners.engine.federated.updates import Weights  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = ROOT / "registry/federated/measured_attacks.json"
DEVICES, TEST, WIDTH, CLASSES = 10, 360, 32, 10
EPOCHS, BATCH, RATE, MOMENTUM, BN_MOMENTUM = 2, 32, 0.05, 0.9, 0.1
ALPHAS = {"even": 100.0, "uneven": 0.5}
SMALL = 1e-5

Tensors = dict[str, np.ndarray]
Samples = tuple[np.ndarray, np.ndarray]

# --- the network: two hidden layers, each with a batch normalisation ------------------------------


def parts() -> list[Part]:
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, inputs in (("a", 64), ("b", WIDTH)):
        shapes[f"{layer}.weight"] = (WIDTH, inputs)
        for name in ("scale", "shift", "mean", "var"):
            shapes[f"{layer}.{name}"] = (WIDTH,)
    shapes |= {"out.weight": (CLASSES, WIDTH), "out.bias": (CLASSES,)}
    return [
        Part(
            name, "F32", shape,
            STATISTIC if name.endswith((".mean", ".var")) else TRAINABLE,
            0.0 if name.endswith(".var") else None,
        )
        for name, shape in shapes.items()
    ]  # fmt: skip


PARTS = parts()


def beginning() -> Tensors:
    rng = np.random.default_rng(0)
    made = {}
    for part in PARTS:
        if part.name.endswith(".weight"):
            made[part.name] = rng.standard_normal(part.shape) * np.sqrt(2 / part.shape[1])
        else:
            made[part.name] = np.full(part.shape, float(part.name.endswith((".scale", ".var"))))
    return made


def predict(w: Tensors, pixels: np.ndarray) -> np.ndarray:
    x = pixels
    for layer in ("a", "b"):
        x = x @ w[f"{layer}.weight"].T
        x = (x - w[f"{layer}.mean"]) / np.sqrt(w[f"{layer}.var"] + SMALL)
        x = np.maximum(x * w[f"{layer}.scale"] + w[f"{layer}.shift"], 0)
    return x @ w["out.weight"].T + w["out.bias"]


def accuracy(w: Tensors, samples: Samples) -> float:
    return float((predict(w, samples[0]).argmax(axis=1) == samples[1]).mean())


def gradients(w: Tensors, x: np.ndarray, labels: np.ndarray) -> Tensors:
    """The slope of the mean cross entropy; the running statistics of ``w`` are renewed."""
    kept, inputs = [], x
    for layer in ("a", "b"):
        before = inputs @ w[f"{layer}.weight"].T
        mean, var = before.mean(axis=0), before.var(axis=0)
        for name, value in (("mean", mean), ("var", var * len(x) / max(len(x) - 1, 1))):
            running = w[f"{layer}.{name}"]
            running += BN_MOMENTUM * (value - running)
        root = np.sqrt(var + SMALL)
        normal = (before - mean) / root
        after = normal * w[f"{layer}.scale"] + w[f"{layer}.shift"]
        kept.append((layer, inputs, normal, root, after))
        inputs = np.maximum(after, 0)
    logits = inputs @ w["out.weight"].T + w["out.bias"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    made = {"out.weight": error.T @ inputs, "out.bias": error.sum(axis=0)}
    back = error @ w["out.weight"]
    for layer, inputs, normal, root, after in reversed(kept):
        back = back * (after > 0)
        made[f"{layer}.scale"] = (back * normal).sum(axis=0)
        made[f"{layer}.shift"] = back.sum(axis=0)
        back = back * w[f"{layer}.scale"]
        back = (back - back.mean(axis=0) - normal * (back * normal).mean(axis=0)) / root
        made[f"{layer}.weight"] = back.T @ inputs
        back = back @ w[f"{layer}.weight"]
    return made


def train(start: Tensors, samples: Samples, seed: int) -> Tensors:
    rng = np.random.default_rng(seed)
    w = {name: values.copy() for name, values in start.items()}
    speed = {part.name: np.zeros(part.shape) for part in PARTS if part.role == TRAINABLE}
    for _ in range(EPOCHS):
        order = rng.permutation(len(samples[1]))
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            if len(places) < 2:  # a batch of one has no variance
                continue
            slope = gradients(w, samples[0][places], samples[1][places])
            speed = {name: MOMENTUM * moved + slope[name] for name, moved in speed.items()}
            for name, moved in speed.items():
                w[name] -= RATE * moved
    return w


# --- data and attacks -----------------------------------------------------------------------------


def load() -> tuple[Samples, Samples]:
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    pixels, labels = pixels[order] / 16, labels[order]
    return (pixels[TEST:], labels[TEST:]), (pixels[:TEST], labels[:TEST])


def deal(samples: Samples, alpha: float) -> list[Samples]:
    """Deal each digit to the devices by a Dirichlet draw: the smaller alpha, the more uneven."""
    draw = np.random.default_rng(1)
    places = simulation.deal_by_label(samples[1], DEVICES, alpha, draw)
    return [(samples[0][each], samples[1][each]) for each in places]


def _simulated(attack: simulation.Attack) -> Callable[[Tensors, Tensors, Tensors], Tensors]:
    return lambda change, _, honest: simulation.attacked(
        attack, change, honest, np.random.default_rng(7)
    )


_reverse = _simulated(simulation.Attack.REVERSED)
_noise = _simulated(simulation.Attack.RANDOM)
# Half of the honest devices' mean, the other way (inner-product manipulation).
_oppose = _simulated(simulation.Attack.OPPOSED)


def _statistics(change: Tensors, **made: Callable[[np.ndarray], np.ndarray]) -> Tensors:
    """The change with other means or variances: ``var`` and ``mean`` say what they become."""
    return {
        name: made[kind](values) if (kind := name.rpartition(".")[2]) in made else values
        for name, values in change.items()
    }


def _variances_up(change: Tensors, _: Tensors, __: Tensors) -> Tensors:
    return _statistics(change, var=lambda values: values + 1000)


def _variances_down(change: Tensors, _: Tensors, __: Tensors) -> Tensors:
    return _statistics(change, var=lambda values: values - 1000)


def _small_variances_down(change: Tensors, base: Tensors, _: Tensors) -> Tensors:
    """The eight smallest variances of each layer alone."""
    made = dict(change)
    for name in ("a.var", "b.var"):
        made[name] = np.zeros_like(change[name])
        made[name][np.argsort(base[name])[:8]] = -1000
    return made


def _means_away(change: Tensors, _: Tensors, __: Tensors) -> Tensors:
    return _statistics(change, mean=lambda values: values + 1000)


def _statistics_reversed(change: Tensors, _: Tensors, __: Tensors) -> Tensors:
    return _statistics(change, mean=lambda values: -10 * values, var=lambda values: -10 * values)


# Name -> what an attacker makes of (its own change, the base, the mean change of honest devices).
ATTACKS: dict[str, Callable[[Tensors, Tensors, Tensors], Tensors] | None] = {
    "none": None,
    "updates reversed, ten times as long": _reverse,
    "updates reversed, ten times as long, claiming the most examples": _reverse,
    "random updates": _noise,
    "swapped labels": lambda change, _, __: change,
    "half of the honest mean, reversed": _oppose,
    "variances raised by 1000": _variances_up,
    "variances lowered by 1000": _variances_down,
    "the smallest variances lowered by 1000": _small_variances_down,
    "means moved by 1000": _means_away,
    "statistics reversed, ten times as far": _statistics_reversed,
}
CLAIM, SWAP = "updates reversed, ten times as long, claiming the most examples", "swapped labels"


# --- one federation -------------------------------------------------------------------------------


def pack(tensors: Tensors) -> bytes:
    first, header = safetensors.make_header((part.name, "F32", part.shape) for part in PARTS)
    return first + b"".join(
        np.ascontiguousarray(tensors[one.name], "<f4").tobytes() for one in header.tensors
    )


def unpack(content: bytes) -> Tensors:
    weights = Weights(content)
    return {
        part.name: weights.values(part.name).astype(float).reshape(part.shape) for part in PARTS
    }


def federate(case: tuple[str, str, str, int, int]) -> float:
    """The accuracy after all rounds of one training; 0.1 is chance."""
    rule, split, attack, attackers, rounds = case
    everything, test = load()
    shares = deal(everything, ALPHAS[split])
    rules = Rules.from_json({"rule": rule})
    hub = simulation.Hub(PARTS, rules, pack(beginning()))
    for number in range(rounds):
        start = unpack(hub.weights)
        changes, counts = [], []
        for device, share in enumerate(shares):
            hostile = device < attackers
            labels = (share[1] + 1) % CLASSES if hostile and attack == SWAP else share[1]
            trained = train(start, (share[0], labels), seed=1000 * number + device)
            changes.append({name: trained[name] - start[name] for name in trained})
            counts.append(rules.examples_cap if hostile and attack == CLAIM else len(share[1]))
        honest = {
            name: np.mean([one[name] for one in changes[attackers:]], axis=0) for name in start
        }
        for device in range(attackers):
            changes[device] = ATTACKS[attack](changes[device], start, honest)
        hub.aggregate(
            [
                simulation.Sent(f"{device}", pack(change), federated.DELTA, counts[device])
                for device, change in enumerate(changes)
            ]
        )
    return accuracy(unpack(hub.weights), test)


def measure(rounds: int, rules: list[str], processes: int) -> list[dict[str, object]]:
    cases = [
        (rule, split, attack, attackers, rounds)
        for rule in rules
        for split in ALPHAS
        for attack in ATTACKS
        for attackers in ((0,) if attack == "none" else (2, 3))
    ]
    with ProcessPoolExecutor(processes) as pool:
        scores = list(pool.map(federate, cases))
    return [
        {
            "rule": rule, "data": split, "attack": attack, "attackers": attackers,
            "accuracy": round(score, 3),
        }
        for (rule, split, attack, attackers, _), score in zip(cases, scores, strict=True)
    ]  # fmt: skip


def show(rows: list[dict[str, object]]) -> None:
    for split in ALPHAS:
        print(f"\n{split} data")
        for rule in dict.fromkeys(row["rule"] for row in rows):
            for attackers in (0, 2, 3):
                found = {
                    row["attack"]: row["accuracy"]
                    for row in rows
                    if (row["rule"], row["data"], row["attackers"]) == (rule, split, attackers)
                }
                print(f"{rule:17} {attackers}  " + "  ".join(f"{v:.3f}" for v in found.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rules", nargs="*", default=list(RULES), choices=RULES)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    asked = parser.parse_args()
    print("attacks:", ", ".join(ATTACKS))
    rows = measure(asked.rounds, asked.rules, asked.processes)
    show(rows)
    if asked.write:
        head = {
            "script": "benchmarks/federated_attacks.py",
            "measured_on": datetime.now(UTC).date().isoformat(),
            "setting": {
                "data": "scikit-learn digits, 360 of 1,797 for testing",
                "network": f"two hidden layers of {WIDTH}, each with a batch normalisation",
                "devices": DEVICES,
                "rounds": asked.rounds,
                "splits": ALPHAS,
                "numpy": np.__version__,
                "machine": platform.machine(),
            },
        }
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = f'{json.dumps(head, indent=1)[:-2]},\n "figures": [\n{lines}\n ]\n}}\n'
        json.loads(text)
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
