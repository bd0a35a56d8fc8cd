"""What a job made, as links: results, variants, and the pages that show what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.presenters import differences, timings
from runners.models import Comparison, ConformanceResult, Job, Measurement
from runners.proofs import selectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from registry.models import Version

# Results of one sweep that are named; the tab has them all.
NAMED = 10
# Kind of job -> the tab that shows what comes of it. The others are told where their checks are.
_TABS = {
    "conformance": "version-conformance",
    "upgrade": "version-variants",
    "convert": "version-variants",
    "annotate": "version-variants",
    "skeleton": "network",
    "benchmark": "version-benchmarks",
    "compare-speed": "version-benchmarks",
    "federated-schema": "version",
    Job.TRYOUT: "version-try",
}
# What a job of one kind makes where no row of its own tells it.
_PAGES = {
    "describe": "facts and checks",
    "check": "verdicts",
    "skeleton": "graph",
    "difference": "graph changes",
    "tensors": "tensors",
    "annotate": "file with metadata",
}


class Made(NamedTuple):
    """One thing that came of a job."""

    words: str
    url: str


def place(job: Job) -> str:
    """The page of a job's version on which what comes of it is shown; empty without a version."""
    version = job.version
    if version is None:
        return ""
    if job.kind == "difference":
        return differences.address(version, job.input)
    where = _where(version)
    if job.kind == "tensors":
        return reverse("version-view", args=[*where, job.entry])
    url = reverse(_TABS.get(job.kind, "version-checks"), args=where)
    if job.kind == Job.TRYOUT and job.input.get("variant"):
        return f"{url}?{urlencode({'variant': job.input['variant']})}"
    return url


def of(job: Job) -> list[Made]:
    """What a job that has ended made, each with its page; at most three questions to the rows."""
    if job.version is None:
        is_suite = job.kind == "suite" and job.state == Job.State.SUCCEEDED
        return [Made("scoreboard results", reverse("scoreboard"))] if is_suite else []
    rows = _ROWS.get(job.kind)
    if rows and (found := rows(job)):
        return found
    if job.state != Job.State.SUCCEEDED:
        return []
    if job.kind == Job.TRYOUT:
        url = place(job)
        joint = "&" if "?" in url else "?"
        return [Made("outputs", f"{url}{joint}run={job.uuid}#server")]
    said = _PAGES.get(job.kind)
    return [Made(said, place(job))] if said else []


def _variants(job: Job) -> list[Made]:
    made = selectors.made_by(job)
    if made is None:
        return []
    url = f"{place(job)}?{urlencode({'variant': made.name})}"
    return [Made(f"{made.name}: {made.entry.path}", url)]


def _results(job: Job) -> list[Made]:
    rows = Measurement.objects.filter(job=job).select_related("variant").order_by("ordinal")
    listed = list(rows[: NAMED + 1])
    where = _where(job.version) if job.version else []
    made = [
        Made(
            f"{timings.latency(row.p50_ms) or row.status} on {row.device_title}, batch {row.batch}",
            reverse("benchmark", args=[*where, row.pk]),
        )
        for row in listed[:NAMED]
    ]
    return [*made, Made("and more", place(job))] if len(listed) > NAMED else made


def _verdicts(job: Job) -> list[Made]:
    row = Comparison.objects.filter(job=job).first()
    return [Made(f"verdict: {row.verdict}", f"{place(job)}#before")] if row else []


def _checks(job: Job) -> list[Made]:
    rows = ConformanceResult.objects.filter(job=job).select_related("variant")
    listed = list(rows)
    if not listed:
        return []
    first = listed[0]
    said = formatting.plural(len(listed), "result")
    url = f"{place(job)}?{urlencode({'variant': first.variant.name})}"
    return [Made(f"{said} on {words.runtime(first.runtime)}", url)]


def _where(version: Version) -> list[str | int]:
    return [version.model.namespace.slug, version.model.name, version.number]


_ROWS: dict[str, Callable[[Job], list[Made]]] = {
    "upgrade": _variants,
    "convert": _variants,
    "benchmark": _results,
    "compare-speed": _verdicts,
    "conformance": _checks,
}
