"""Home, help, health, and the two choices a reader keeps in a cookie."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.site import proven_models
from frontend.parts import formatting, labels
from frontend.presenters import (
    conformance,
    list_filters,
    measurements,
    upkeep,
)
from frontend.presenters import (
    health as presenter_health,
)
from hub.protocol import problems
from registry.catalogue import facets, search, speeds
from registry.catalogue.query import Query
from registry.catalogue.summaries import COLUMNS
from registry.core import public_counts
from registry.core.permissions import Actor
from runners.benchmarks import selectors as benchmark_selectors
from runners.models import ConformanceVerdict
from runners.proofs import latest, verdicts
from runners.queue import aliases, selectors

NEWEST = 5
SNIPPET = 'import hub\n\nmodel = hub.load("{}")\nprint(model.graph.name)'
PUSH = "export HUB_URL={}\nexport HUB_TOKEN=hf_…\nhub push me/my-model model.onnx"
YEAR = 365 * 86400
THEMES = {"": "light", "light": "dark", "dark": ""}
TASKS = 12
# What home calls a small model: all of its files together.
SMALL_BYTES = 10**8


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    counts = facets.count(request.user, Query())
    proven = proven_models.of(request.user, counts)
    newest = search.find(request.user, Query(), limit=20, columns=COLUMNS).items
    published = [document for document in newest if document.latest][:NEWEST]
    first = next((document.title for document in (*proven, *published)), "resnet50")
    totals = facets.totals(request.user)
    tasks = [
        {
            "words": labels.task(task),
            "count": count,
            "url": list_filters.address(Query.of(task=(task,))),
        }
        for task, count in counts["task"]
    ]
    return render(
        request,
        "home.html",
        {
            "proven": proven,
            **(proven_models.columns(request.user, proven) if proven else {}),
            "newest": published,
            "totals": totals,
            "known": _counts(counts),
            "small": formatting.size(SMALL_BYTES),
            "fastest": _fastest(request.user, counts),
            "tasks": tasks[:TASKS],
            "more_tasks": max(0, len(tasks) - TASKS),
            "upgraded": latest.upgrade(request.user),
            "judged": _judged(request.user),
            "timed": next(iter(benchmark_selectors.newest(request.user, 1)), None),
            "snippet": SNIPPET.format(first.removeprefix("zoo/")),
        },
    )


def _judged(actor: Actor) -> dict[str, Any] | None:
    """The newest failure among the latest conformance results, else the newest of them."""
    rows = [(row, verdicts.together(row.results)) for row in latest.measurements(actor)]
    failed = [(row, verdict) for row, verdict in rows if verdict == ConformanceVerdict.FAILED]
    for row, verdict in [*failed, *rows][:1]:
        return {
            "row": row,
            "verdict": verdict.label,
            "tally": conformance.tally_text(row.results),
        }
    return None


def _fastest(actor: Actor, counts: facets.Facets) -> list[dict[str, str]]:
    """For each runtime that models pass on and were timed with: its list of fast small ones.

    On the device class where most were timed with it; guests get those of some time ago.
    """
    if actor.is_authenticated:
        return _fastest_of(actor, counts)
    links: list[dict[str, str]] = public_counts.get(
        "counts:fastest", lambda: _fastest_of(actor, counts) or None
    )
    return links or []


def _fastest_of(actor: Actor, counts: facets.Facets) -> list[dict[str, str]]:
    links = []
    passed = {name for name, _ in counts["passes_on"]}
    for offer in speeds.offers(actor):
        runtime = offer.setup.runtime
        if runtime in passed:
            query = Query.of(
                sort=search.FASTEST,
                passes_on=(runtime,),
                max_bytes=SMALL_BYTES,
                **offer.setup._asdict(),
            )
            words = measurements.runtime(runtime, offer.setup.provider)
            where = offer.device_title
            if not _has_fastest(actor, query):
                continue
            passed.discard(runtime)
            links.append({"words": words, "device": where, "url": list_filters.address(query)})
    return links


def _has_fastest(actor: Actor, query: Query) -> bool:
    """Whether a list by speed begins with an accepted result: else nothing in it is the fastest."""
    page = search.find(actor, query, limit=1)
    rows = speeds.of_documents([row.pk for row in page.items], query.setup)
    return any(row.status == row.Status.ACCEPTED for row in rows.values())


def _counts(counts: facets.Facets) -> list[tuple[str, str]]:
    queries = [
        (
            f"{formatting.grouped(count)} pass on {labels.runtime(name)}",
            Query.of(passes_on=(name,)),
        )
        for name, count in counts["passes_on"]
    ]
    queries += [
        (
            f"{formatting.grouped(count)} declare training carbon",
            Query.of(evidence=(name,)),
        )
        for name, count in counts["evidence"]
        if name == "carbon"
    ]
    return [(words, list_filters.address(query)) for words, query in queries]


@require_safe
def problem(request: HttpRequest, slug: str) -> HttpResponse:
    """The page of an error type, at the address that documents name (RFC 9457, section 3.1.1)."""
    kind = problems.expect(
        problems.by_slug().get(slug), problems.NotFound(f"Unknown error type {slug}.")
    )
    template_context = {
        "slug": slug,
        "title": kind.title,
        "status": kind.status,
        "name": kind.__name__,
    }
    return render(request, "problem.html", {"kind": template_context})


@require_safe
def guide(request: HttpRequest) -> HttpResponse:
    push = PUSH.format(settings.HUB_PUBLIC_URL)
    return render(request, "help.html", {"load": SNIPPET.format("resnet50"), "push": push})


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    live = selectors.live_workers()
    sees_names = aliases.sees_names(request.user)
    return render(
        request,
        "health.html",
        {
            "parts": presenter_health.parts(
                request.user, len(live), selectors.queue_lengths(request.user)
            ),
            "workers": [presenter_health.worker(row, sees_names=sees_names) for row in live],
            # Both tell of private work, if only of how much there is.
            "tasks": upkeep.tasks() if sees_names else [],
            "costs": upkeep.costs() if sees_names else [],
        },
    )


@csrf_exempt  # changes the reader's own colours at worst; without a token the page can be cached
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    choice = THEMES.get(request.COOKIES.get("theme", ""), "")
    return _remember(request, "theme", choice)


@csrf_exempt  # as above
@require_POST
def keys(request: HttpRequest) -> HttpResponse:
    return _remember(request, "keys", "" if request.COOKIES.get("keys") == "off" else "off")


def _remember(request: HttpRequest, name: str, value: str) -> HttpResponse:
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = reverse("home")
    response = HttpResponseRedirect(target)
    if value:
        response.set_cookie(
            name, value, max_age=YEAR, samesite="Lax", secure=request.is_secure(), httponly=True
        )
    else:
        response.delete_cookie(name)
    return response
