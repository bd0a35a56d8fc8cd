"""The stages of a conversion, each in a child, and its report.

The parent reads only the children's answers, never a file of the model.
"""

from __future__ import annotations

import functools
import stat
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from hub.protocol.variants import Option
from runners.engine.checks import written_models
from runners.engine.confine.children import Ending, EndingKind
from runners.engine.convert import half, makers, parity, prepare
from runners.engine.convert.answers import (
    Baseline,
    HalfRun,
    Judgement,
    Parity,
    Preparation,
    Ranges,
    Variant,
)
from runners.engine.convert.recipes import RECIPES, Recipe, Settings
from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import datasets, staging, text
from runners.engine.reports import Finding, Report
from runners.engine.runs import answers

_MEMORY_COPIES = 6
# A variant is made again with more nodes in float32 at most so often.
_MOST_ROUNDS = 4
# Nodes that a report lists.
_MOST_NODES = 500
_ROOM_BYTES = 1 << 30
# Libraries do not raise these because of a model.
_OUR_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "NameError"})
_FAILED = Finding("conversion-failed", "error", "")
_UNUSABLE = Finding("variant-unusable", "error", "")
_NOT_RUNNING = Finding("original-not-running", "error", "")
_BAD_SAMPLE = Finding("calibration-unusable", "error", "")
# Exceptions of this package about the model, and the findings for them.
_OWN_ERRORS = {
    "NothingToConvertError": Finding("nothing-to-convert", "error", ""),
    "BlockedError": _FAILED,
    "NotRunningError": _NOT_RUNNING,
    "UnusableSampleError": _BAD_SAMPLE,
    "UnreadableDataError": _BAD_SAMPLE,
    "UnknownNodeError": Finding("node-unknown", "error", ""),
}


_T = TypeVar("_T")


class _EndError(Exception):
    """Ends the conversion with a report."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def run(job: Job) -> Report:
    """Make a variant by a recipe and measure it against the original."""
    recipe = RECIPES.get(str(job.request.options.get("recipe", "")))
    if recipe is None:
        raise JobError("engine-error", "The job requests an unknown recipe.")
    job.tell(5, "scan")
    external = job.scan()
    facts: dict[str, Any] = {"recipe": recipe.kind.name, "calibration": None}
    try:
        return _Conversion(job, recipe, external, facts).run()
    except _EndError as end:
        return job.report("failed", (end.finding,), facts)


class _Conversion:
    def __init__(
        self, job: Job, recipe: Recipe, external: list[str], facts: dict[str, Any]
    ) -> None:
        self._job, self._recipe, self._facts = job, recipe, facts
        request = job.request
        self._entry = request.entry
        self._sample = str(request.options.get("calibration") or "")
        if self._sample and self._sample not in request.files:
            raise JobError("input-missing", "The calibration sample is not among the files.")
        data = datasets.paths(request.files, request.entry)
        if recipe.calibrates and not self._sample and not data:
            raise _EndError(_NO_DATA)
        own = [self._sample] if self._sample and recipe.calibrates else []
        job.lay_out([request.entry, *external, *data, *own])
        sizes = staging.sizes({path: request.files[path] for path in (request.entry, *external)})
        self._size = sum(sizes.values())
        names = request.options.get(Option.KEEP_FLOAT32, ())
        self._requested = [name for name in names if isinstance(name, str)]
        # Names of nodes that stay in float32, with the reason.
        self._in_float32: dict[str, str] = dict.fromkeys(self._requested, "requested")
        self._ranges = Ranges(0, 0)
        self._half_reason = ""
        facts["tool"] = {"name": recipe.tool, "version": job.versions.get("onnxruntime", "")}

    def run(self) -> Report:
        ran = self._baseline()
        self._prepare()
        if not self._recipe.quantises:
            self._measure_ranges()
        last: _EndError | None = None
        for place, settings in enumerate(self._recipe.attempts):
            self._job.tell(40 + 15 * place, f"convert: {settings.name}")
            try:
                return self._attempt(settings, ran)
            except _EndError as end:
                # The message of the first, simplest attempt is reported; later ones are
                # workarounds.
                last = last or end
                for path in self._outputs():
                    path.unlink()
        raise last or JobError("engine-error", "A recipe has no attempts.")

    def _baseline(self) -> Baseline:
        self._job.tell(15, "original")
        sample = self._job.input / self._sample if self._sample else None
        task = functools.partial(
            parity.baseline,
            self._job.model,
            self._job.work,
            sample if self._recipe.calibrates else None,
            calibrates=self._recipe.calibrates,
        )
        ending = self._stage("original", functools.partial(task, generated=True))
        if ending.kind not in {EndingKind.ANSWERED, EndingKind.RAISED}:
            # Generated inputs may be the cause of the crash, so try with the version's own data
            # only.
            again = self._stage("original", functools.partial(task, generated=False))
            ending = again if again.kind == EndingKind.ANSWERED else ending
        ran = self._answer(ending, "the original's run", _NOT_RUNNING, Baseline)
        self._facts["calibration"] = ran.calibration
        return ran

    def _prepare(self) -> None:
        job = self._job
        job.tell(30, "prepare")
        task = functools.partial(prepare.prepare, job.model, job.work, self._recipe)
        ending = self._stage("prepare", task)
        facts = asdict(self._answer(ending, "the preparation", _FAILED, Preparation))
        self._facts |= {"prepared": facts.pop("steps"), "opset": facts}

    def _measure_ranges(self) -> None:
        """Keep nodes in float32 whose values half precision cannot hold."""
        job, prepared = self._job, self._job.work / prepare.FILE
        job.tell(35, "ranges")
        if self._requested:
            check = functools.partial(half.check_names, prepared, self._requested)
            ending = self._stage("names", check)
            if ending.kind != EndingKind.ANSWERED:
                self._answer(ending, "the list of nodes", _FAILED, int)
        ending = self._stage(
            "ranges", functools.partial(half.ranges, prepared, job.model, job.work)
        )
        if ending.kind == EndingKind.ANSWERED:
            self._ranges = answers.read(Ranges, ending.answer)
            self._facts["ranges"] = asdict(self._ranges)
        else:
            # Without ranges, what the reference computes in half precision still decides.
            self._facts["ranges"] = {"reason": job.cause(ending)}
        for node in self._ranges.nodes:
            self._in_float32.setdefault(node.node, f"{node.value} reaches {node.largest:.4g}")

    def _attempt(self, settings: Settings, ran: Baseline) -> Report:
        judgement, half_run = self._make(settings, ran)
        job, recipe = self._job, self._recipe
        comparing = functools.partial(
            parity.compare, job.model, self._target, job.work, recipe, ran
        )
        ending = self._stage("compare", comparing)
        comparison = self._answer(ending, "the variant's run", _UNUSABLE, Parity)
        broken = [*comparison.broken, *(half_run.broken if half_run else ())]
        if broken:
            words = f"{_LOST} {'; '.join(broken)}."
            raise _EndError(replace(_UNUSABLE, message=words))
        self._facts |= {
            "described": judgement.scan.facts,
            "checker": judgement.checker,
            "cpu": judgement.cpu,
            "parity": {**comparison.parity, "held_out": ran.held_out},
        }
        if not recipe.quantises:
            self._facts["parity"]["half"] = self._half_facts(half_run)
        return self._report(list(map(dict, comparison.measures)))

    def _make(self, settings: Settings, ran: Baseline) -> tuple[Judgement, HalfRun | None]:
        """Make the variant, and again while the reference finds nodes that overflow in half."""
        for _ in range(_MOST_ROUNDS):
            judgement = self._make_once(settings)
            half_run = None if self._recipe.quantises else self._run_in_half(ran)
            if half_run is None:
                break
            names = [name for name in half_run.overflowing if name not in self._in_float32]
            if not names:
                break
            self._in_float32.update(dict.fromkeys(names, "overflows in half precision"))
        return judgement, half_run

    def _make_once(self, settings: Settings) -> Judgement:
        job, recipe = self._job, self._recipe
        if not recipe.quantises:
            self._facts["in_float32"] = [
                {"node": node, "reason": reason}
                for node, reason in list(self._in_float32.items())[:_MOST_NODES]
            ]
        task = functools.partial(
            makers.make,
            recipe,
            settings,
            job.model,
            job.work,
            self._target,
            tuple(self._in_float32),
        )
        variant = self._answer(self._stage("convert", task), recipe.tool, _FAILED, Variant)
        judge = functools.partial(written_models.judge, self._target)
        ending = self._stage("judge", judge)
        judgement = self._answer(ending, "the variant's load", _UNUSABLE, Judgement)
        refused = [finding for finding in judgement.scan.findings if finding.severity == "error"]
        if refused:
            raise _EndError(replace(_UNUSABLE, message=f"{_LOST} {refused[0].message}"))
        self._facts["settings"] = {**asdict(settings), **asdict(variant)}
        return judgement

    def _run_in_half(self, ran: Baseline) -> HalfRun | None:
        """Run the variant by the reference; None if it has no result, which the facts explain."""
        job = self._job
        task = functools.partial(
            half.run, job.model, self._target, job.work, ran, self._ranges.infinite
        )
        ending = self._stage("half", task)
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(HalfRun, ending.answer)
        self._half_reason = job.cause(ending)
        return None

    def _half_facts(self, half_run: HalfRun | None) -> dict[str, Any]:
        """What the reference computed in half precision, or why it computed nothing."""
        if half_run is None:
            return {"sets": 0, "reason": self._half_reason}
        return {"sets": half_run.sets, "of": half_run.of, **half_run.worst}

    def _report(self, measures: list[dict[str, Any]]) -> Report:
        outputs = self._outputs()
        after = sum(path.lstat().st_size for path in outputs)
        before = self._size
        ratio = round(after / before, 4) if before else None
        self._facts["sizes"] = {"before": before, "after": after, "ratio": ratio}
        larger = Finding(
            "variant-larger",
            "warning",
            f"The variant has {after:,} bytes, the original {before:,}: the model has few weights, "
            "or stores them more compactly than the tools do. The variant may still be faster.",
        )
        findings = (larger,) if after >= before else ()
        names = [path.name for path in outputs]
        return self._job.report("passed", findings, self._facts, measures, names)

    @property
    def _target(self) -> Path:
        return self._job.out / f"{PurePosixPath(self._entry).stem}.{self._recipe.kind.name}.onnx"

    def _outputs(self) -> list[Path]:
        beside = self._target.with_name(f"{self._target.name}.data")
        return [path for path in (self._target, beside) if _is_regular(path)]

    def _stage(self, name: str, task: Callable[[], Any]) -> Ending:
        usual = self._job.limits()
        return self._job.stage(
            name,
            task,
            memory_bytes=usual.memory_bytes + _MEMORY_COPIES * self._size,
            file_bytes=usual.file_bytes or 2 * self._size + _ROOM_BYTES,
        )

    def _answer(self, ending: Ending, who: str, blame: Finding, kind: type[_T]) -> _T:
        """Read a child's answer, or end with the finding for how the child ended."""
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(kind, ending.answer)
        who = who[0].upper() + who[1:] if who.startswith("the ") else who
        if ending.kind == EndingKind.RAISED:
            name, words = ending.answer
            raise self._complaint(name, words, who, blame)
        cure = _UPGRADE if blame is _NOT_RUNNING else _CURE
        raise _EndError(replace(blame, message=f"{who} {self._job.cause(ending)}. {cure}"))

    def _complaint(self, name: str, words: str, who: str, blame: Finding) -> Exception:
        if name in _OUR_ERRORS:
            return JobError("engine-error", text.message(f"The engine failed. {name}: {words}"))
        folders = (str(self._job.work), str(self._job.out), str(self._job.input))
        message = text.message(words, *folders) or name
        own = _OWN_ERRORS.get(name)
        if own is None:
            return _EndError(replace(blame, message=f"{who} failed: {message}"))
        if own is _NOT_RUNNING:
            message = f"{message.rstrip('.')}. {_UPGRADE}"
        return _EndError(replace(own, message=message))


_UPGRADE = (
    "A variant is measured against the original, so that has to run: if its operator set is too "
    "old or too new for the runtime, convert its upgraded variant; else see its check."
)
_LOST = "The variant was created but cannot be used:"
_CURE = "Convert a simpler form of the model, or report the problem to the authors of the tool."
_NO_DATA = Finding(
    "calibration-missing",
    "error",
    "Static quantisation needs calibration data similar to real data, and the version has none. "
    "Add test_data_set_0/input_0.pb and so on beside the model, or send a sample: an .npz "
    "file with one array for each input, samples first.",
)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False
