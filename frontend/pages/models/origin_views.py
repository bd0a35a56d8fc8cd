"""The tabs of a version about its origin: lineage, and carbon."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.models import lineage as lines
from frontend.parts import labels
from frontend.presenters import carbon as facts
from frontend.presenters import declarations
from frontend.presenters.version_page import context, of_whole_version
from metadata.graphs import relatives, withdrawals
from registry.catalogue import emissions
from registry.models import Version
from runners.benchmarks import timelines


@require_safe
@of_whole_version
def lineage(request: HttpRequest, version: Version) -> HttpResponse:
    """Ancestors and descendants, as far as the reader may see them."""
    up = relatives.ancestors(request.user, version)
    down = relatives.descendants(request.user, version)
    ancestors, descendants = lines.ancestors(up.relatives), lines.descendants(down.relatives)
    own = lines.variants(version)
    return render(
        request,
        "models/lineage.html",
        {
            **context(request, version, "lineage"),
            "ancestors": ancestors,
            "descendants": descendants,
            "own": own,
            "withdrawals": withdrawals.sources_of(request.user, version),
            "drawing": lines.drawn(version, ancestors, own, descendants),
            "cut_ancestors": up.cut,
            "cut_descendants": down.cut,
            "steps": (relatives.UP, relatives.DOWN, relatives.MOST),
        },
    )


@require_safe
@of_whole_version
def carbon(request: HttpRequest, version: Version) -> HttpResponse:
    """Training and inference apart, and training beside the other public models of the task."""
    task = declarations.task_of(version)
    others = emissions.of_task(task, apart_from=version.model_id, limit=facts.COUNT_CAP + 1)
    template_context = context(request, version, "carbon")
    measurement = timelines.with_energy(template_context["variant"])
    if measurement is not None:
        measurement.variant.version = version
    return render(
        request,
        "models/carbon.html",
        {
            **template_context,
            "training": facts.training(version.typed_card),
            "inference": facts.inference(measurement),
            "measurement": measurement,
            "comparison": facts.comparison(version, others),
            "task": task,
            "task_words": labels.task(task),
        },
    )
