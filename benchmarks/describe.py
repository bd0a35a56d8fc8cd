"""What describing a 500 MB model costs over importing the code that does it.

Each figure is of a fresh process of its own: one imports and ends, the next describes as well. The
sandbox's own way to the same answer (fork, limits, landlock, report) is timed beside it.

    python benchmarks/describe.py
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

WIDTH = 1_024
LAYER_BYTES = 4 * WIDTH * WIDTH


def make_model(path: Path, megabytes: int) -> None:
    """A chain of MatMul and Relu whose weights, random numbers, make up the size."""
    import onnx
    from onnx import TensorProto, helper

    nodes, weights = [], []
    for index in range(max(1, megabytes * 10**6 // LAYER_BYTES)):
        name = f"w{index}"
        weights.append(
            TensorProto(
                name=name,
                data_type=TensorProto.FLOAT,
                dims=[WIDTH, WIDTH],
                raw_data=os.urandom(LAYER_BYTES),
            )
        )
        nodes.append(helper.make_node("MatMul", [f"x{index}", name], [f"h{index}"]))
        nodes.append(helper.make_node("Relu", [f"h{index}"], [f"x{index + 1}"]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH])
        for name in ("x0", f"x{len(weights)}")
    ]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], initializer=weights)
    made = helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)], producer_name="benchmark"
    )
    onnx.save_model(made, path)


def one(path: str) -> None:
    """In a process of its own: import, describe if there is a path, and print what it took."""
    from runners.engine.onnx_files.describe import describe

    if path:
        with Path(path).open("rb") as file:
            told = describe(file.fileno(), "model.onnx", {"model.onnx": Path(path).stat().st_size})
        assert told.facts["parameters"], told
    used = resource.getrusage(resource.RUSAGE_SELF)
    # Not ru_maxrss, which a new process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps([used.ru_utime + used.ru_stime, int(peak.split()[1]) / 1000]))


def measured(path: str, runs: int) -> tuple[float, float]:
    """Median processor seconds and peak megabytes of fresh processes."""
    told = []
    for _ in range(runs):
        answer = subprocess.run(
            [sys.executable, __file__, "--one", path], check=True, capture_output=True, text=True
        )
        told.append(json.loads(answer.stdout))
    seconds, megabytes = zip(*told, strict=True)
    return statistics.median(seconds), statistics.median(megabytes)


def sandboxed(path: Path, runs: int) -> float:
    """Median wall seconds of the same through the sandbox, its fork server being up."""
    from runners.sandbox import Request, Sandbox

    request = Request("describe", "model.onnx", {"model.onnx": str(path)}, "0" * 64)
    sandbox = Sandbox()
    times = []
    try:
        for _ in range(runs + 1):
            start = time.perf_counter()
            report = sandbox.run(request)
            times.append(time.perf_counter() - start)
            assert report.outcome == "passed", report
    finally:
        sandbox.close()
    return statistics.median(times[1:])


def main() -> None:
    """Make the model and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        one(args.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        make_model(path, args.megabytes)
        seconds, megabytes = measured("", args.runs)
        more_seconds, more_megabytes = measured(str(path), args.runs)
        print(f"model                {path.stat().st_size / 1e6:8.0f} MB")
        print(f"import alone         {seconds:8.3f} CPU s {megabytes:8.1f} MB")
        print(f"import and describe  {more_seconds:8.3f} CPU s {more_megabytes:8.1f} MB")
        more = (more_seconds - seconds, more_megabytes - megabytes)
        print(f"describe over import {more[0]:8.3f} CPU s {more[1]:8.1f} MB (goal: 0.1 s, 60 MB)")
        print(f"through the sandbox  {sandboxed(path, args.runs):8.3f} s wall")


if __name__ == "__main__":
    main()
