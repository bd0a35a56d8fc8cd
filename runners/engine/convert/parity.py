"""Comparison of original and variant on the same data.

Lower precision changes outputs, so no tolerance applies. A variant fails only below a floor, on
data that resembles real data: its outputs must have the type and rank of the original's, be finite
where these are, and keep their direction (cosine of at least 0.5 on half of the data sets).
Everything above the floor is reported as figures for users to judge.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.convert import calibration
from runners.engine.convert.answers import Baseline, Parity, SetRun
from runners.engine.convert.recipes import Recipe
from runners.engine.onnx_files import datasets, text
from runners.engine.onnx_files.datasets import DataSet, Value
from runners.engine.runs import agreement, generate
from runners.engine.runs.agreement import Figures

FLOOR_COSINE = 0.5
MAX_SETS = 12
_FOLDER = "expected"
# A report is read whole; rows beyond these are summarised by the worst one.
_MAX_ROWS = 1000
# Zeros, large and denormal values: reported, but no reason to reject a variant.
_EXTREME = "generated-extreme"


class NotRunningError(ValueError):
    """The original cannot be run, so nothing can be compared with it; the message says why."""


def baseline(
    source: Path, work: Path, sample: Path | None, *, calibrates: bool, generated: bool
) -> Baseline:
    """Run the original on every data set; store its outputs and the calibration data in `work`.

    Raises NotRunningError, UnusableSampleError, UnreadableDataError.
    """
    model = onnx.load(str(source), load_external_data=False)
    bundled, unread = _bundled(source, model, needed=calibrates and sample is None)
    origin, held_out = "", calibrates
    using: list[DataSet] = []
    if sample is not None and calibrates:
        samples = calibration.read_sample(sample, model)
        using, judged = calibration.split(samples)
        origin, held_out, bundled = "sample", len(samples) > 1, [*bundled, *judged]
    elif calibrates:
        if not bundled:
            raise calibration.UnusableSampleError(
                "No test data set has a value for every input. Complete them, or send a sample."
            )
        using, judged = calibration.split(bundled)
        origin, held_out, bundled = "bundled", len(bundled) > 1, judged
    calibration.leave(work, using, model)
    original = _Original(source, work, model)
    original.run(bundled[:MAX_SETS])
    if generated:
        original.run_generated()
    if not original.ran:
        why = next(iter(original.reasons), "there is no data to run it with")
        raise NotRunningError(f"no data set could be run: {why}")
    return Baseline(
        original.ran,
        [*original.reasons[:5], *filter(None, (unread,))],
        original.nondeterministic,
        held_out,
        {"from": origin, "samples": len(using)} if origin else None,
    )


def _bundled(source: Path, model: onnx.ModelProto, *, needed: bool) -> tuple[list[DataSet], str]:
    """Read the version's own data; unreadable data is ignored if it is not needed to calibrate."""
    try:
        sets = datasets.read(source.parent, model)
    except datasets.UnreadableDataError as error:
        if needed:
            raise
        return [], f"The test data cannot be read: {error}"
    names = {port.name for port in datasets.required_inputs(model)}
    return [dataset for dataset in sets if names <= set(dataset.inputs)], ""


class _Original:
    """Runs of the original on data sets: those that ran, failures, nondeterministic outputs."""

    def __init__(self, source: Path, work: Path, model: onnx.ModelProto) -> None:
        try:
            self._run = runtimes.of(ONNXRUNTIME).open(source)
        except (runtimes.LoadError, runtimes.UnsupportedModelError) as error:
            raise NotRunningError(f"onnxruntime does not load it: {error}") from None
        self._work, self._model = work, model
        self._names = [port.name for port in model.graph.output]
        self.ran: list[SetRun] = []
        self.reasons: list[str] = []
        self._unstable: set[str] = set()

    @property
    def nondeterministic(self) -> list[str]:
        """Names of outputs that differ between equal runs."""
        return sorted(self._unstable)

    def run_generated(self) -> None:
        """Run generated sets of the first sizes with which one runs.

        If none does, the reasons are those of the smallest.
        """
        before, first = list(self.reasons), len(self.ran)
        reasons: list[str] = []
        for sizes in generate.SIZE_GROUPS:
            self.reasons = list(before)
            try:
                self.run(generate.datasets(self._model, sizes=sizes))
            except generate.CannotGenerateError as error:
                self.reasons.append(f"No inputs could be made: {error}")
            if len(self.ran) > first:
                return
            reasons = reasons or self.reasons
        self.reasons = reasons

    def run(self, sets: Sequence[DataSet]) -> None:
        """Run data sets, and store the outputs as those that are expected."""
        for dataset in sets:
            outputs = runtimes.attempt(self._run, dataset.inputs)
            # One repetition suffices to detect random outputs.
            again = (
                outputs
                if self.ran or isinstance(outputs, Exception)
                else runtimes.attempt(self._run, dataset.inputs)
            )
            if isinstance(outputs, Exception) or isinstance(again, Exception):
                failure = outputs if isinstance(outputs, Exception) else again
                self.reasons.append(text.message(f"{dataset.name}: {failure}"))
                continue
            for name, first, second in zip(self._names, outputs, again, strict=True):
                if not agreement.compare(name, first, second, agreement.FP32).agrees:
                    self._unstable.add(name)
            values = dict(zip(self._names, outputs, strict=True))
            numbered = replace(dataset, name=f"test_data_set_{len(self.ran)}", outputs=values)
            datasets.write(self._work / _FOLDER, numbered, self._model)
            self.ran.append(SetRun(dataset.name, dataset.origin))


def expected(source: Path, work: Path) -> list[DataSet]:
    """The data sets that the original ran on, with its outputs."""
    model = onnx.load(str(source), load_external_data=False)
    return datasets.read(work / _FOLDER, model)


def compare(source: Path, variant: Path, work: Path, recipe: Recipe, ran: Baseline) -> Parity:
    """Run the variant on the same data; returns figures by data set and output, and failures."""
    model = onnx.load(str(source), load_external_data=False)
    profile = agreement.QUANTISED if recipe.quantises else agreement.FP16
    run = runtimes.of(ONNXRUNTIME).open(variant)
    outputs_compared: list[tuple[SetRun, Figures]] = []
    failures: list[str] = []
    cosines: dict[str, list[float]] = {}
    real = like_real(ran.sets)
    for dataset, trial in zip(expected(source, work), ran.sets, strict=True):
        outputs = runtimes.attempt(run, dataset.inputs)
        if isinstance(outputs, Exception):
            failures.append(text.message(f"{trial.name}: does not run: {outputs}"))
            continue
        for port, actual in zip(model.graph.output, outputs, strict=True):
            if port.name in ran.nondeterministic:
                continue
            expected_value = dataset.outputs.get(port.name)
            figures = agreement.compare(port.name, expected_value, actual, profile)
            outputs_compared.append((trial, figures))
            if trial.name not in real:
                continue
            failures += broken(expected_value, actual, figures, trial.name)
            cosine = _cosine(expected_value, actual, figures)
            if cosine is not None:
                cosines.setdefault(port.name, []).append(cosine)
    return Parity(
        [
            {**figures.to_json(), "dataset": trial.name, "origin": trial.origin}
            for trial, figures in outputs_compared[:_MAX_ROWS]
        ],
        [*failures, *_lost(cosines)][:5],
        {
            **worst([figures for trial, figures in outputs_compared if trial.name in real]),
            "profile": profile.name,
            "datasets": len(real),
            # Generated inputs cover what no data covers; they are reported separately.
            "made": worst(
                [figures for trial, figures in outputs_compared if trial.name not in real]
            ),
            "unsteady": ran.nondeterministic,
            "not_run": ran.reasons,
        },
    )


def like_real(sets: list[SetRun]) -> set[str]:
    """Names of the data sets that decide: the version's own, or plain generated ones."""
    own = {dataset.name for dataset in sets if dataset.origin != "generated"}
    return own or {dataset.name for dataset in sets if dataset.name != _EXTREME}


def broken(expected: Value, actual: Value, figures: Figures, where: str) -> list[str]:
    """Why an output is useless beside the original's: its type, rank, or values not finite."""
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        same = type(expected) is type(actual)
        return [] if same else [f"{where}: {figures.reason}"]
    if expected.dtype != actual.dtype or expected.ndim != actual.ndim:
        return [f"{where}: {figures.reason}"]
    if expected.shape == actual.shape and expected.dtype.kind == "f":
        wild = np.isfinite(expected) & ~np.isfinite(actual)
        if wild.any():
            count = int(wild.sum())
            return [f"{where}: {figures.name} is NaN or infinite at {count} of {wild.size} places"]
    return []


def _cosine(expected: Value, actual: Value, figures: Figures) -> float | None:
    if figures.cosine is not None or figures.max_abs in {None, 0.0}:
        return figures.cosine
    # If only one side is all zeros, there is no direction to compare.
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        sides = [side for side in (expected, actual) if side.dtype.kind == "f"]
        if len(sides) == 2 and expected.shape == actual.shape and expected.any():
            return 0.0
    return None


def _lost(cosines: dict[str, list[float]]) -> list[str]:
    return [
        f"{name}: its cosine with the original's values is {middle:.2f} on half of the data sets, "
        f"below {FLOOR_COSINE}"
        for name, values in cosines.items()
        if (middle := statistics.median(values)) < FLOOR_COSINE
    ]


def worst(outputs: list[Figures]) -> dict[str, Any]:
    """The worst figures of several outputs."""

    def finite(values: Iterable[float | None]) -> list[float]:
        return [value for value in values if value is not None and math.isfinite(value)]

    is_infinite = any(output.max_abs == math.inf for output in outputs)
    return {
        "agrees": all(output.agrees for output in outputs),
        "max_abs": "inf"
        if is_infinite
        else max(finite(output.max_abs for output in outputs), default=None),
        "cosine": min(finite(output.cosine for output in outputs), default=None),
        "top1": min(finite(output.top1 for output in outputs), default=None),
        "outside": sum(output.outside for output in outputs),
    }
