"""The outputs of a job as links: results, variants, and the pages that show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting, labels
from frontend.presenters import differences, figures, version_head
from hub.protocol.ports import Port
from registry.models import Version
from runners.models import Comparison, ConformanceResult, Evaluation, Job, Measurement
from runners.proofs import selectors

# Results of one sweep that are named; the tab has them all.
NAMED = 10


class Output(NamedTuple):
    """One output of a job."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class JobPage:
    """Where what comes of a kind of job is shown: a view of its version, and the outputs there.

    ``place`` gives the address where it is not that of a view. ``rows`` gives the outputs that have
    rows of their own; a job that succeeded without such has the one output that ``words`` name.
    """

    kind: str
    view: str = "version-checks"
    words: str = ""
    rows: Callable[[Job], list[Output]] = lambda _: []
    place: Callable[[Job, Version], str] | None = None


job_pages = Port(JobPage)


def place(job: Job) -> str:
    """The page of a job's version on which what comes of it is shown; empty without a version."""
    version, page = job.version, _page(job)
    if version is None:
        return ""
    return page.place(job, version) if page.place else version_head.place(version, page.view)


def of(job: Job) -> list[Output]:
    """What a job that has ended made, each with its page; at most three questions to the rows."""
    if job.version is None:
        is_suite = job.kind == "suite" and job.state == Job.State.SUCCEEDED
        return [Output("scoreboard results", reverse("scoreboard"))] if is_suite else []
    page = _page(job)
    if outputs := page.rows(job):
        return outputs
    has_output = page.words and job.state == Job.State.SUCCEEDED
    return [Output(page.words, place(job))] if has_output else []


def _page(job: Job) -> JobPage:
    """The page of a kind of job; that of the checks for unknown ones."""
    return next((page for page in job_pages if page.kind == job.kind), JobPage(job.kind))


def _variants(job: Job) -> list[Output]:
    return [
        Output(
            f"{variant.name}: {variant.entry.path}",
            f"{place(job)}?{urlencode({'variant': variant.name})}",
        )
        for variant in selectors.made_by(job)
    ]


def _results(job: Job) -> list[Output]:
    rows = Measurement.objects.filter(job=job).select_related("variant").order_by("ordinal")
    results = list(rows[: NAMED + 1])
    if job.version is None:
        return []
    outputs = []
    for row in results[:NAMED]:
        title = f"{figures.sentence(row.p50)} on {row.device_label}, batch {row.batch}"
        outputs.append(Output(title, version_head.place(job.version, "benchmark", row.pk)))
    return [*outputs, Output("and more", place(job))] if len(results) > NAMED else outputs


def _verdicts(job: Job) -> list[Output]:
    row = Comparison.objects.filter(job=job).first()
    return [Output(f"verdict: {row.verdict}", f"{place(job)}#before")] if row else []


def _checks(job: Job) -> list[Output]:
    rows = list(ConformanceResult.objects.filter(job=job).select_related("variant"))
    if not rows:
        return []
    url = f"{place(job)}?{urlencode({'variant': rows[0].variant.name})}"
    results = formatting.plural(len(rows), "result")
    return [Output(f"{results} on {labels.runtime(rows[0].runtime)}", url)]


def _figures(job: Job) -> list[Output]:
    rows = Evaluation.objects.filter(job=job).order_by("pk")
    url = f"{place(job)}#accuracy"
    return [Output(f"{figures.title(row.metric)}: {figures.text(row.figure)}", url) for row in rows]


job_pages.register(
    "frontend",
    JobPage("describe", words="facts and checks"),
    JobPage("check", words="verdicts"),
    JobPage("conformance", "version-conformance", rows=_checks),
    JobPage("evaluation", "version", rows=_figures),
    JobPage("upgrade", "version-variants", rows=_variants),
    JobPage("convert", "version-variants", rows=_variants),
    JobPage("annotate", "version-variants", "file with metadata"),
    JobPage("skeleton", "network", "graph"),
    JobPage(
        "difference",
        words="graph changes",
        place=lambda job, version: differences.address(version, job.input),
    ),
    JobPage(
        "tensors",
        words="tensors",
        place=lambda job, version: version_head.place(version, "version-view", job.entry),
    ),
    JobPage("benchmark", "version-benchmarks", rows=_results),
    JobPage("compare-speed", "version-benchmarks", rows=_verdicts),
)
