"""Search for inputs on which a converted node differs from the original.

The node alone is converted and both models run on the inputs of `domains`, without graph
optimisation, for a limited time: in ONNX Runtime, or in the reference where it has no kernel.
Without a difference the result is a certificate, which states what was searched; with one it is the
smallest inputs that were seen to differ.
"""

from __future__ import annotations

import itertools
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from hub.protocol.node_certificates import SearchOutcome
from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine import runtimes
from runners.engine.certificates import domains
from runners.engine.certificates.certificate import (
    EMPTY,
    FEW_SIZES,
    LEAST_SIZES,
    Certificate,
    Counterexample,
    ranges,
)
from runners.engine.certificates.conversion import converted
from runners.engine.certificates.domains import Array, InputPlan, ValueKind
from runners.engine.certificates.keys import NodeKey
from runners.engine.runs import agreement, noise, specification
from runners.engine.runtimes import Run

if TYPE_CHECKING:
    import onnx


SECONDS = 4.0
# Fewer runs, of fewer kinds of values, are no search.
LEAST_RUNS = 24
LEAST_KINDS = 3
# A node runs at few sizes alone if both forms refused so many others.
LEAST_REFUSED_SIZES = 20
_SHOWN_ELEMENTS = 24
_REASON_CHARACTERS = 200
# Operators whose outputs follow small changes of their inputs. The spread of the original over
# inputs that are nudged by one rounding then counts as its noise, since the converted node may sum
# in another order.
CONTINUOUS = frozenset(
    {
        "Attention",
        "AveragePool",
        "BatchNormalization",
        "DFT",
        "Gemm",
        "GlobalAveragePool",
        "GroupNormalization",
        "GRU",
        "LogSoftmax",
        "LpPool",
        "LSTM",
        "MeanVarianceNormalization",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceMean",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
        "Resize",
        "RNN",
        "Softmax",
        "Upsample",
    }
)
# So many nudged inputs; the second number where the first did not explain a difference.
_NUDGES = (3, 40)
# Values whose sums may overflow, so that the order of additions decides.
_EXTREME = frozenset({ValueKind.LARGE, ValueKind.MAGNITUDES, ValueKind.RANGE, ValueKind.SPECIAL})


@dataclass(frozen=True, slots=True)
class _Forms:
    """A node before and after its conversion, in one runtime; before with graph optimisation, too.

    `runtime` is empty for ONNX Runtime.
    """

    before: Run
    optimised: Run
    after: Run
    runtime: str = ""


@dataclass(slots=True)
class _Search:
    """A search in progress, up to `deadline` seconds of this process's processor time."""

    key: NodeKey
    forms: _Forms
    deadline: float
    runs: int = 0
    refused: int = 0
    # What the runtime said of the first inputs that both models refused.
    refusal: str = ""
    answers: str = ""
    limits: dict[str, str] = field(default_factory=dict)
    sizes: dict[int, set[int]] = field(default_factory=dict)
    refused_sizes: dict[int, set[int]] = field(default_factory=dict)
    kinds: set[ValueKind] = field(default_factory=set)
    sizes_together: list[dict[int, int]] = field(default_factory=list)
    is_exact: bool = True
    is_complete: bool = False
    # Whether all differences on extreme values are overflows.
    is_bounded: bool = True

    def difference(self) -> tuple[str, Counterexample] | None:
        """Run until a difference within the usual values is noticed; None without one."""
        for plan in itertools.chain(domains.plans(self.key), self._more_plans()):
            if time.process_time() > self.deadline:
                return None
            feeds = domains.inputs(self.key, plan)
            reason = "" if feeds is None else self._run(plan, feeds)
            if feeds is None or not reason:
                continue
            if any(value.size == 0 for value in feeds.values()):
                self.limits.setdefault(EMPTY, reason)
            elif plan.values in _EXTREME:
                self.limits.setdefault(plan.values, reason)
                self.is_bounded = self.is_bounded and self._overflows(plan, feeds)
            else:
                samples = tuple(f"{name}: {_sample(value)}" for name, value in feeds.items())
                sizes = {str(number): size for number, size in plan.sizes.items()}
                return reason, Counterexample(sizes, plan.values, plan.seed, samples)
        self.is_complete = True
        return None

    def _more_plans(self) -> Iterator[InputPlan]:
        """Further sizes if those that were varied apart did not run."""
        if self.is_short or any(len(sizes) < LEAST_SIZES for sizes in self.sizes.values()):
            yield from domains.joint_plans(self.key, self.sizes_together)

    @property
    def is_short(self) -> bool:
        """Whether too little ran to be called a search."""
        return self.runs < LEAST_RUNS or len(self.kinds) < LEAST_KINDS

    @property
    def few_sizes(self) -> dict[int, set[int]]:
        """Sizes that ran of classes of which too few were tried, though others are possible."""
        implied = domains.implied_sizes(self.key)
        return {
            number: sizes
            for number, sizes in sorted(self.sizes.items())
            if len(sizes) < LEAST_SIZES
            and number not in implied
            and len(self.refused_sizes.get(number, set()) - sizes) < LEAST_REFUSED_SIZES
        }

    def _run(self, plan: InputPlan, feeds: dict[str, Array]) -> str:
        """How the outputs of both models differ on these inputs; empty if they do not."""
        expected, error = _outputs(self.forms.before, feeds)
        actual, new_error = _outputs(self.forms.after, feeds)
        if actual is None and expected is not None:
            return f"refused: {new_error}"
        if expected is None or actual is None:
            if actual is not None:
                self.answers = error
                return ""
            self.refused += 1
            self.refusal = self.refusal or error
            _note(self.refused_sizes, plan)
            return ""
        self.runs += 1
        self.kinds.add(plan.values)
        _note(self.sizes, plan)
        self.sizes_together.append(plan.sizes)
        if _is_equal(expected, actual):
            return ""
        reason = self._judge(plan, feeds, expected, actual)
        self.is_exact &= bool(reason)
        return reason

    def _judge(
        self, plan: InputPlan, feeds: dict[str, Array], expected: list[Any], actual: list[Any]
    ) -> str:
        optimised, _ = _outputs(self.forms.optimised, feeds)
        own = [expected] if optimised is None else [expected, optimised]
        generator = np.random.default_rng(plan.seed)
        reason = ""
        for count in _NUDGES if self.key.op in CONTINUOUS else (0,):
            own += _nudged(self.forms.before, feeds, generator, count)
            reason = _beyond_noise(own, actual)
            if not reason:
                break
        return reason

    def _overflows(self, plan: InputPlan, feeds: dict[str, Array]) -> bool:
        """Whether both forms differ by overflow alone, of sums that no definition orders.

        Then one of them is infinite or NaN where they differ, though the inputs are finite. Of
        inputs that are not, the same elements must differ with zeros in place of these.
        """
        finite = {name: _finite(value) for name, value in feeds.items()}
        elements = self._overflowing(plan, finite) if self.key.op in CONTINUOUS else None
        if elements is None or all(finite[name] is value for name, value in feeds.items()):
            return elements is not None
        own = self._overflowing(plan, feeds)
        return own is not None and not any(
            (of_all & ~of_finite).any() for of_all, of_finite in zip(own, elements, strict=True)
        )

    def _overflowing(self, plan: InputPlan, feeds: dict[str, Array]) -> list[Array] | None:
        """Elements of each output that differ and are not finite in both forms.

        None if others differ, too.
        """
        expected, _ = _outputs(self.forms.before, feeds)
        actual, _ = _outputs(self.forms.after, feeds)
        if expected is None or actual is None:
            return None
        elements, patched = [], []
        for left, right in zip(expected, actual, strict=True):
            if left.shape != right.shape or left.dtype != right.dtype:
                return None
            wide = [agreement.wide(value) for value in (left, right)]
            same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
            elements.append(~same & ~(np.isfinite(wide[0]) & np.isfinite(wide[1])))
            patched.append(np.where(elements[-1], left, right))
        return None if self._judge(plan, feeds, expected, patched) else elements


def search(key: NodeKey, seconds: float = SECONDS, folder: Path | None = None) -> Certificate:
    """Convert the node of a key and search for a difference.

    `seconds` are of this process's processor time; files go to a new folder in `folder`. The
    runtime may crash on a node, so callers run this in a child. Raises MissingRuntimeError without
    ONNX Runtime.
    """
    deadline = time.process_time() + seconds
    pair = converted(key)
    key, model = pair.key, pair.conversion.model
    answer = partial(Certificate, pair.digest, key.op, key.source, key.target)
    if model is None:
        return answer(SearchOutcome.NOT_CONVERTED, pair.conversion.blocking[0].reason)
    with tempfile.TemporaryDirectory(prefix="hub-certificate-", dir=folder) as own:
        try:
            forms = _open_both(Path(own), pair.original, model)
        except runtimes.LoadError as error:
            return answer(SearchOutcome.NOT_RUN, _brief(error, own))
        work = _Search(key, forms, deadline)
        if key.op in domains.GATES:
            work.limits[EMPTY] = "not run, since the runtime ends its process on them"
        difference = work.difference()
    answer = partial(
        answer,
        runtime=forms.runtime,
        runs=work.runs,
        refused=work.refused,
        sizes={str(number): ranges(sizes) for number, sizes in work.sizes.items()},
        kinds=tuple(kind for kind in ValueKind if kind in work.kinds),
        answers=work.answers,
        is_complete=work.is_complete,
    )
    if difference is not None:
        return answer(SearchOutcome.DIFFERENT, difference[0], counterexample=difference[1])
    if work.is_short:
        return answer(SearchOutcome.NOT_RUN, f"only {work.runs} inputs ran: {work.refusal}"[:300])
    if few := work.few_sizes:
        words = (f"size {number} was only {ranges(sizes)}" for number, sizes in few.items())
        work.limits[FEW_SIZES] = ", ".join(words)
    # A bound that overflow sets is part of the certificate, and no value of it was left out.
    is_certified = work.is_bounded and _EXTREME.issuperset(work.limits)
    outcome = SearchOutcome.CERTIFIED if is_certified else SearchOutcome.LIMITED
    largest = _largest(key, work.limits)
    return answer(outcome, limits=work.limits, largest=largest, is_exact=work.is_exact)


def _note(sizes: dict[int, set[int]], plan: InputPlan) -> None:
    for number, size in plan.sizes.items():
        sizes.setdefault(number, set()).add(size)


def _largest(key: NodeKey, limits: dict[str, str]) -> float | None:
    """The absolute value up to which the nodes are equal on every kind of values.

    0 where integers may be what they differ on, since no bound of these is known.
    """
    if _EXTREME.isdisjoint(limits):
        return None
    kinds = [kind for kind in key.inputs if not kind.constant]
    if any(domains.is_integer(kind.dtype) for kind in kinds):
        return 0.0
    is_large = ValueKind.LARGE not in limits
    bounds = (domains.largest(kind.dtype, is_large=is_large) for kind in kinds)
    return min((bound for bound in bounds if bound is not None), default=0.0)


def _open_both(folder: Path, original: onnx.ModelProto, model: onnx.ModelProto) -> _Forms:
    """Load both forms in ONNX Runtime, or in the reference if it has no kernel of one of them.

    The reference must follow the definitions of both operator sets. Raises LoadError.
    """
    before, after = folder / "before.onnx", folder / "after.onnx"
    before.write_bytes(original.SerializeToString())
    after.write_bytes(model.SerializeToString())
    runtime, reference = runtimes.of(ONNXRUNTIME), runtimes.of(REFERENCE)
    try:
        optimised = runtime.open(before)
        return _Forms(
            runtime.open(before, optimise=False), optimised, runtime.open(after, optimise=False)
        )
    except runtimes.UnsupportedModelError:
        if any(specification.unjudged(original, form) for form in (original, model)):
            raise
        alone = runtimes.attempt(reference.open, before)
        other = runtimes.attempt(reference.open, after)
        if isinstance(alone, Exception) or isinstance(other, Exception):
            raise
        return _Forms(alone, alone, other, REFERENCE)


def _beyond_noise(own: list[list[Any]], actual: list[Any]) -> str:
    """How the first output that differs does; empty if all are within the noise of `own` runs."""
    for place, right in enumerate(actual):
        figures, _ = noise.judge(f"o{place}", [outputs[place] for outputs in own], right)
        if not figures.agrees:
            return figures.reason or "the outputs differ"
    return ""


def _is_equal(expected: list[Any], actual: list[Any]) -> bool:
    return all(
        agreement.compare("", left, right, agreement.EXACT, brief=True).agrees
        for left, right in zip(expected, actual, strict=True)
    )


def _nudged(
    original: Run, feeds: dict[str, Array], generator: np.random.Generator, count: int
) -> list[list[Any]]:
    """Outputs of the original on inputs that differ by at most one rounding."""
    runs = []
    for _ in range(count):
        with np.errstate(over="ignore", invalid="ignore"):
            near = {
                name: np.asarray(
                    value * (1 + generator.choice([-1, 0, 1], value.shape) * _rounding(value)),
                    value.dtype,
                )
                if _rounding(value)
                else value
                for name, value in feeds.items()
            }
        outputs, _ = _outputs(original, near)
        if outputs is not None:
            runs.append(outputs)
    return runs


def _finite(value: Array) -> Array:
    """The same value, or a copy with 0 in place of infinity and NaN."""
    if not _rounding(value):
        return value
    finite = np.isfinite(agreement.wide(value))
    return value if finite.all() else np.where(finite, value, np.zeros_like(value))


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
        return None, _brief(error)
    except Exception as error:  # noqa: BLE001 - a library may raise anything here
        return None, f"{type(error).__name__}: {_brief(error)}"


def _brief(error: Exception, folder: str = "") -> str:
    """The message of an error, without names of places in folders and source files."""
    words = str(error).rpartition("Status Message: ")[2]
    words = words.replace(folder, "").lstrip("/") if folder else words
    return " ".join(re.sub(r"\S+\.(cc|h):\d+ ", "", words).split())[:_REASON_CHARACTERS]


def _sample(value: Array) -> Any:
    plain = np.asarray(value)
    if plain.size > _SHOWN_ELEMENTS:
        return f"{plain.dtype} of shape {list(plain.shape)}"
    return [str(element) for element in plain.reshape(-1)]
