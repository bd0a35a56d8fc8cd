"""Liking and watching models, and news of watched models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, F, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.parts import labels
from frontend.parts.formatting import plural
from frontend.presenters import figures, version_head
from hub.protocol import problems
from metadata.graphs import withdrawals
from registry.community import digests, interest
from registry.core import mail
from registry.core.permissions import Actor
from registry.models import Dataset, Deprecation, Discussion, Version
from registry.versions import selectors
from runners.models import ConformanceResult, Evaluation, Measurement

NEWS, MODELS = 50, 100
_MOST_WITHDRAWN = 20
_ACTIONS: dict[str, Callable[..., None]] = {
    "like": interest.like,
    "unlike": interest.unlike,
    "watch": interest.watch,
    "unwatch": interest.unwatch,
}


@require_POST
def act(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Like or watch a model, or stop; then back to where that was."""
    model = selectors.model(request.user, namespace, name)
    action = problems.expect(
        _ACTIONS.get(request.POST.get("action", "")),
        problems.InvalidRequest.at("/action", f"Valid actions: {', '.join(_ACTIONS)}."),
    )
    action(request.user, model=model)
    if request.POST.get("page") == "watching":
        return HttpResponseRedirect(reverse("watching"))
    return HttpResponseRedirect(reverse("model", args=[namespace, name]))


@login_required
@require_safe
def watching(request: HttpRequest) -> HttpResponse:
    """The models that the reader watches, and what is new of them."""
    watches = list(interest.watches(request.user)[:MODELS])
    models = [row.model_id for row in watches]
    return render(
        request,
        "community/watching.html",
        {
            "watches": watches,
            "news": news(request.user, models)[:NEWS],
            "intervals": [digests.NEVER, *digests.Interval.values] if mail.is_possible() else [],
            "interval": digests.interval(request.user),
        },
    )


def news(actor: Actor, models: Sequence[int]) -> list[dict[str, Any]]:
    """What happened last to published versions and in discussions of models that the actor sees."""
    published = Version.objects.filter(model__in=models, published_at__isnull=False)
    published = published.select_related("model__namespace")
    rows = [
        *_versions(published.order_by("-published_at")[:NEWS]),
        *_deprecations(models, published),
        *_evidence(published),
        *_discussions(actor, models),
        *_withdrawals(actor, models),
    ]
    return sorted(rows, key=lambda row: row["at"], reverse=True)


def _of_version(version: Version, at: datetime, words: str, page: str) -> dict[str, Any]:
    """What happened to a version, which the page of that name shows."""
    return {
        "at": at,
        "model": version.model,
        "subject": f"version {version.number}",
        "words": words,
        "url": version_head.place(version, page),
    }


def _discussions(actor: Actor, models: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The discussions that were opened last, of those that the actor sees."""
    rows = Discussion.objects.visible_to(actor).filter(model__in=models)
    for row in rows.select_related("model__namespace", "author").order_by("-pk")[:NEWS]:
        url = reverse("discussion", args=[row.model.namespace.slug, row.model.name, row.number])
        yield {
            "at": row.created_at,
            "model": row.model,
            "subject": f"discussion {row.number}",
            "words": f"opened by {row.author.username}: {row.title}",
            "url": url,
        }


def _versions(of: QuerySet[Version]) -> Iterator[dict[str, Any]]:
    for version in of:
        if version.published_at:
            change = f": {version.message}" if version.message else ""
            yield _of_version(version, version.published_at, f"published{change}", "version")
        if version.ended_at:
            words = f"{version.state}: {version.reason}"
            yield _of_version(version, version.ended_at, words, "version")


def _deprecations(models: Sequence[int], published: QuerySet[Version]) -> Iterator[dict[str, Any]]:
    """The models and versions that were deprecated last."""
    rows = Deprecation.objects.filter(Q(model__in=models) | Q(version__in=published))
    related = rows.select_related("model__namespace", "version__model__namespace")
    for row in related[:NEWS]:
        words = f"deprecated: {row.message}"
        if row.version is not None:
            yield _of_version(row.version, row.at, words, "version")
        elif row.model is not None:
            place = [row.model.namespace.slug, row.model.name]
            yield {
                "at": row.at,
                "model": row.model,
                "subject": "the model",
                "words": words,
                "url": reverse("model", args=place),
            }


def _withdrawals(actor: Actor, models: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The data sets that were withdrawn last, for each newest version that depends on one."""
    ended = Dataset.objects.exclude(withdrawn_at=None).order_by("-withdrawn_at")[:_MOST_WITHDRAWN]
    for dataset in ended if models else ():
        newest: dict[int, Version] = {}
        for version in withdrawals.dependants_of(actor, dataset):
            if version.model_id in models:
                newest.setdefault(version.model_id, version)
        for version in newest.values():
            assert dataset.withdrawn_at is not None  # noqa: S101 - for the type checker: see above
            words = f"depends on {dataset.public_title}, which was withdrawn: {dataset.reason}"
            yield _of_version(version, dataset.withdrawn_at, words, "version")


def _evidence(published: QuerySet[Version]) -> Iterator[dict[str, Any]]:
    """Conformance by runtime, accuracy by split and benchmarks by runtime, the latest of each."""
    within = {"variant__version__in": published}
    by_runtime = ("variant__version", "runtime", "runtime_version")
    conformance = ConformanceResult.objects.filter(**within).order_by().values_list(*by_runtime)
    checked = conformance.annotate(
        at=Max("at"), n=Count("pk"), passed=Count("pk", filter=Q(outcome="passed"))
    )
    timed = (
        Measurement.objects.filter(Measurement.TRUSTED, status__in=Measurement.PUBLIC, **within)
        .order_by()
        .values_list(*by_runtime)
    )
    measured = timed.annotate(at=Max("at"), n=Count("pk"))
    scores = Evaluation.objects.filter(
        **within, entry_sha256=F("variant__entry__blob")
    ).select_related("dataset_version__dataset", "variant")
    versions = {version.pk: version for version in published}
    for key, runtime, number, at, n, passed in checked.order_by("-at")[:NEWS]:
        words = f"conformance on {labels.runtime(runtime)} {number}: {passed} of {n} checks passed"
        yield _of_version(versions[key], at, words, "version-conformance")
    for key, runtime, number, at, n in measured.order_by("-at")[:NEWS]:
        words = f"{plural(n, 'benchmark run')} on {labels.runtime(runtime)} {number}"
        yield _of_version(versions[key], at, words, "version-benchmarks")
    for row in scores.order_by("-at")[:NEWS]:
        figure = f"{row.metric} {figures.text(row.figure)}"
        interval = f" ({figures.interval(row.figure)})" if row.interval_method else ""
        data = f"{row.dataset_version.dataset.slug}, {row.split}"
        words = f"measured {figure}{interval} on {data}"
        yield _of_version(versions[row.variant.version_id], row.at, words, "version")
