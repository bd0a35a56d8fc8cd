"""What counting the costs of a graph takes, and its estimate of memory beside what a run takes.

Each model of a folder runs once in ONNX Runtime, in a process of its own, on the CPU with one
thread: what its resident memory grows by at most, from the imports on, stands beside the weights
and the peak of activations that the hub counts. Where memory is freed early or used twice a run
takes less; what the runtime packs or copies comes on top.

    python benchmarks/costs.py FOLDER_OF_MODELS
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# Below this, what the runtime itself needs is more than the model.
LEAST_BYTES = 5_000_000
SIZES = {"float": "float32", "double": "float64"}


def high_water() -> int:
    """The most resident memory this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if "VmHWM" in line).split()[1])


def one(path: str, sizes: dict[str, int]) -> None:
    """In a process of its own: run the model once; print what memory grew by, in bytes."""
    import numpy as np
    import onnx
    import onnxruntime

    from runners.engine.costs.shapes import Walker

    shapes = {
        name: value.at(sizes).shape
        for name, value in Walker(onnx.load(path, load_external_data=False)).inputs.items()
    }
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    before = high_water()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for port in session.get_inputs():
        name = port.type.removeprefix("tensor(").removesuffix(")")
        feeds[port.name] = np.ones(shapes[port.name], np.dtype(SIZES.get(name, name)))
    session.run(None, feeds)
    print(high_water() - before)


def main() -> None:
    import onnx

    from hub.protocol.costs import Costs
    from runners.engine.costs.functions import costs_of
    from runners.engine.graphs.skeleton import cut_out

    columns = ("model", "nodes", "count, ms", "MACs, M", "MB", "ran, MB", "ratio")
    line = "{:28} {:>6} {:>9} {:>9} {:>7} {:>8} {:>6}"
    print(line.format(*columns))
    ratios = []
    for path in sorted(Path(sys.argv[1]).rglob("*.onnx")):
        model = onnx.ModelProto.FromString(cut_out(path.read_bytes())[0])
        started = time.process_time()
        costs = Costs.read(json.loads(json.dumps(costs_of(model).to_json())))
        taken = 1000 * (time.process_time() - started)
        assert costs is not None
        sizes = costs.usual_sizes
        memory = costs.memory(sizes)
        if memory is None or memory < LEAST_BYTES or not costs.peak_is_whole:
            continue
        command = [sys.executable, __file__, "--one", str(path), json.dumps(sizes)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        figures = ["not run", ""]
        if ran.returncode == 0:
            ratios.append(int(ran.stdout) / memory)
            figures = [f"{int(ran.stdout) / 1e6:.1f}", f"{ratios[-1]:.2f}"]
        print(
            line.format(
                path.parent.name[:28],
                costs.total,
                f"{taken:.0f}",
                f"{costs.macs.at(sizes) / 1e6:.1f}",
                f"{memory / 1e6:.1f}",
                *figures,
            )
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"measured over counted: geometric mean {mean:.2f}, {spread}")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main()
