"""How far predicted latencies lie from measured ones, for records of `hub bench` on one machine.

Each model is predicted by a fit to all others, as the hub does it (runners.benchmarks.regression),
and its interval comes from the others alone. Beside p50 the same is done for processor time, which
other programs of the machine disturb less.

    for model in MODELS/*.onnx; do hub bench $model --quick --anyway --output RECORDS/….json; done
    python benchmarks/predictions.py RECORDS MODELS [MODELS …]
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# Below this, starting a run takes most of its time.
LONG_MS = 1


def features_of(path: Path, inputs: Any) -> Any:
    """The features of a model at the sizes that it was measured with."""
    import onnx

    from hub.protocol.costs import Costs
    from hub.protocol.facts import Port, Type
    from runners.benchmarks import cost_features
    from runners.engine.costs.functions import costs_of
    from runners.engine.graphs.skeleton import cut_out

    model = onnx.ModelProto.FromString(cut_out(path.read_bytes())[0])
    costs = Costs.read(json.loads(json.dumps(costs_of(model).to_json())))
    assert costs is not None
    ports = [
        Port(
            one.name,
            Type(
                "tensor",
                shape=tuple(
                    dim.dim_param or dim.dim_value for dim in one.type.tensor_type.shape.dim
                ),
            ),
        )
        for one in model.graph.input
    ]
    return cost_features.of(costs, cost_features.measured_sizes(costs, ports, inputs))


def main() -> None:
    from runners.benchmarks import regression

    records, *folders = map(Path, sys.argv[1:])
    paths = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path
        for folder in folders
        for path in folder.rglob("*.onnx")
    }
    measured: dict[str, tuple[str, Any, dict[str, float]]] = {}
    left_out: dict[str, int] = {}
    noisy = 0
    for file in sorted(records.glob("*.json")):
        record = json.loads(file.read_text())
        sha256, stats = record["model"]["sha256"], record["stats"]
        if sha256 in measured:
            continue
        features = stats and features_of(paths[sha256], record["config"]["inputs"])
        if features is None:
            why = "cost of a node unknown" if stats else "not measured"
            left_out[why] = left_out.get(why, 0) + 1
            continue
        noisy += record["status"] != "accepted"
        figures = {
            "p50": stats["p50_of_processes_ms"],
            "processor time": stats["cpu_ms_per_inference"],
        }
        name = paths[sha256].parent.name if paths[sha256].stem == "model" else paths[sha256].stem
        measured[sha256] = (name, features, figures)
    print(f"{len(measured)} models, {noisy} of them noisy; left out: {left_out}")

    rows = list(measured.values())
    for figure in ("p50", "processor time"):
        features = [row[1] for row in rows]
        latencies = [row[2][figure] for row in rows]
        ratios = regression.held_out(features, latencies)
        errors = sorted(abs(math.log(ratio)) for ratio in ratios.values())
        within = covered = 0
        for place, ratio in ratios.items():
            others = [other for other in range(len(rows)) if other != place]
            fit = regression.fit(
                [features[other] for other in others], [latencies[other] for other in others]
            )
            if fit is not None and fit.predict(features[place]) is not None:
                within += 1
                covered += abs(math.log(ratio)) <= math.log(fit.factor)
        place = min(len(errors) - 1, math.ceil((len(errors) + 1) * regression.COVERAGE) - 1)
        print(
            f"\n{figure}: {len(errors)} models with operators that others have; off by a factor of "
            f"{math.exp(statistics.median(errors)):.2f} in the median, "
            f"{math.exp(errors[place]):.2f} at {regression.COVERAGE:.0%}, "
            f"{math.exp(errors[-1]):.2f} at worst; "
            f"{sum(error <= math.log(1.5) for error in errors)} within 1.5, "
            f"{sum(error <= math.log(2) for error in errors)} within 2.0"
        )
        long = sorted(
            abs(math.log(ratio)) for at, ratio in ratios.items() if latencies[at] > LONG_MS
        )
        if long:
            middle = math.exp(statistics.median(long))
            print(f"of these {len(long)} take more than {LONG_MS} ms: {middle:.2f} in the median")
        print(f"shown: {within} predictions, {covered} intervals hold the measured figure")
        for at, ratio in sorted(ratios.items(), key=lambda pair: pair[1]):
            took = latencies[at]
            print(f"  {rows[at][0][:40]:40} {took:9.4f} ms  {took * ratio:9.4f}  {ratio:5.2f}")


if __name__ == "__main__":
    main()
