"""The tab of a version that says what training and running it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend import carbon, words
from frontend.views.versions import context
from registry import emissions, selectors

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Training and inference apart, and training beside the other public models of the task."""
    version = selectors.whole_version(request.user, namespace, name, number)
    task = carbon.task_of(version)
    others = emissions.of_task(task, apart_from=version.model_id, limit=carbon.COUNTED + 1)
    return render(
        request,
        "models/carbon.html",
        {
            **context(request, version, "carbon"),
            "training": carbon.training(version.card if isinstance(version.card, dict) else {}),
            "inference": carbon.inference(),
            "comparison": carbon.comparison(version, others),
            "task": task,
            "task_words": words.task(task),
        },
    )
