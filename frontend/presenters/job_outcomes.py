"""The outputs of a job as links: results, variants, and the pages that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting, labels
from frontend.presenters import differences, evaluations, figures, version_head
from runners.models import Comparison, ConformanceResult, Evaluation, Job, Measurement
from runners.proofs import selectors

if TYPE_CHECKING:
    from collections.abc import Callable

# Results of one sweep that are named; the tab has them all.
NAMED = 10
# Kind of job -> the tab with its outputs. The others lead to the checks.
_TABS = {
    "conformance": "version-conformance",
    "evaluation": "version",
    "upgrade": "version-variants",
    "convert": "version-variants",
    "annotate": "version-variants",
    "skeleton": "network",
    "benchmark": "version-benchmarks",
    "compare-speed": "version-benchmarks",
    "federated-schema": "version",
    Job.TRYOUT: "version-try",
}
# The output of a job of one kind that has no row of its own.
_PAGES = {
    "describe": "facts and checks",
    "check": "verdicts",
    "skeleton": "graph",
    "difference": "graph changes",
    "tensors": "tensors",
    "annotate": "file with metadata",
}


class Output(NamedTuple):
    """One output of a job."""

    words: str
    url: str


def place(job: Job) -> str:
    """The page of a job's version on which what comes of it is shown; empty without a version."""
    version = job.version
    if version is None:
        return ""
    if job.kind == "difference":
        return differences.address(version, job.input)
    if job.kind == "tensors":
        return version_head.place(version, "version-view", job.entry)
    url = version_head.place(version, _TABS.get(job.kind, "version-checks"))
    if job.kind == Job.TRYOUT and job.input.get("variant"):
        return f"{url}?{urlencode({'variant': job.input['variant']})}"
    return url


def of(job: Job) -> list[Output]:
    """What a job that has ended made, each with its page; at most three questions to the rows."""
    if job.version is None:
        is_suite = job.kind == "suite" and job.state == Job.State.SUCCEEDED
        return [Output("scoreboard results", reverse("scoreboard"))] if is_suite else []
    rows = _ROWS.get(job.kind)
    if rows and (outputs := rows(job)):
        return outputs
    if job.state != Job.State.SUCCEEDED:
        return []
    if job.kind == Job.TRYOUT:
        url = place(job)
        joint = "&" if "?" in url else "?"
        return [Output("outputs", f"{url}{joint}run={job.uuid}#server")]
    words = _PAGES.get(job.kind)
    return [Output(words, place(job))] if words else []


def _variants(job: Job) -> list[Output]:
    variant = selectors.made_by(job)
    if variant is None:
        return []
    url = f"{place(job)}?{urlencode({'variant': variant.name})}"
    return [Output(f"{variant.name}: {variant.entry.path}", url)]


def _results(job: Job) -> list[Output]:
    rows = Measurement.objects.filter(job=job).select_related("variant").order_by("ordinal")
    results = list(rows[: NAMED + 1])
    if job.version is None:
        return []
    outputs = []
    for row in results[:NAMED]:
        title = f"{figures.sentence(row.p50)} on {row.device_title}, batch {row.batch}"
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
    return [
        Output(f"{evaluations.title(row.metric)}: {figures.text(row.figure)}", url) for row in rows
    ]


_ROWS: dict[str, Callable[[Job], list[Output]]] = {
    "upgrade": _variants,
    "convert": _variants,
    "benchmark": _results,
    "compare-speed": _verdicts,
    "conformance": _checks,
    "evaluation": _figures,
}
