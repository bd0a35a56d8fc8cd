"""Whether the comparison of speeds tells the truth: nothing from nothing, and a tenth from a tenth.

A network of seven equal layers is compared with itself, ten times: "same" or "inconclusive" is
right, "slower" and "faster" are false alarms. Then with one of eight layers, which takes an eighth
longer less what every call costs: "slower" is right. Then with itself on one thread instead of two,
where there are two processors: "slower" is right again. And in a copy of every comparison one
sample is spoilt, which `verify` has to name. All through `hub bench`'s own functions, in the
sandbox. On a busy host nothing is the "same", and it takes --anyway.

    python benchmarks/benchmark_truth.py [--rounds 10] [--model FILE] [--anyway] [--quick]
"""

from __future__ import annotations

import argparse
import collections
import copy
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from hub.cli.bench import measurement, subjects  # noqa: E402
from runners.engine.benchmark import verification  # noqa: E402

LAYERS, CHANNELS, SIDE = 7, 32, 48
QUICK = {
    "processes": 10,
    "timed_seconds": 0.4,
    "warmup_seconds": 0.3,
    "warmup_cap_seconds": 2.0,
}


def network(path: Path, layers: int) -> Path:
    """Write a chain of equal convolutions; the same seed gives the same first layers."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    draw = np.random.default_rng(0)
    nodes, weights = [], []
    for k in range(layers):
        weight = draw.standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32) / 20
        weights.append(numpy_helper.from_array(weight, f"w{k}"))
        nodes.append(helper.make_node("Conv", [f"x{k}", f"w{k}"], [f"c{k}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{k}"], [f"x{k + 1}"]))
    shape = (1, CHANNELS, SIDE, SIDE)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name in ("x0", f"x{layers}")
    ]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path.parent.mkdir(parents=True)
    onnx.save(model, str(path))
    return path


def found(path: Path) -> subjects.Subject:
    return subjects.find(str(path), opset=None, variant=None, progress=False)


def compare(baseline: Path, candidate: Path, given: dict, label: str) -> dict:
    """Compare two files and print the verdict."""
    began = time.monotonic()
    try:
        made = measurement.compare(
            (found(baseline), found(candidate)), given, sys.executable, lambda *_: None
        )
    except measurement.NotMeasuredError as error:
        print(f"{label}: not measured: {error}")
        return {}
    verdict = made["verdict"]
    ratios = "  ".join(
        f"{name} x {ratio:.4f} [{low:.4f}, {high:.4f}]"
        for name, key in (("p50", "wall_ratio"), ("processor", "cpu_ratio"))
        for ratio, low, high in [verdict[key] or (float("nan"),) * 3]
    )
    why = ", ".join(verdict["reasons"])
    seconds = time.monotonic() - began
    print(f"{label}: {verdict['word']:<13} {ratios}  {why}  {seconds:.0f} s", flush=True)
    return made


def is_seen(made: dict) -> bool:
    """Whether a spoilt sample shows, and an unspoilt comparison does not."""
    spoilt = copy.deepcopy(made)
    samples = spoilt["candidate"]["processes"][-1]["samples_ns"]
    samples[len(samples) // 2] += 1
    return verification.problems(made) == [] and verification.problems(spoilt) != []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--model", type=Path, help="compare this file with itself, too")
    parser.add_argument("--anyway", action="store_true", help="measure on a busy host as well")
    parser.add_argument("--quick", action="store_true", help="ten short processes")
    options = parser.parse_args()
    given = dict(QUICK) if options.quick else {}
    if options.anyway:
        given |= {"if_busy": "measure", "quiet_wait_seconds": 2.0}
    tally: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    seen = True
    with tempfile.TemporaryDirectory(prefix="hub-truth-") as folder:
        plain = network(Path(folder, "plain", "model.onnx"), LAYERS)
        longer = network(Path(folder, "longer", "model.onnx"), LAYERS + 1)
        pairs = [("A/A", plain, plain, {}), ("a layer more", plain, longer, {})]
        if len(os.sched_getaffinity(0)) > 1:
            pairs.append(("a thread less", plain, plain, {"baseline_threads": 2}))
        if options.model:
            own = Path(folder, "own")
            shutil.copytree(options.model.resolve().parent, own)
            model = own / options.model.name
            pairs.insert(1, ("own A/A", model, model, {}))
        for turn in range(options.rounds):
            for kind, baseline, candidate, more in pairs:
                made = compare(baseline, candidate, given | more, f"{kind} {turn + 1}")
                tally[kind][made["verdict"]["word"] if made else "not measured"] += 1
                seen &= is_seen(made) if made else True
    alarms = sum(tally[kind][word] for kind in ("A/A", "own A/A") for word in ("slower", "faster"))
    for kind, words in tally.items():
        print(f"{kind}: " + ", ".join(f"{word} {count}" for word, count in words.items()))
    print(f"false alarms {alarms}")
    planted = [kind for kind in ("a layer more", "a thread less") if kind in tally]
    for kind in planted:
        print(f"{kind}: found {tally[kind]['slower']} of {options.rounds}")
    print(f"spoilt samples {'all named' if seen else 'NOT all named'}")
    wrong = sum(tally[kind][word] for kind in planted for word in ("faster", "same"))
    return 1 if alarms or wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
