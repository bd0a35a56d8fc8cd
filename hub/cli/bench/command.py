"""The words of `hub bench`: measure, verify a record, compare two models or two records."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.cli.bench import report as words
from hub.cli.bench import subjects
from hub.client.training import identity
from hub.protocol import federated, problems
from hub.terminal import DONE, PROBLEM, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit code."""
    if arguments and arguments[0] == "verify":
        return _verify(_verify_parser().parse_args(arguments[1:]))
    if arguments and arguments[0] == "compare":
        return _compare(_compare_parser().parse_args(arguments[1:]))
    if arguments and arguments[0] == "key":
        return _key(_key_parser().parse_args(arguments[1:]))
    return _measure(_measure_parser().parse_args(arguments))


def _measure_parser() -> argparse.ArgumentParser:
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


def _compare_parser() -> argparse.ArgumentParser:
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


def _verify_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hub bench verify", description="Recompute every figure of a record from its samples."
    )
    parser.add_argument("file", help="record or comparison to verify")
    return parser


def _key_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hub bench key", description="Create the key pair of a worker, to enrol it on a hub."
    )
    parser.add_argument("file", help="file to write the private key to")
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--opset", type=int, help="choose a variant with exactly this opset")
    add("--variant", help="choose the variant with this name")
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


def _measure(options: argparse.Namespace) -> int:
    from hub.cli.bench import measurement  # noqa: PLC0415  (each command imports what it needs)

    settings, interpreter = _given(options), _interpreter(options)
    progress = False if options.quiet else None
    subject = subjects.find(
        options.ref, opset=options.opset, variant=options.variant, progress=progress
    )
    settings["variant"] = subject.variant
    signer = _signer(options)
    if options.contribute:
        if options.seed is not None:
            raise problems.HubError("With --contribute the hub chooses the seed. Remove --seed.")
        settings |= subjects.challenge(subject)
    if options.mlperf:
        from hub.cli.bench import loadgen  # noqa: PLC0415

        for line in loadgen.run(subject, settings, Path(options.mlperf)):
            print(line)
        return DONE
    record = measurement.benchmark(subject, settings, interpreter, _teller(options))
    place = Path(options.output or f"{_slug(subject.name)}.benchmark.json")
    _write(place, record)
    _show(record, subject.name, as_json=options.json)
    for one in record["sweeps"]:
        print(f"\n{one['axis']} {one['value']}")
        _show(one["record"], subject.name, as_json=False)
    print(f"{'record':<11} {place}", file=sys.stderr if options.json else sys.stdout)
    if options.contribute:
        print(f"{'contributed':<11} {subjects.contribute(subject, record, signer)}")
    return DONE if record["status"] in {"accepted", "noisy"} else PROBLEM


def _signer(options: argparse.Namespace) -> subjects.Signer | None:
    if not options.worker and not options.key:
        return None
    if not (options.worker and options.key and options.contribute):
        raise problems.HubError("--worker and --key need each other and --contribute.")
    return subjects.Signer(options.worker, identity.key_of(options.key))


def _key(options: argparse.Namespace) -> int:
    """Make a private key that only its owner may read, and tell the public one."""
    private = federated.new_key()
    public = federated.public_key(private)
    try:
        handle = os.open(options.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise problems.HubError(
            f"{options.file} already exists. Keys are never overwritten; choose another file."
        ) from None
    with os.fdopen(handle, "wb") as writer:
        writer.write(private)
    print(f"{'private key':<11} {options.file}")
    print(f"{'public key':<11} {public}")
    print("Ask an administrator of the hub to enrol the public key: POST /api/v1/enrolled-workers")
    return DONE


def _show(record: dict[str, Any], name: str, *, as_json: bool) -> None:
    from runners.engine.benchmark import record as form  # noqa: PLC0415

    if as_json:
        print(json.dumps(form.without_samples(record), indent=2))
        return
    for line in words.of_record(record, name):
        print(plain(line))


def _verify(options: argparse.Namespace) -> int:
    from runners.engine.benchmark import record as form  # noqa: PLC0415
    from runners.engine.benchmark import verification  # noqa: PLC0415

    try:
        findings = verification.problems(_read(Path(options.file)))
    except form.InvalidRecordError as error:
        print(
            plain(f"hub: {options.file} is not a benchmark record: {error}"),
            file=sys.stderr,
        )
        return PROBLEM
    for one in findings:
        stated, right = (_short(one[name]) for name in ("said", "computed"))
        words = f"the record states {stated}, its samples give {right}"
        if one["rule"] != "sums":
            words = f"{one['message']} (rule {one['rule']}). {one['cure']}"
        print(plain(f"{one['field']}: {words}"))
    if findings:
        return PROBLEM
    print(plain(f"{options.file}: every figure matches its samples and no rule is broken"))
    return DONE


def _compare(options: argparse.Namespace) -> int:
    from runners.engine.benchmark import verdicts  # noqa: PLC0415

    names = (options.baseline, options.candidate)
    if all(name.endswith(".json") for name in names):
        verdict = _of_records(*(_read(Path(name)) for name in names))
    else:
        from hub.cli.bench import measurement  # noqa: PLC0415

        progress = False if options.quiet else None
        pair = [
            subjects.find(name, opset=options.opset, variant=options.variant, progress=progress)
            for name in names
        ]
        settings = _given(options)
        if options.quick and options.processes is None:
            settings["processes"] = verdicts.LEAST_PAIRS
        comparison = measurement.compare(
            (pair[0], pair[1]), settings, _interpreter(options), _teller(options)
        )
        if options.output:
            _write(Path(options.output), comparison)
        if options.json:
            print(json.dumps(verdicts.without_samples(comparison), indent=2))
            return DONE
        names = (pair[0].name, pair[1].name)
        verdict = comparison["verdict"]
    for line in words.of_verdict(verdict, names):
        print(plain(line))
    return DONE


def _of_records(baseline: Any, candidate: Any) -> dict[str, Any]:
    """Judge two records that were not made in turns: only where they may be compared at all."""
    from runners.engine.benchmark import record as form  # noqa: PLC0415
    from runners.engine.benchmark import verdicts, verification  # noqa: PLC0415

    try:
        first, second = form.check(baseline), form.check(candidate)
    except form.InvalidRecordError as error:
        raise problems.HubError(
            f"One of the two files is not a benchmark record: {error}"
        ) from None
    for side, one in (("first", first), ("second", second)):
        if wrong := verification.problems(one):
            raise problems.HubError(
                f"The {side} record is inconsistent: {wrong[0]['field']} does not match its "
                "samples. "
                "Run `hub bench verify FILE` for details."
            )
    if first["comparability_key"] != second["comparability_key"]:
        verdict = verdicts.judge_apart(first, second)
        raise problems.HubError(
            f"These records cannot be compared: they differ in {', '.join(verdict['differs'])}."
        )
    print(
        "These records were not measured alternately, so changes of the host between them count "
        "too."
    )
    return verdicts.judge_apart(first, second)


def _given(options: argparse.Namespace) -> dict[str, Any]:
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


def _interpreter(options: argparse.Namespace) -> str:
    if options.interpreter:
        return str(Path(options.interpreter).absolute())
    runtime = options.runtime or "onnxruntime"
    prepared = Path(os.environ.get("HUB_HOME", "var"), "runtimes", runtime, "bin", "python")
    if runtime != "onnxruntime" and prepared.is_file():
        return str(prepared.absolute())
    if importlib.util.find_spec(runtime) is None:
        raise problems.LibraryMissing(
            f"{runtime} is not installed here: pip install "
            + ("'onnx-hub[cpu]'" if runtime == "onnxruntime" else f"{runtime} onnx numpy")
            + " in this environment, or in another one whose Python you name with --interpreter."
        )
    return sys.executable


def _teller(options: argparse.Namespace) -> Callable[[int, str], None]:
    is_visible = not options.quiet and sys.stderr.isatty()

    def tell(progress: int, phase: str) -> None:
        if is_visible:
            print(f"\r{progress:3d} %  {phase:<12}", end="", file=sys.stderr, flush=True)

    return tell


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise problems.HubError(f"{path} is not valid JSON.") from None


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=True) + "\n", encoding="ascii")


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


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
    if not name or not all(one.isdecimal() for one in sizes):
        raise argparse.ArgumentTypeError(
            "expected INPUT:AxBxC, such as images:1x3x640x640; for one dimension use --size NAME:N"
        )
    return name, [int(one) for one in sizes]
