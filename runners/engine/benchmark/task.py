"""Task "benchmark": one configuration of one model, its record and its samples as files."""

from __future__ import annotations

import json
from collections.abc import Callable

from runners.engine.benchmark import power, procedure, summary
from runners.engine.benchmark import record as form
from runners.engine.benchmark.options import Options, UnusableOptionError
from runners.engine.benchmark.record import Document
from runners.engine.benchmark.subjects import Subject
from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import datasets
from runners.engine.reports import Finding, Outcome, Report

RECORD, SAMPLES = "record.json", "samples.csv"
_OUTCOMES: dict[str, Outcome] = {form.FAILED: "failed", form.REJECTED: "errored"}


def run(job: Job) -> Report:
    """Measure the model; `facts` are the record without its samples."""
    options = options_of(job)
    external = job.scan()
    beside = datasets.paths(job.request.files, job.request.entry)
    job.lay_out([job.request.entry, *external, *beside])
    job.tell(5, "prepare")
    subject = Subject(job, options, job.model, job.request.entry, external)
    record = procedure.measure(subject, progress_of(job, "measure"))
    if record["status"] in {form.ACCEPTED, form.NOISY}:
        record["sweeps"] = procedure.sweep(subject, progress_of(job, "sweep"))
        record = summary.complete(form.measured(record))
    write(job, RECORD, json.dumps(record, ensure_ascii=True))
    write(job, SAMPLES, as_csv(record))
    return job.report(
        _OUTCOMES.get(record["status"], "passed"),
        findings(record),
        form.without_samples(record),
        outputs=[RECORD, SAMPLES],
    )


def options_of(job: Job) -> Options:
    """The request's options; raises JobError."""
    try:
        options = Options.from_json(job.request.options)
        power.grid(options.grid_region)
    except (UnusableOptionError, power.UnknownRegionError) as error:
        raise JobError("unusable-option", str(error)) from None
    return options


def write(job: Job, name: str, content: str) -> None:
    """Write an output; a child that left something under its name is not followed."""
    try:
        with (job.out / name).open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise JobError("engine-error", f"A child process left a file named {name}.") from None


def as_csv(record: Document) -> str:
    """Every sample in its order: process, place, nanoseconds, and whether its process counts."""
    lines = ["process,place,latency_ns,counts"]
    for process in record["processes"]:
        counts = "no" if process["rejected"] else "yes"
        every = process["kept_every"]
        lines += [
            f"{process['ordinal']},{place * every + 1},{sample},{counts}"
            for place, sample in enumerate(process["samples_ns"])
        ]
    return "\n".join(lines) + "\n"


def findings(record: Document) -> tuple[Finding, ...]:
    """What is worth telling of a record besides its figures."""
    status, provider = record["status"], record["provider"]
    result = []
    if record["failure"]:
        message = str(record["failure"]["message"])
        result.append(failure(str(record["failure"]["code"]), message))
    elif status == form.FAILED:
        first = next(
            (process["failure"] for process in record["processes"] if process["failure"]), None
        )
        cause = first["message"] if first else "no samples"
        words = f"Every process ended early: {cause}."
        result.append(Finding("benchmark-failed", "error", words))
    elif status == form.REJECTED:
        words = "The host did not become idle in the allowed time, so nothing was measured."
        result.append(Finding("host-busy", "error", words))
    elif status == form.NOISY:
        words = f"Too noisy to be ranked: {', '.join(record['reasons'])}."
        result.append(Finding("benchmark-noisy", "warning", words))
    if provider["partial"]:
        kinds = sorted(
            {operator for names in provider["operators_elsewhere"].values() for operator in names}
        )
        words = (
            f"{provider['claimed']} does not run every node; other providers run "
            f"{', '.join(kinds)}."
        )
        result.append(Finding("ep-partial", "info", words[:1000]))
    return tuple(result)


def failure(code: str, words: str) -> Finding:
    """The finding of a configuration that cannot be measured, by the code of a TroubleError."""
    has_own = code in {"benchmark-no-inputs", "ep-not-used", "interfaces-differ"}
    return Finding(code if has_own else "benchmark-failed", "error", words)


def progress_of(job: Job, phase: str) -> Callable[[int], None]:
    """Tell how far one phase of a job is, in percent."""
    return lambda progress: job.tell(min(progress, 99), phase)
