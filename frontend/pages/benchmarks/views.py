"""How fast models run: a version's results, one result, and what was measured across models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.benchmarks import quality, run, run_facts
from frontend.parts import labels
from frontend.presenters import speeds, timings, version_head
from frontend.presenters.version_page import context
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import can
from registry.versions import selectors
from runners.benchmarks import rankings, scheduling, timelines
from runners.benchmarks import selectors as benchmark_selectors
from runners.queue import selectors as jobs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, HttpResponse

FILTERS = ("device", "runtime", "precision", "batch", "scenario")
ACROSS = ("task", "key", "device", "runtime", "precision", "max_bytes", "max_parameters", "sort",
          "quality")  # fmt: skip
SORTS = {"": "Latency, p50", "throughput": "Throughput", "energy": "Energy"}
LISTED = 50


@accepts("variant", *FILTERS)
@require_safe
def tab(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """The benchmarks of a version: groups that may be compared, filters, batches, versions."""
    if elsewhere := _tidied(request):
        return elsewhere
    version = selectors.whole_version(request.user, namespace, name, number)
    shown = context(request, version, "benchmarks")
    listing = benchmark_selectors.listing_of(version)
    rows = listing.rows
    chosen = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    wanted = benchmark_selectors.Filters(
        **{key: value for key, value in chosen.items() if key != "batch"},
        batch=_number("batch", chosen.get("batch", "")),
        variant=request.GET.get("variant", ""),
    )
    found = [row for row in rows if wanted.keeps(row)]
    variant = shown["variant"]
    waiting = jobs.of_version(request.user, version, kinds=tuple(scheduling.KINDS))
    return render(
        request,
        "models/benchmarks.html",
        {
            **shown,
            "any": bool(rows),
            "sentence": timings.sentence(found),
            "table": timings.table(found, left_out=listing.left_out),
            "choices": timings.choices(rows, chosen),
            "chosen": chosen,
            "kept_variant": request.GET.get("variant", ""),
            "all_url": request.path,
            "batches": speeds.batches(found),
            "over": speeds.over_versions(request.user, version, found),
            "comparisons": speeds.comparisons(benchmark_selectors.comparisons_of(version)),
            "waiting": [job for job in waiting if not job.is_ended],
            "failed": [job for job in waiting if job.state == job.State.FAILED][:5],
            "released": version.is_served,
            "may_run": bool(variant)
            and version.is_served
            and can(request.user, "version.derive", version.model),
            "repeat": f"hub bench {version.ref}",
        },
    )


@require_POST
def again(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Have a variant timed once more on everything that workers offer, for maintainers."""
    version = selectors.whole_version(request.user, namespace, name, number)
    variant = version_head.chosen_variant(version, request.POST.get("variant", ""))
    scheduling.ask(
        request.user, version=version, variant=variant.name if variant else "", effort="full"
    )
    chosen = version_head.choice_of(version, variant)
    url = reverse("version-benchmarks", args=[namespace, name, number])
    return HttpResponseRedirect(url + chosen)


@require_safe
def one(request: HttpRequest, namespace: str, name: str, number: int, pk: int) -> HttpResponse:
    """One result: every sample, its spread, its processes and its environment."""
    version = selectors.whole_version(request.user, namespace, name, number)
    row = benchmark_selectors.one(version, pk)
    row.variant.version = version
    shown = context(request, version, "benchmarks", row.variant)
    found = run.processes(row)
    bars = run.histogram(row, found)
    return render(
        request,
        "models/benchmark.html",
        {
            **shown,
            "row": row,
            "timing": timings.timing(row),
            "about": timings.shared(row),
            "counts": benchmark_selectors.counts(row),
            "line": run.line(found, request.GET),
            "bars": run.bars(bars),
            "histogram": [bar for bar in bars if bar.count],
            "percentiles": run_facts.percentiles(row),
            "facts": speeds.facts(row),
            "processes": run_facts.told(found),
            "environment": run_facts.environment(row.environment.parts),
            "operators": run_facts.operators(row),
            "gate": run_facts.environment(row.record.get("gate") or {}),
            "command": run_facts.command(row),
            "history": speeds.history(benchmark_selectors.history_of(row), row),
            "data_url": f"{shown['head'].api_url}/benchmarks/{row.pk}",
        },
    )


@accepts("cursor", *ACROSS)
@require_safe
def across(request: HttpRequest) -> HttpResponse:
    """One task on one device, ranked inside one comparability key."""
    if elsewhere := _tidied(request):
        return elsewhere
    asked = {name: request.GET.get(name, "") for name in ACROSS}
    wanted = rankings.Wanted(
        task=asked["task"],
        key=asked["key"],
        device=asked["device"],
        runtime=asked["runtime"],
        precision=asked["precision"],
        max_bytes=_number("max_bytes", asked["max_bytes"]),
        max_parameters=_number("max_parameters", asked["max_parameters"]),
        sort=asked["sort"] or "p50",
    )
    # A page has one key: chosen before its rows are cut, and the same on every page of them.
    keys = rankings.keys(request.user, replace(wanted, key=""))
    chosen = wanted.key or next((one.key for one in keys), "")
    ranking = rankings.across(
        request.user,
        replace(wanted, key=chosen),
        limit=LISTED,
        cursor=request.GET.get("cursor", "")[:500],
    )
    key = next(iter(ranking.keys), None)
    items = ranking.items
    every = replace(ranking, keys=keys if key is None or key in keys else (*keys, key))
    kept = {name: value for name, value in asked.items() if value}
    listed = speeds.keys(every, key, kept)
    paged = {**kept, "key": chosen}
    return render(
        request,
        "benchmarks/across.html",
        {
            "section": "benchmarks",
            "asked": asked,
            "kept": kept,
            "keys": listed,
            "key": key,
            "about": next((one["words"] for one in listed if one["on"]), ""),
            "listing": speeds.standings(items, asked["sort"] or "p50"),
            "chart": speeds.chart(items),
            "quality": quality.of(items, asked["quality"], kept),
            "noisy": speeds.standings(rankings.noisy(request.user, wanted, limit=LISTED), ""),
            "unverified": speeds.standings(
                rankings.unverified(request.user, wanted, limit=LISTED), ""
            ),
            "sorts": [(value, said, value == asked["sort"]) for value, said in SORTS.items()],
            "tasks": speeds.tasks(request.user, asked["task"]),
            "devices": benchmark_selectors.devices(request.user),
            "runtimes": benchmark_selectors.runtimes(request.user),
            "next": f"?{urlencode({**paged, 'cursor': ranking.next})}" if ranking.next else "",
            "first": f"?{urlencode(paged)}" if request.GET.get("cursor") else "",
            "capped": rankings.CANDIDATES if ranking.capped else 0,
        },
    )


@accepts()
@require_safe
def device(request: HttpRequest, name: str) -> HttpResponse:
    """Everything that was measured on one class of machines."""
    found = benchmark_selectors.device(request.user, name)
    listing = timelines.of_device(request.user, name)
    return render(
        request,
        "benchmarks/device.html",
        {
            "section": "benchmarks",
            "title": found.title,
            "kind": "Device class",
            "models": found.models,
            "results": found.measurements,
            "table": timings.table(listing.rows, named=True, left_out=listing.left_out),
            "across_url": f"{reverse('benchmarks')}?{urlencode({'device': name})}",
        },
    )


@accepts()
@require_safe
def runtime(request: HttpRequest, name: str) -> HttpResponse:
    """Everything that was measured with one runtime."""
    versions = [one for one in benchmark_selectors.runtimes(request.user) if one.name == name]
    if not versions:
        raise problems.NotFound(f"No results with {name[:32]}.")
    listing = timelines.of_runtime(request.user, name)
    return render(
        request,
        "benchmarks/device.html",
        {
            "section": "benchmarks",
            "title": labels.runtime(name),
            "kind": "Runtime",
            "versions": versions,
            "results": sum(one.measurements for one in versions),
            "table": timings.table(listing.rows, named=True, left_out=listing.left_out),
            "across_url": f"{reverse('benchmarks')}?{urlencode({'runtime': name})}",
            "scoreboard": True,
        },
    )


def _tidied(request: HttpRequest) -> HttpResponseRedirect | None:
    """The same address without what is empty, so that equal views have one address."""
    asked: Mapping[str, Any] = request.GET
    if all(value for value in asked.values()):
        return None
    kept = {name: value for name, value in asked.items() if value}
    return HttpResponseRedirect(f"{request.path}?{urlencode(kept)}" if kept else request.path)


def _number(name: str, text: str) -> int | None:
    """A whole number of an address, None where there is none; raises InvalidRequest."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be a whole number.")
    return int(text)
