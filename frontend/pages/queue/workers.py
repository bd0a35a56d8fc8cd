"""The workers of the hub: what each offers, and why what it does not offer is missing."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.parts import labels
from registry.api.parameters import accepts
from runners.engine.hardware import causes
from runners.models import Worker
from runners.queue import aliases, registration, selectors


@accepts()
@require_safe
def workers(request: HttpRequest) -> HttpResponse:
    """The live workers."""
    sees_names = aliases.sees_names(request.user)
    rows = [row_of(worker, sees_names=sees_names) for worker in selectors.live_workers()]
    holds = [(state, hold) for hold, state in selectors.held_pools().values()]
    return render(request, "jobs/workers.html", {"rows": rows, "holds": holds, "section": "jobs"})


def row_of(worker: Worker, *, sees_names: bool) -> dict[str, Any]:
    """A worker, with or without the names and paths of its machine."""
    features = worker.typed_features
    reasons = features.failed if sees_names else {}
    return {
        "name": worker.name if sees_names else aliases.worker(worker.name),
        "host": worker.host if sees_names else aliases.host(worker.host),
        "queues": tuple(worker.queues),
        "runtimes": tuple(
            f"{labels.runtime(name)} {version}" for name, version in features.runtimes.items()
        ),
        "providers": tuple(features.providers),
        # A provider that takes no operators came with the build: no one asked for it.
        "missing": tuple(
            {
                "name": name,
                "code": cause.code,
                "cure": cause.cure,
                "reason": reasons.get(name, ""),
            }
            for name, cause in registration.unavailable(features).items()
            if cause.code != causes.NO_NODES
        ),
        "seen_at": worker.seen_at,
    }
