"""Search for inputs on which a converted node differs from the original.

The node alone is converted and both models run on the inputs of `domains`, without graph
optimisation, for a limited time. Without a difference the result is a certificate, which states
what was searched; with one it is the smallest inputs that were seen to differ.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx

from hub.protocol.proofs import SearchOutcome
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import opsets, runtimes
from runners.engine.certificates import domains
from runners.engine.certificates.domains import Array, InputPlan, ValueKind
from runners.engine.upgrades import noise

if TYPE_CHECKING:
    from runners.engine.certificates.keys import NodeKey
    from runners.engine.runtimes import Run

SECONDS = 4.0
# Fewer runs, of fewer kinds of values, are no search.
LEAST_RUNS = 24
LEAST_KINDS = 3
# A size that ran with fewer values was not searched, such as one that a constant fixes.
LEAST_SIZES = 3
_SHOWN_ELEMENTS = 24
# Operators whose outputs follow small changes of their inputs. The spread of the original over
# inputs that are nudged by one rounding then counts as its noise, since the converted node may sum
# in another order.
CONTINUOUS = frozenset(
    {
        "Attention", "AveragePool", "BatchNormalization", "DFT", "Gemm", "GlobalAveragePool",
        "GroupNormalization", "GRU", "LogSoftmax", "LpPool", "LSTM", "MeanVarianceNormalization",
        "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd",
        "ReduceSum", "ReduceSumSquare", "Resize", "RNN", "Softmax", "Upsample",
    }
)  # fmt: skip
_NUDGES = 3
EMPTY, FEW_SIZES = "empty inputs", "few sizes"
# Values whose sums may overflow, so that the order of additions decides.
_EXTREME = frozenset({ValueKind.MAGNITUDES, ValueKind.RANGE, ValueKind.SPECIAL})


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Inputs on which original and converted node differ; `inputs` has their values if few.

    They can be drawn again from `sizes` (of each size class), `values` and `seed`; `reason` says
    how the outputs differ, or that only one of the two runs.
    """

    sizes: dict[int, int]
    values: ValueKind
    seed: int
    inputs: dict[str, Any]
    reason: str


@dataclass(slots=True)
class Certificate:
    """The result of a search for one key.

    `runs` counts inputs on which both models ran, `refused` those that both refused. `sizes` has
    the sizes that ran of each class, `kinds` the kinds of values.
    """

    key: str
    op: str
    source: int
    target: int
    outcome: SearchOutcome
    reason: str = ""
    rules: tuple[str, ...] = ()
    runs: int = 0
    refused: int = 0
    # What the runtime said of the first inputs that both models refused.
    refusal: str = ""
    # Why the original refuses inputs that the converted node takes.
    new_answers: str = ""
    # How the nodes differ on extreme values, by their kind, and on empty inputs; and sizes of which
    # too few ran.
    limits: dict[str, str] = field(default_factory=dict)
    sizes: dict[int, set[int]] = field(default_factory=dict)
    kinds: set[ValueKind] = field(default_factory=set)
    seconds: float = 0.0
    is_complete: bool = False
    counterexample: Counterexample | None = None


def search(key: NodeKey, seconds: float = SECONDS) -> Certificate:
    """Convert the node of a key and search for a difference.

    `seconds` are of this process's processor time. The runtime may crash on a node, so callers run
    this in a child. Raises MissingRuntimeError without ONNX Runtime.
    """
    start = time.process_time()
    certificate = Certificate(
        key.digest, key.op, key.source, key.target, SearchOutcome.NOT_CONVERTED
    )
    model = _complete(key.model())
    conversion = opsets.convert(model, key.target)
    if conversion.model is None:
        certificate.reason = conversion.blocking[0].reason
        return certificate
    certificate.rules = conversion.rules
    certificate.outcome = SearchOutcome.NOT_RUN
    with tempfile.TemporaryDirectory(prefix="hub-certificate-") as folder:
        try:
            before, optimised = (
                _open(Path(folder) / "before.onnx", model, optimise=optimise)
                for optimise in (False, True)
            )
            after = _open(Path(folder) / "after.onnx", conversion.model, optimise=False)
        except runtimes.LoadError as error:
            certificate.reason = str(error)[:300]
            return certificate
        _run(certificate, key, (before, optimised), after, start + seconds)
    certificate.seconds = time.process_time() - start
    return certificate


def _complete(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its outputs, which the runtime needs."""
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - the runtime may know them all the same
        return model


def _open(path: Path, model: onnx.ModelProto, *, optimise: bool) -> Run:
    path.write_bytes(model.SerializeToString())
    return runtimes.of(ONNXRUNTIME).open(path, optimise=optimise)


def _run(
    certificate: Certificate,
    key: NodeKey,
    originals: tuple[Run, Run],
    after: Run,
    deadline: float,
) -> None:
    for plan in domains.plans(key):
        if time.process_time() > deadline:
            break
        feeds = domains.inputs(key, plan)
        if feeds is None:
            continue
        reason = _difference(certificate, plan, feeds, originals, after)
        if not reason:
            continue
        if any(value.size == 0 for value in feeds.values()):
            certificate.limits.setdefault(EMPTY, reason)
        elif plan.values in _EXTREME:
            certificate.limits.setdefault(plan.values, reason)
        else:
            samples = {name: _sample(value) for name, value in feeds.items()}
            certificate.outcome = SearchOutcome.DIFFERENT
            certificate.reason = reason
            certificate.counterexample = Counterexample(
                plan.sizes, plan.values, plan.seed, samples, reason
            )
            return
    else:
        certificate.is_complete = True
    if certificate.runs >= LEAST_RUNS and len(certificate.kinds) >= LEAST_KINDS:
        for number, sizes in sorted(certificate.sizes.items()):
            if len(sizes) < LEAST_SIZES:
                words = f"size {number} was only {', '.join(map(str, sorted(sizes)))}"
                certificate.limits.setdefault(FEW_SIZES, words)
        is_limited = bool(certificate.limits)
        certificate.outcome = SearchOutcome.LIMITED if is_limited else SearchOutcome.CERTIFIED
    else:
        certificate.reason = f"only {certificate.runs} inputs ran: {certificate.refusal}"


def _difference(
    certificate: Certificate,
    plan: InputPlan,
    feeds: dict[str, Array],
    originals: tuple[Run, Run],
    after: Run,
) -> str:
    """How the outputs of both models differ on these inputs; empty if they do not."""
    expected, error = _outputs(originals[0], feeds)
    actual, new_error = _outputs(after, feeds)
    if expected is None or actual is None:
        if expected is None and actual is None:
            certificate.refused += 1
            certificate.refusal = certificate.refusal or error
            return ""
        if actual is not None:
            certificate.new_answers = error
            return ""
        return f"refused: {new_error}"
    certificate.runs += 1
    certificate.kinds.add(plan.values)
    for number, size in plan.sizes.items():
        certificate.sizes.setdefault(number, set()).add(size)
    own = [expected]
    if _is_equal(expected, actual):
        return ""
    own += [other for other, _ in [_outputs(originals[1], feeds)] if other is not None]
    if certificate.op in CONTINUOUS:
        own += _nudged(originals[0], feeds, plan.seed)
    for place, right in enumerate(actual):
        figures, _ = noise.judge(f"o{place}", [outputs[place] for outputs in own], right)
        if not figures.agrees:
            return figures.reason or "the outputs differ"
    return ""


def _is_equal(expected: list[Any], actual: list[Any]) -> bool:
    return all(
        isinstance(left, np.ndarray)
        and isinstance(right, np.ndarray)
        and left.dtype == right.dtype != object
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
        for left, right in zip(expected, actual, strict=True)
    )


def _nudged(original: Run, feeds: dict[str, Array], seed: int) -> list[list[Any]]:
    """Outputs of the original on inputs that differ by at most one rounding."""
    generator = np.random.default_rng(seed)
    runs = []
    for _ in range(_NUDGES):
        near = {
            name: value * (1 + generator.choice([-1, 0, 1], value.shape) * _rounding(value))
            if _rounding(value)
            else value
            for name, value in feeds.items()
        }
        near = {name: np.asarray(value, feeds[name].dtype) for name, value in near.items()}
        outputs, _ = _outputs(original, near)
        if outputs is not None:
            runs.append(outputs)
    return runs


def _rounding(value: Array) -> float:
    """The relative size of one rounding of a type; 0 for types that are not floating."""
    names = ("float16", "bfloat16", "float32", "float64")
    if value.dtype.name not in names:
        return 0.0
    return float(ml_dtypes.finfo(value.dtype).eps)  # type: ignore[no-untyped-call]


def _outputs(run: Run, feeds: dict[str, Array]) -> tuple[list[Any] | None, str]:
    """The outputs of a model, or None and what the runtime says."""
    try:
        return run(dict(feeds)), ""
    except (RuntimeError, ValueError, TypeError) as error:
        return None, str(error)[:300]
    except Exception as error:  # noqa: BLE001 - a library may raise anything here
        return None, f"{type(error).__name__}: {error}"[:300]


def _sample(value: Array) -> Any:
    plain = np.asarray(value)
    if plain.size > _SHOWN_ELEMENTS:
        return f"{plain.dtype} of shape {list(plain.shape)}"
    return [str(element) for element in plain.reshape(-1)]
