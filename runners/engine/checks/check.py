"""The check of a model: a scan, the ONNX checker, strict shape inference and a runtime load.

Each stage runs in a child of its own and has its own verdict: a model that fails the full check may
still run, and one that this runtime cannot run may still be valid. Only a model that is certainly
invalid or dangerous fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runners.engine.confine.children import Ending, EndingKind
from runners.engine.confine.isolation import Limits
from runners.engine.onnx_files import describe, text
from runners.engine.onnx_files.scan import scan
from runners.engine.reports import Finding, Outcome, Scan, StageStatus, Verdict

SCAN, CHECKER, INFERENCE, LOAD = "scan", "checker", "inference", "load"
STAGES = (SCAN, CHECKER, INFERENCE, LOAD)
NAMES = {
    SCAN: "the scan",
    CHECKER: "the checker",
    INFERENCE: "strict inference",
    LOAD: "runtime load",
}
FATAL = frozenset(
    {
        StageStatus.CRASHED,
        StageStatus.TIMED_OUT,
        StageStatus.OUT_OF_MEMORY,
        StageStatus.REFUSED,
    }
)

_DIED = FATAL - {StageStatus.REFUSED}

_UNSUPPORTED = re.compile(
    r"NOT_IMPLEMENTED|is not a registered function/op|Could not find an implementation"
    r"|is under development and support for this is limited|[Uu]nsupported model IR version"
    r"|ONNX Runtime only \*guarantees\* support|No opset import for domain"
)
_UNKNOWN_OPERATOR = re.compile(r"([\w.]+):(\w+)\([^)]*\) is not a registered function/op")
# Start of ONNX Runtime's messages that is left out: its name, error code, path and source line.
_PREAMBLE = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from \S+ failed: ?"
    r"|/\S+\.(?:cc|h):\d+ [^()]{0,300}\([^()]{0,1000}\)(?: const)? "
)
_MAX_OPERATORS = 2000


def scan_model(
    handle: int, entry: str, files: dict[str, int], pointers: frozenset[str] = frozenset()
) -> Scan:
    """Scan the model (stage 1, in a child): findings, external files, and facts for the check."""
    state = scan(handle, entry, files, pointers)
    facts = describe.operators_of(state) if "graph" in state.facts else {}
    return Scan(tuple(state.notes.findings()), facts, tuple(sorted(state.external)))


def run_checker(path: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Run onnx.checker (stage 2, in a child); also resolves each operator's since_version."""
    import onnx  # noqa: PLC0415 - only a child may hold an upload and the library together

    onnx.checker.check_model(str(path))
    return {"operators": _resolve(facts)}


def _resolve(facts: dict[str, Any]) -> list[dict[str, Any]]:
    import onnx  # noqa: PLC0415

    resolved = []
    for operator in facts.get("operators", [])[:_MAX_OPERATORS]:
        domain = operator["domain"]
        version = facts.get("opsets", {}).get(domain, 0)
        since = None
        if 0 < version < 1 << 31:
            try:
                schema = onnx.defs.get_schema(
                    operator["name"], version, "" if domain == "ai.onnx" else domain
                )
            except onnx.defs.SchemaError:
                pass
            else:
                since = schema.since_version
        resolved.append({**operator, "since_version": since})
    return resolved


def run_inference(path: Path) -> None:
    """Run the full check with strict shape inference (stage 3, in a child)."""
    import onnx  # noqa: PLC0415

    onnx.checker.check_model(str(path), full_check=True)


def complaint(check: Callable[[], object], path: Path) -> str:
    """Why a library rejects a model file; empty if it accepts it. For a child."""
    try:
        check()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - any complaint of the library is an answer
        return text.message(str(error), str(path.parent))
    return ""


def run_load(path: Path) -> None:
    """Load the model with default optimisation and one thread (stage 4, in a child)."""
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def judge(stage: str, ending: Ending, limits: Limits, *private: str) -> Verdict:
    """The verdict of a stage whose child ended so; `private` folders are left out of messages."""
    status = StageStatus.CRASHED
    match ending.kind:
        case EndingKind.ANSWERED:
            status, message = StageStatus.OK, ""
        case EndingKind.RAISED:
            name, words = ending.answer
            status = _status_of(stage, name, words)
            message = _PREAMBLE.sub("", words).strip() or words or name
        case EndingKind.TIMED_OUT:
            status = StageStatus.TIMED_OUT
            message = (
                f"timed out in {NAMES[stage]}: more than {limits.cpu_seconds:.0f} s of computing "
                f"or {limits.wall_seconds:.0f} s of waiting"
            )
        case EndingKind.OUT_OF_MEMORY:
            status = StageStatus.OUT_OF_MEMORY
            memory = limits.memory_bytes / (1 << 30)
            message = f"out of memory in {NAMES[stage]}: more than {memory:.1f} GiB"
        case EndingKind.SIGNALLED:
            message = f"crashed: {ending.answer} in {NAMES[stage]}"
        case EndingKind.FLOODED:
            message = f"crashed: an endless answer in {NAMES[stage]}"
        case _:
            message = f"crashed: no answer from {NAMES[stage]}"
    return Verdict(status, text.message(message, *private), ending.seconds)


def _status_of(stage: str, name: str, message: str) -> StageStatus:
    if stage == LOAD and (
        name == "NotImplemented" or _UNSUPPORTED.search(message) or "locale" in message
    ):
        return StageStatus.UNSUPPORTED
    return StageStatus.INVALID


def outcome(verdicts: dict[str, Verdict]) -> Outcome:
    """The outcome of the check: failed if the scan refuses the model or a stage crashes.

    A model also fails if two stages reject it: the checker and the load, or strict inference and
    the load. A load that is only `UNSUPPORTED` counts with the checker but not with strict
    inference, which rejects some valid models.
    """
    if any(verdict.status in FATAL for verdict in verdicts.values()):
        return "failed"
    if verdicts[CHECKER].status == StageStatus.INVALID and verdicts[LOAD].status != StageStatus.OK:
        return "failed"
    if all(verdicts[stage].status == StageStatus.INVALID for stage in (INFERENCE, LOAD)):
        return "failed"
    return "passed"


def findings(verdicts: dict[str, Verdict], facts: dict[str, Any], runtime: str) -> list[Finding]:
    """Findings of the report about the verdicts."""
    result = [
        verdict.finding(stage) for stage, verdict in verdicts.items() if verdict.status in _DIED
    ]
    checker, inference, load = (verdicts[stage] for stage in (CHECKER, INFERENCE, LOAD))
    if checker.status == StageStatus.INVALID:
        loads = load.status == StageStatus.OK
        result.append(
            Finding(
                "checker-invalid",
                "warning" if loads else "error",
                "The ONNX checker does not accept the model"
                + (", though the runtime loads it" if loads else "")
                + f": {checker.message}",
                CHECKER,
            )
        )
    elif inference.status == StageStatus.INVALID:
        result.append(
            Finding(
                "inference-failed",
                "error" if load.status == StageStatus.INVALID else "warning",
                f"Strict shape inference does not accept the model: {inference.message}",
                INFERENCE,
            )
        )
    result += _load_findings(load, facts, runtime)
    return result


def _load_findings(load: Verdict, facts: dict[str, Any], runtime: str) -> list[Finding]:
    if load.status == StageStatus.INVALID:
        words = f"{runtime} does not load the model: {load.message}"
        return [Finding("runtime-load-failed", "warning", words, LOAD)]
    if load.status != StageStatus.UNSUPPORTED:
        return []
    if "locale" in load.message:
        return [
            Finding(
                "locale-missing",
                "warning",
                "The model processes text and this worker has no en_US.UTF-8 locale, so it was "
                "not loaded. The model is not at fault. Install the locale on the worker.",
                LOAD,
            )
        ]
    unknown = _UNKNOWN_OPERATOR.search(load.message)
    custom = {domain["domain"]: domain for domain in facts.get("custom_domains", [])}
    if unknown and unknown[1] in custom:
        provider = custom[unknown[1]]["provided_by"]
        source = f" ({provider})" if provider else ""
        return [
            Finding(
                "needs-operator-set",
                "warning",
                f"Valid, needs operator set {unknown[1]!r}{source}: {runtime} does not provide "
                f"{unknown[2]}, so the model was not loaded.",
                LOAD,
            )
        ]
    words = f"Valid, but {runtime} cannot run it: {load.message}"
    return [Finding("runtime-unsupported", "warning", words, LOAD)]
