"""The tab of a version that says what training and running it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.parts import labels
from frontend.presenters import carbon, declarations, timings
from frontend.presenters.version_page import context
from hub.protocol import stored
from registry.catalogue import emissions
from registry.versions import selectors
from runners.benchmarks import timelines

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Training and inference apart, and training beside the other public models of the task."""
    version = selectors.whole_version(request.user, namespace, name, number)
    task = declarations.task_of(version)
    others = emissions.of_task(task, apart_from=version.model_id, limit=carbon.COUNTED + 1)
    shown = context(request, version, "carbon")
    told = timelines.with_energy(shown["variant"])
    if told is not None:
        told.variant.version = version
    return render(
        request,
        "models/carbon.html",
        {
            **shown,
            "training": carbon.training(stored.mapping(version.card)),
            "inference": carbon.inference(told),
            "told": timings.address(told) if told else "",
            "comparison": carbon.comparison(version, others),
            "task": task,
            "task_words": labels.task(task),
        },
    )
