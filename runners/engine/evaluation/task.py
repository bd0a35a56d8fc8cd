"""The flow of an evaluation: scan the model, read the rows, run it over them, compute figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from hub.protocol import inputs as declarations
from hub.protocol import splits
from hub.protocol.facts import is_cache
from hub.protocol.inputs import Audio
from hub.protocol.splits import Split
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine.confine.children import Ending, EndingKind
from runners.engine.evaluation import answers, matching, predicting, readers, scoring
from runners.engine.evaluation.answers import Port, Ports, Predicted, Rows
from runners.engine.evaluation.matching import Plan
from runners.engine.evaluation.rules import METHOD, RESAMPLES
from runners.engine.jobs import Job, JobError, RefusedError
from runners.engine.reports import Finding, Report
from runners.engine.runs.answers import read

# The share of a job's remaining time that running the model may take.
_SHARE = 0.8


def run(job: Job) -> Report:
    """Evaluate the model on one split; the report has a measure for each metric, or says why not.

    Options: ``split`` (as `hub.protocol.splits` writes it, its files under `DATA_FOLDER`), and
    the keys `inputs` and `outputs` of the card.
    """
    options = job.request.options
    (split,) = splits.read_stored([options.get("split")])
    paths = [f"{splits.DATA_FOLDER}/{path}" for path in split.files]
    if any(path not in job.request.files for path in paths):
        raise JobError("engine-error", "An evaluation needs the files of its split.")
    folder = job.lay_out([job.request.entry, *job.scan(), *paths]) / splits.DATA_FOLDER
    job.tell(20, "read")
    ports = read(Ports, _answer(job, "inputs", partial(predicting.ports, job.model))).inputs
    try:
        names = [split_input.name for split_input in split.inputs]
        declared = declarations.parse(options.get("inputs"))
        card_inputs = [row.name for row in declared if row.carry or row.constant is not None]
        if split.task == splits.LANGUAGE:
            card_inputs += [port.name for port in ports if is_cache(port.name, port.shape)]
        places = matching.ports_of(names, ports, card_inputs)
        texts = [ports[place].dtype == "text" for place in places]
        rows = _read(job, split, folder, texts)
        plan = _plan(split, places, ports, rows, {row.name: row.audio for row in declared})
    except matching.UnfitSplitError as error:
        raise RefusedError((Finding("split-unfit", "error", str(error)),)) from None
    job.tell(40, "run")
    run_ = _predict(job, split, plan, rows, folder / split.files[0])
    job.tell(80, "score")
    score = partial(scoring.figures, job.work, split, rows.classes, job.request.subject)
    figures = answers.figures(_answer(job, "score", score, writes=False))
    return _report(job, split, rows, run_, figures)


def _read(job: Job, split: Split, folder: Path, texts: list[bool]) -> Rows:
    task = partial(readers.read, split.document(), folder, job.work, texts)
    return read(Rows, _answer(job, "read", task))


def _plan(
    split: Split,
    places: list[int],
    ports: tuple[Port, ...],
    rows: Rows,
    sounds: Mapping[str, Audio | None],
) -> Plan:
    if split.reader == "images":
        return matching.plan_for_pictures(places[0], ports)
    columns = []
    for place, column in zip(places, rows.columns, strict=True):
        # Of a sound that is cut into windows, a model gets one at once.
        sound = sounds.get(ports[place].name) if split.task in splits.SEQUENCES else None
        size = sound.window_of(ports[place].shape) if sound else None
        columns.append(replace(column, shape=(size,)) if size else column)
    return matching.plan(places, ports, columns)


def _predict(job: Job, split: Split, plan: Plan, rows: Rows, file: Path) -> Predicted:
    limits = job.limits()
    whole = min(limits.wall_seconds, limits.cpu_seconds, job.seconds_left())
    inputs, outputs = (job.request.options.get(key) for key in ("inputs", "outputs"))
    limit = _SHARE * whole
    source = predicting.Source(split, file, inputs, outputs, rows.rows, rows.classes, limit)
    run_all = partial(predicting.run, job.model, job.work, plan, source)
    ending = job.stage("run", run_all)
    if ending.kind == EndingKind.TIMED_OUT:
        done = read(int, _answer(job, "count", partial(predicting.done, job.work)))
        words = predicting.over_budget(done, rows.rows, whole)
        raise RefusedError((Finding("over-budget", "error", words),))
    if ending.kind != EndingKind.ANSWERED:
        raise _refusal(job, ending, Finding("run-failed", "error", "The model did not run"))
    return read(Predicted, ending.answer)


def _answer(job: Job, name: str, task: Callable[[], Any], *, writes: bool = True) -> Any:
    """Run a stage and give its answer; raises RefusedError with the reason where it has none."""
    ending = job.stage(name, task, writes=writes)
    if ending.kind != EndingKind.ANSWERED:
        failure = Finding("evaluation-failed", "error", f"The stage {name!r} failed")
        raise _refusal(job, ending, failure)
    return ending.answer


def _refusal(job: Job, ending: Ending, failure: Finding) -> RefusedError:
    """What refuses an evaluation: the reason that a child gave, or ``failure`` with the cause."""
    name = ending.answer[0] if ending.kind == EndingKind.RAISED else ""
    words = job.cause(ending).removeprefix(f"{name}: ")
    match name:
        case "UnreadableDataError" | "UnfitPictureError":
            finding = Finding("data-unfit", "error", words)
        case "UnfitPicturesError" | "UnfitOutputError":
            finding = Finding("split-unfit", "error", words)
        case "OverBudgetError":
            finding = Finding("over-budget", "error", words)
        case _:
            return RefusedError((replace(failure, message=f"{failure.message}: {words}"),))
    return RefusedError((finding,))


def _report(
    job: Job, split: Split, rows: Rows, run_: Predicted, figures: answers.Figures
) -> Report:
    findings = [Finding("scores-scaled", "warning", note) for note in figures.notes]
    if figures.is_constant:
        words = "The model gives the same answer for every row."
        findings.append(Finding("constant-output", "warning", words))
    facts = {
        "method": METHOD,
        "runtime": ONNXRUNTIME,
        "runtime_version": job.versions.get(ONNXRUNTIME, ""),
        "split": split.name,
        "rows": rows.rows,
        "batch": run_.batch,
        "output": run_.output,
        "label_output": run_.label_output,
        "run_seconds": run_.seconds,
        "resamples": RESAMPLES,
        "seed": figures.seed,
        "predictions_sha256": figures.predictions_sha256,
        "right_rows": figures.right_rows,
        "skipped": figures.skipped,
    }
    measures = [asdict(figure) for figure in figures.figures]
    return job.report("passed", tuple(findings), facts, measures=measures)
