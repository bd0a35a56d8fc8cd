"""The arguments of `hub bench`, and the options of the engine that they stand for."""

from __future__ import annotations

import argparse
from typing import Any

from hub.terminal import add_variant_options

_DESCRIPTION = (
    "Benchmark a model on this machine with the hub's method: fresh sandboxed processes, every "
    "sample recorded. `hub bench verify FILE` recomputes the figures of a record; `hub bench "
    "compare A B` shows whether B is slower than A, for two models or two records; `hub bench key "
    "FILE` creates the key of a worker."
)
_QUICK = {
    "processes": 5,
    "most_processes": 5,
    "timed_seconds": 1.0,
    "warmup_cap_seconds": 10.0,
    "quiet_wait_seconds": 10.0,
}


def measure_parser() -> argparse.ArgumentParser:
    """The arguments of `hub bench`."""
    parser = argparse.ArgumentParser(prog="hub bench", description=_DESCRIPTION)
    parser.add_argument(
        "ref", help="a model, such as lab/tiny@3:int8, or the path of an .onnx file"
    )
    _add_settings(parser)
    parser.add_argument(
        "--sweep-batch",
        type=_wholes,
        default=(),
        metavar="N,N",
        help="also measure these batch sizes",
    )
    parser.add_argument(
        "--sweep-threads",
        type=_wholes,
        default=(),
        metavar="N,N",
        help="also measure these thread counts",
    )
    parser.add_argument("--contribute", action="store_true", help="send the record to the hub")
    parser.add_argument("--worker", metavar="NAME", help="enrolled worker that signs the record")
    parser.add_argument(
        "--key", metavar="FILE", help="private key of that worker (see `hub bench key`)"
    )
    parser.add_argument(
        "--mlperf", metavar="FOLDER", help="measure with MLPerf LoadGen and write its logs here"
    )
    return parser


def compare_parser() -> argparse.ArgumentParser:
    """The arguments of `hub bench compare`."""
    parser = argparse.ArgumentParser(
        prog="hub bench compare",
        description="Compare the speed of two models, measured alternately (A B B A), or of two "
        "records with the same comparability key.",
    )
    parser.add_argument("baseline", help="a model reference, an .onnx file or a record")
    parser.add_argument("candidate", help="the same kind of thing as the baseline")
    parser.add_argument(
        "--baseline-threads", type=int, help="threads for the baseline (default: --threads)"
    )
    _add_settings(parser)
    return parser


def file_parser(command: str, description: str, file: str) -> argparse.ArgumentParser:
    """The arguments of a command of `hub bench` that takes one file."""
    parser = argparse.ArgumentParser(prog=f"hub bench {command}", description=description)
    parser.add_argument("file", help=file)
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_variant_options(parser)
    add("--runtime", help="onnxruntime (default) or openvino, which must be installed")
    add(
        "--interpreter",
        metavar="PYTHON",
        help="Python interpreter of the environment to measure with",
    )
    add("--provider", help="execution provider, such as CUDAExecutionProvider")
    add(
        "--option",
        dest="provider_option",
        action="append",
        type=_option,
        metavar="NAME=VALUE",
        help="option of the execution provider or runtime, such as use_tf32=false; repeatable",
    )
    add(
        "--scenario",
        choices=["single_stream", "multi_stream", "server", "offline"],
        help="load pattern, as in MLPerf",
    )
    add("--rate", dest="rate_per_s", type=float, help="requests per second in the server scenario")
    add("--concurrency", type=int, help="requests in flight at once in the server scenario")
    add(
        "--latency-bound",
        dest="latency_bound_ms",
        type=float,
        metavar="MS",
        help="bound of a latency percentile in the server scenario; without --rate, the highest "
        "rate within it is searched",
    )
    add(
        "--percentile",
        dest="bound_percentile",
        metavar="NAME",
        help="percentile that is bounded: p50, p90, p95, p99 (default) or p99.9",
    )
    add("--call-style", choices=["run", "io_binding"], help="how inputs reach the runtime")
    add(
        "--batch",
        type=int,
        help="batch size (default: 1; in the offline scenario the one of the highest throughput)",
    )
    add("--most-batch", type=int, help="largest batch to try in the offline scenario (default: 64)")
    add("--threads", type=int, help="threads per inference (default: 1)")
    add("--cores", type=_wholes, metavar="N,N", help="CPU cores to use")
    add(
        "--size",
        action="append",
        type=_size,
        metavar="NAME:N",
        help="size of a dynamic dimension, such as sequence:128; repeatable",
    )
    add(
        "--shape",
        action="append",
        type=_shape,
        metavar="INPUT:AxBxC",
        help="shape of an input, such as images:1x3x640x640; repeatable",
    )
    add("--seed", type=int, help="seed of the generated inputs")
    add("--processes", type=int, help="number of fresh processes (default: 10)")
    add(
        "--seconds",
        dest="timed_seconds",
        type=float,
        help="measured seconds in each process (default: 3)",
    )
    add(
        "--budget",
        dest="budget_seconds",
        type=float,
        help="limit in seconds for all processes (default: 300)",
    )
    add(
        "--wait",
        dest="quiet_wait_seconds",
        type=float,
        help="seconds to wait for an idle host (default: 300)",
    )
    add("--anyway", action="store_true", help="measure even if the host is busy")
    add("--quick", action="store_true", help="five short processes")
    add("--watts-per-core", type=float, help="power per core, for an estimate of the energy")
    add("--region", dest="grid_region", help="electricity grid for the carbon figure, such as FRA")
    add("--output", metavar="FILE", help="file to write the record to")
    add("--json", action="store_true", help="print the record without its samples")
    add("--quiet", action="store_true", help="hide progress output")


def engine_options(options: argparse.Namespace) -> dict[str, Any]:
    """The engine's options: those that were named, and no others."""
    from runners.engine.benchmark.options import Options  # noqa: PLC0415

    names = Options.__dataclass_fields__.keys() - {"variant", "against", "challenge"}
    values = {name: value for name, value in vars(options).items() if name in names}
    settings: dict[str, Any] = dict(_QUICK) if options.quick else {}
    settings |= {name: value for name, value in values.items() if value is not None}
    settings["shapes"] = dict(options.size or ())
    settings["input_shapes"] = dict(options.shape or ())
    settings["provider_options"] = dict(options.provider_option or ())
    if options.anyway:
        settings["if_busy"] = "measure"
        settings.setdefault("quiet_wait_seconds", 10.0)
    if "processes" in values and values["processes"] is not None:
        settings["most_processes"] = max(values["processes"], 20 if not options.quick else 5)
    if options.runtime and options.runtime != "onnxruntime":
        settings["provider"] = ""
    return {
        name: list(value) if type(value) is tuple else value for name, value in settings.items()
    }


def _wholes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition(":")
    if not name or not size.isdecimal():
        raise argparse.ArgumentTypeError("expected NAME:N, such as sequence:128")
    return name, int(size)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError("expected NAME=VALUE, such as use_tf32=false")
    return name, value


def _shape(text: str) -> tuple[str, list[int]]:
    name, _, shape = text.rpartition(":")
    sizes = shape.split("x")
    if not name or not all(size.isdecimal() for size in sizes):
        raise argparse.ArgumentTypeError(
            "expected INPUT:AxBxC, such as images:1x3x640x640; for one dimension use --size NAME:N"
        )
    return name, [int(size) for size in sizes]
