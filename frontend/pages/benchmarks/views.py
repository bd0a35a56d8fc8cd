"""How fast models run: a version's results, one result, and what was measured across models."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.benchmarks import predicted_speeds, quality, run, run_facts, run_form, standings
from frontend.parts import addresses, labels
from frontend.presenters import (
    figures,
    latency_tables,
    measurements,
    version_head,
    version_speeds,
)
from frontend.presenters.page_parts import Result
from frontend.presenters.version_page import context, of_whole_version
from hub.protocol import benchmark_metrics, problems
from hub.protocol.figures import Status
from registry.api.parameters import accepts
from registry.core.permissions import can
from registry.models import Version
from registry.versions import selectors
from runners.benchmarks import contributions, machines, rankings, scheduling, timelines, unmeasured
from runners.benchmarks import selectors as benchmark_selectors
from runners.benchmarks.timing_jobs import KINDS
from runners.queue import selectors as jobs

FILTERS = ("device", "runtime", "precision", "batch", "scenario")
ACROSS = (
    "task",
    "key",
    "device",
    "runtime",
    "precision",
    "max_bytes",
    "max_parameters",
    "sort",
    "quality",
)
SORTS = {
    "" if metric is benchmark_metrics.P50 else word: metric.label
    for word, metric in rankings.SORTS.items()
}
PAGE = 50


@accepts("variant", *FILTERS)
@require_safe
def tab(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """The benchmarks of a version: groups that may be compared, filters, batches, versions."""
    if elsewhere := _tidied(request):
        return elsewhere
    version = selectors.whole_version(request.user, namespace, name, number)
    page = context(request, version, "benchmarks")
    listing = benchmark_selectors.listing_of(version)
    rows = listing.rows
    selection = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    filters = benchmark_selectors.Filters(
        **{key: value for key, value in selection.items() if key != "batch"},
        batch=_number("batch", selection.get("batch", "")),
        variant=request.GET.get("variant", ""),
    )
    results = [row for row in rows if filters.keeps(row)]
    variant = page["variant"]
    waiting = jobs.of_version(request.user, version, kinds=tuple(KINDS))
    return render(
        request,
        "models/benchmarks.html",
        {
            **page,
            "any": bool(rows),
            "standing": unmeasured.of(variant) if variant and not rows else None,
            "sentence": latency_tables.sentence(results),
            "table": latency_tables.table(results, left_out=listing.left_out),
            "undecided": contributions.without_results(version),
            "apart": figures.SECTIONS[Status.UNVERIFIED],
            "filters": latency_tables.filters(rows, selection),
            "selection": selection,
            "kept_variant": request.GET.get("variant", ""),
            "all_url": request.path,
            "batches": version_speeds.batches(results),
            "over": version_speeds.over_versions(request.user, version, results),
            "comparisons": [
                version_speeds.compared(row) for row in benchmark_selectors.comparisons_of(version)
            ],
            "predicted": predicted_speeds.of(version),
            "waiting": [job for job in waiting if not job.is_ended],
            "failed": [job for job in waiting if job.state == job.State.FAILED][:5],
            "released": version.is_served,
            "may_run": bool(variant)
            and version.is_served
            and can(request.user, "version.derive", version.model),
            "run_form": run_form.form(variant),
            "repeat": f"hub bench {version.ref}",
        },
    )


@require_POST
@of_whole_version
def again(request: HttpRequest, version: Version) -> HttpResponse:
    """Have a variant timed with chosen options on all that workers offer, for maintainers."""
    variant = version_head.chosen_variant(version, request.POST.get("variant", ""))
    scheduling.ask(
        request.user,
        version=version,
        variant=variant.name if variant else "",
        effort="full",
        **run_form.options(request.POST.dict()),
    )
    choice = version_head.choice_of(version, variant)
    url = version_head.place(version, "version-benchmarks")
    return HttpResponseRedirect(url + choice)


@require_safe
@of_whole_version
def result(request: HttpRequest, version: Version, pk: int) -> HttpResponse:
    """One result: every sample, its spread, its processes and its environment."""
    row = benchmark_selectors.one(version, pk)
    row.variant.version = version
    page = context(request, version, "benchmarks", row.variant)
    processes = run.processes(row)
    bars = run.histogram(row, processes)
    history = [other for other in benchmark_selectors.history_of(row) if other.pk != row.pk]
    for other in history:
        other.variant = row.variant
    return render(
        request,
        "models/benchmark.html",
        {
            **page,
            "row": row,
            "about": measurements.shared(row),
            "counts": benchmark_selectors.counts(row),
            "line": run.line(processes, request.GET),
            "bars": run.bars(bars),
            "histogram": [bar for bar in bars if bar["count"]],
            "percentiles": run_facts.percentiles(row),
            "facts": run_facts.facts(row),
            "processes": run_facts.table(processes),
            "environment": run_facts.environment(row.environment.parts),
            "operators": run_facts.operators(row),
            "gate": run_facts.environment(row.typed_record.gate),
            "command": run_facts.command(row),
            "history": history,
            "data_url": f"{page['head']['api_url']}/benchmarks/{row.pk}",
            "result_of": Result("benchmark", row.pk),
        },
    )


@accepts("cursor", *ACROSS)
@require_safe
def across(request: HttpRequest) -> HttpResponse:
    """One task on one device, ranked inside one comparability key."""
    if elsewhere := _tidied(request):
        return elsewhere
    parameters = {name: request.GET.get(name, "") for name in ACROSS}
    selection = rankings.Selection(
        task=parameters["task"],
        key=parameters["key"],
        device=parameters["device"],
        runtime=parameters["runtime"],
        precision=parameters["precision"],
        max_bytes=_number("max_bytes", parameters["max_bytes"]),
        max_parameters=_number("max_parameters", parameters["max_parameters"]),
        sort=parameters["sort"] or "p50",
    )
    # A page has one key: chosen before its rows are cut, and the same on every page of them.
    keys = rankings.keys(request.user, replace(selection, key=""))
    ranking_key = selection.key or next((key.key for key in keys), "")
    ranking = rankings.across(
        request.user,
        replace(selection, key=ranking_key),
        limit=PAGE,
        cursor=request.GET.get("cursor", "")[:500],
    )
    key = next(iter(ranking.keys), None)
    items = ranking.items
    noisy = rankings.noisy(request.user, selection, limit=PAGE)
    apart = {
        Status.NOISY: noisy,
        Status.UNVERIFIED: rankings.unverified(request.user, selection, limit=PAGE),
    }
    # Where nothing is ranked, the trade-offs are of the first key with noisy results.
    trade_key = ranking_key or next((item.row.comparability_key for item in noisy), "")
    points = (*items, *(item for item in noisy if item.row.comparability_key == trade_key))
    every = replace(ranking, keys=keys if key is None or key in keys else (*keys, key))
    query = {name: value for name, value in parameters.items() if value}
    key_links = standings.keys(every, key, query)
    paged = {**query, "key": ranking_key}
    return render(
        request,
        "benchmarks/across.html",
        {
            "section": "benchmarks",
            "asked": parameters,
            "kept": query,
            "keys": key_links,
            "key": key,
            "about": next((link["words"] for link in key_links if link["on"]), "")
            or (standings.about(points[0]) if points else ""),
            "listing": standings.rows(items, by_latency=selection.sort == "p50"),
            "accuracies": standings.accuracies(items),
            "has_energy": any(item.row.figure(benchmark_metrics.ENERGY).is_known for item in items),
            "chart": standings.chart(points),
            "quality": quality.of(points, parameters["quality"], query),
            "sections": [
                (figures.SECTIONS[status], rows) for status, rows in apart.items() if rows
            ],
            "sorts": [
                (value, words, value == parameters["sort"]) for value, words in SORTS.items()
            ],
            "tasks": standings.tasks(request.user, parameters["task"]),
            "devices": machines.devices(request.user),
            "runtimes": machines.runtimes(request.user),
            "next": f"?{urlencode({**paged, 'cursor': ranking.next})}" if ranking.next else "",
            "first": f"?{urlencode(paged)}" if request.GET.get("cursor") else "",
            "capped": rankings.CANDIDATES if ranking.capped else 0,
        },
    )


def device(request: HttpRequest, name: str) -> HttpResponse:
    """Everything that was measured on one class of machines."""
    row = machines.device(request.user, name)
    listing = timelines.of_newest(request.user, device=name)
    return render(
        request,
        "benchmarks/device.html",
        {
            "section": "benchmarks",
            "title": row.title,
            "kind": "Device class",
            "models": row.models,
            "results": row.measurements,
            "table": latency_tables.table(listing.rows, left_out=listing.left_out),
            "apart": figures.SECTIONS[Status.UNVERIFIED],
            "across_url": f"{reverse('benchmarks')}?{urlencode({'device': name})}",
        },
    )


@accepts()
@require_safe
def runtime(request: HttpRequest, name: str) -> HttpResponse:
    """Everything that was measured with one runtime."""
    versions = [version for version in machines.runtimes(request.user) if version.name == name]
    if not versions:
        raise problems.NotFound(f"No results with {name[:32]}.")
    listing = timelines.of_newest(request.user, runtime=name)
    return render(
        request,
        "benchmarks/device.html",
        {
            "section": "benchmarks",
            "title": labels.runtime(name),
            "kind": "Runtime",
            "versions": versions,
            "results": sum(version.measurements for version in versions),
            "table": latency_tables.table(listing.rows, left_out=listing.left_out),
            "apart": figures.SECTIONS[Status.UNVERIFIED],
            "across_url": f"{reverse('benchmarks')}?{urlencode({'runtime': name})}",
            "scoreboard": True,
        },
    )


def _tidied(request: HttpRequest) -> HttpResponseRedirect | None:
    """The same address without what is empty, so that equal views have one address."""
    if all(request.GET.values()):
        return None
    return HttpResponseRedirect(addresses.join(request.path, request.GET.dict()))


def _number(name: str, text: str) -> int | None:
    """A whole number of an address, None where there is none; raises InvalidRequest."""
    number = addresses.whole(text, 15)
    if text and number is None:
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be a whole number.")
    return number
