"""The words of `hub bench`: measure, verify a record, compare two models or two records."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hub.cli.bench import arguments, subjects
from hub.cli.bench import report as words
from hub.client.training import identity
from hub.protocol import federated, problems
from hub.protocol.figures import Status
from hub.terminal import DONE, PROBLEM, plain

_VERIFY = arguments.file_parser(
    "verify",
    "Recompute every figure of a record from its samples.",
    "record or comparison to verify",
)
_KEY = arguments.file_parser(
    "key",
    "Create the key pair of a worker, to enrol it on a hub.",
    "file to write the private key to",
)


def main(argv: Sequence[str]) -> int:
    """Run one command; return the exit code."""
    if argv and argv[0] == "verify":
        return _verify(_VERIFY.parse_args(argv[1:]))
    if argv and argv[0] == "compare":
        return _compare(arguments.compare_parser().parse_args(argv[1:]))
    if argv and argv[0] == "key":
        return _key(_KEY.parse_args(argv[1:]))
    return _measure(arguments.measure_parser().parse_args(argv))


def _find(ref: str, options: argparse.Namespace, *, progress: bool | None) -> subjects.Subject:
    return subjects.find(
        ref,
        opset=options.opset,
        variant=options.variant,
        strength=options.strength,
        progress=progress,
    )


def _measure(options: argparse.Namespace) -> int:
    from hub.cli.bench import measurement  # noqa: PLC0415  (each command imports what it needs)

    settings, interpreter = arguments.engine_options(options), _interpreter(options)
    progress = False if options.quiet else None
    subject = _find(options.ref, options, progress=progress)
    settings |= {"variant": subject.variant, "inputs": subject.inputs}
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
    record = measurement.benchmark(subject, settings, interpreter, _progress_of(options))
    place = Path(options.output or f"{_slug(subject.name)}.benchmark.json")
    _write(place, record)
    _show(record, subject.name, as_json=options.json)
    for sweep in record["sweeps"]:
        print(f"\n{sweep['axis']} {sweep['value']}")
        _show(sweep["record"], subject.name, as_json=False)
    print(f"{'record':<11} {place}", file=sys.stderr if options.json else sys.stdout)
    if options.contribute:
        print(f"{'contributed':<11} {subjects.contribute(subject, record, signer)}")
        print("It is pending until a worker of the hub has recomputed its outputs.")
    return DONE if record["status"] in {Status.ACCEPTED, Status.NOISY} else PROBLEM


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
    for finding in findings:
        stated, right = _short(finding.value), _short(finding.computed)
        words = f"the record states {stated}, its samples give {right}"
        if finding.rule != "sums":
            words = f"{finding.message} (rule {finding.rule}). {finding.cure}"
        print(plain(f"{finding.field}: {words}"))
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
        pair = [_find(name, options, progress=progress) for name in names]
        settings = arguments.engine_options(options) | {"inputs": pair[1].inputs}
        if options.quick and options.processes is None:
            settings["processes"] = verdicts.LEAST_PAIRS
        comparison = measurement.compare(
            (pair[0], pair[1]), settings, _interpreter(options), _progress_of(options)
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
    from runners.engine.benchmark import (  # noqa: PLC0415
        record_shape,
        verdicts,
        verification,
    )

    try:
        first, second = record_shape.check(baseline), record_shape.check(candidate)
    except form.InvalidRecordError as error:
        raise problems.HubError(
            f"One of the two files is not a benchmark record: {error}"
        ) from None
    for side, subject_record in (("first", first), ("second", second)):
        if wrong := verification.problems(subject_record):
            raise problems.HubError(
                f"The {side} record is inconsistent: {wrong[0].field} does not match its "
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


def _progress_of(options: argparse.Namespace) -> Callable[[int, str], None]:
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
