"""The query page: a question, what it gave, and what was wrong with it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from redis.exceptions import RedisError

from frontend.pages.query import builder, page, results, vocabulary
from frontend.parts import formatting
from frontend.presenters import list_filters
from hub.protocol import problems
from hub.protocol.filters import FILTERS
from metadata.sparql import endpoint, example_queries, listing, service
from registry.api import throttles

# What the shown command asks for, by the form of the result.
_CURL = {"ask": "application/sparql-results+json", "graph": "text/turtle"}
# How long the number of rows of an example is shown; it is that of its last run.
COUNTED_SECONDS = 86_400
# Lines of the editor.
FEWEST, MOST = 12, 30


@csrf_exempt  # asking changes nothing; without a token in its form the page can be cached
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """The page; with a query or an example in its address it is run, as is a form's."""
    examples = example_queries.all_of(settings.HUB_PUBLIC_URL)
    if request.method == "POST":
        text = page.tidy(request.POST.get("query", ""))
        if not text.strip():
            return HttpResponseRedirect(reverse("query"))
        permalink = page.address(text, examples)
        if permalink:
            return HttpResponseRedirect(permalink)
        return _show(request, examples, text, **_answered(request, text))
    return _read(request, examples)


def _read(request: HttpRequest, examples: tuple[example_queries.ExampleQuery, ...]) -> HttpResponse:
    """What an address asks: an example, a question of the form, a query, or nothing yet."""
    if slug := request.GET.get("example", ""):
        return _example(request, examples, slug)
    if built := builder.read(request.GET, request.user):
        return _built(request, examples, built)
    text = page.tidy(request.GET.get("query", ""))
    if not text.strip():
        return _show(request, examples, page.start())
    return _show(request, examples, text, **_answered(request, text))


def _built(
    request: HttpRequest,
    examples: tuple[example_queries.ExampleQuery, ...],
    built: builder.Built,
) -> HttpResponse:
    """The question of the form as a query, which is run unless a condition is incomplete."""
    if built.query is None:
        return _show(request, examples, page.start(), built=built)
    list_query = listing.of(built.query, settings.HUB_PUBLIC_URL)
    answered = _answered(request, list_query.query)
    text = list_query.query.rstrip()
    context = {
        "built_notes": list_query.notes,
        "built_chips": list_filters.chips(built.query),
        "list_url": list_filters.address(built.query),
    }
    return _show(request, examples, text, built=built, **context, **answered)


def _example(
    request: HttpRequest, examples: tuple[example_queries.ExampleQuery, ...], slug: str
) -> HttpResponse:
    by_slug = {example.slug: example for example in examples}
    by_number = {f"cq{index:02}": example for index, example in enumerate(examples, start=1)}
    if slug in by_number:
        return HttpResponseRedirect(f"{reverse('query')}?example={by_number[slug].slug}")
    if slug not in by_slug:
        raise problems.NotFound(
            f"Unknown example {slug[:40]!r}. The query page lists all examples."
        )
    example = by_slug[slug]
    text = example.query.rstrip()
    answered = _answered(request, text)
    if "result" in answered and answered["form"] == "select":
        rows = answered["result"]
        with suppress(RedisError):
            count = f"{rows.count}{'+' if rows.capped else ''}"
            cache.set(_count_key(slug), count, COUNTED_SECONDS)
    return _show(request, examples, text, selection=example, **answered)


@require_http_methods(["GET"])
def result(request: HttpRequest, ending: str) -> HttpResponseBase:
    """The whole result in a format of tables, as a file; what is wrong has its status here."""
    _, media_type = page.DOWNLOADS[ending]
    answer = _ask(request, page.tidy(request.GET.get("query", "")), media_type)
    response = StreamingHttpResponse(answer.chunks, content_type=answer.media_type)
    response["Content-Disposition"] = f'attachment; filename="result.{ending}"'
    response["Content-Length"] = str(answer.size)
    response["Cache-Control"] = "private, no-cache"
    return response


def _count_key(slug: str) -> str:
    return f"query:example-rows:{slug}"


def _ask(request: HttpRequest, text: str, accept: str) -> service.Answer:
    user = request.user
    return service.ask(
        text,
        client=f"user-{user.pk}" if user.pk else f"address-{throttles.address_of(request)}",
        signed_in=user.is_authenticated,
        accept=accept,
        is_gone=endpoint.watch(request),
    )


def _answered(request: HttpRequest, text: str) -> dict[str, Any]:
    """The result of a query and its duration, or the problem; both are shown with status 200."""
    begun = time.monotonic()
    try:
        answer = _ask(request, text, results.ACCEPT)
        try:
            answered = results.read(answer.media_type, answer.chunks)
        finally:
            answer.close()
    except problems.Problem as problem:
        return {"trouble": page.trouble(problem, text)}
    took = formatting.duration(time.monotonic() - begun)
    return {"result": answered, "form": answered.form, "took": took}


def _show(
    request: HttpRequest, examples: tuple[example_queries.ExampleQuery, ...], text: str, **more: Any
) -> HttpResponse:
    lines = text.count("\n") + 1
    permalink = page.address(text, examples)
    built, selection = more.get("built"), more.get("selection")
    counts: dict[str, str] = {}
    with suppress(RedisError):
        counts = cache.get_many([_count_key(example.slug) for example in examples])
    context = {
        "section": "query",
        # A query that its reader wrote stays open; that of a question or an example is behind it.
        "is_editing": "trouble" in more or ("result" in more and not built and not selection),
        "built_rows": [*(built.rows if built else ()), builder.Row(None)],
        "conditions": tuple(builder.Row(filter_) for filter_ in FILTERS.values()),
        "row_counts": {
            example.slug: counts.get(_count_key(example.slug), "") for example in examples
        },
        "text": text,
        "height": min(max(lines + 1, FEWEST), MOST),
        "examples": examples,
        "vocabulary": vocabulary.groups(),
        "limits": page.limits(signed_in=request.user.is_authenticated),
        "permalink": f"{settings.HUB_PUBLIC_URL}{permalink}" if permalink else "",
        "downloads": page.downloads(text),
        "curl": page.curl(text, _CURL.get(more.get("form", ""), "text/csv")),
    }
    return render(request, "query/query.html", context | more)
