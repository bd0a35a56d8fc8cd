"""Records of many models through `hub bench`, on the CPU and on OpenVINO, in one table.

Each model is a folder with a `model.onnx`, as `hub get` writes them. Each record is verified again
by `hub bench verify`. Records go to the folder named by --to; the table says what each is worth.

    python benchmarks/benchmark_records.py FOLDER... --to records [--openvino PYTHON] [--anyway]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hub", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def percentile(stats: dict, name: str) -> str:
    value = stats["latency_ms"][name]
    return "withheld" if value is None else f"{value:.4g} ms"


def measure(model: Path, runtime: str, to: Path, more: list[str]) -> str:
    """Measure and verify one model; give its row of the table."""
    place = to / f"{model.parent.name}.{runtime}.json"
    done = bench(str(model), "--runtime", runtime, "--output", str(place), "--quiet", *more)
    if not place.is_file():
        return f"{model.parent.name} | {runtime} | not measured | {done.stderr.strip()[:120]}"
    record = json.loads(place.read_text())
    right = "verified" if bench("verify", str(place)).returncode == 0 else "NOT VERIFIED"
    stats, counts = record["stats"], record["accounting"]
    figures = "-"
    if stats:
        low, high = stats["p50_ci95_ms"] or (float("nan"),) * 2
        p50, p90 = f"{stats['p50_of_processes_ms']:.4g} ms", percentile(stats, "p90")
        figures = (
            f"{p50} [{low:.4g}, {high:.4g}], p90 {p90}, "
            f"CV {stats['between_process_cv']:.1%}, cpu {stats['cpu_ms_per_inference']:.4g} ms"
        )
    why = (record["failure"] or {}).get("message", ", ".join(record["reasons"]))
    kept = f"{counts['kept']}/{counts['attempted']}"
    words = (model.parent.name, runtime, record["status"], kept, figures, right, why[:100])
    return " | ".join(words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--openvino", metavar="PYTHON", help="of an environment that has it")
    parser.add_argument("--anyway", action="store_true", help="measure on a busy host as well")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="for hub bench")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    more = [*options.more, *(["--anyway"] if options.anyway else [])]
    runtimes = [("onnxruntime", [])]
    if options.openvino:
        runtimes.append(("openvino", ["--interpreter", options.openvino]))
    print("model | runtime | status | kept | p50 [95 %], p90, spread, processor | record | reasons")
    for folder in options.folders:
        for runtime, extra in runtimes:
            model = (folder / "model.onnx").resolve()
            row = measure(model, runtime, options.to.resolve(), [*extra, *more])
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
