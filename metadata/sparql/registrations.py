"""What the SPARQL service adds to the process of the graphs, to health, metrics and VoID."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.db import DatabaseError
from prometheus_client.core import GaugeMetricFamily, Metric

from hub import counting
from metadata.models import NamedGraph
from metadata.sparql import service, stores
from metadata.store.catalogue import VOID, Endpoint, endpoints
from registry.core.gauges import Gauges, gauges
from registry.core.health import HealthLine, HealthPart, health_parts
from registry.core.maintenance import MaintenanceTask, maintenance_tasks

MOST_GRAPHS = 100
MOST_NAMES = 10


def register(package: str) -> None:
    """Plug into the core."""
    maintenance_tasks.register(package, MaintenanceTask("the store of graphs", _follow, _rebuild))
    health_parts.register(package, HealthPart("graphs", _describe, _report))
    gauges.register(package, Gauges("graphs", _metrics))
    endpoints.register(package, Endpoint(f"{VOID}sparqlEndpoint", "sparql"))


def _follow() -> tuple[Callable[[], object], Callable[[], object]]:
    follower = stores.follower()
    return follower.turn, follower.close


def _rebuild() -> None:
    follower = stores.follower()
    count = NamedGraph.objects.exclude(nquads="").count()
    with counting.Counter("graphs loaded", count) as counter:
        follower.rebuild(counter.advance)
    follower.close()


def _report() -> dict[str, Any]:
    """How far the store of graphs follows the rows, and which graphs it refuses."""
    try:
        status = service.store_status()
    except DatabaseError:
        return {"ok": False, "revision": None, "newest": None}
    return {
        "ok": status.is_sound,
        "revision": status.revision,
        "newest": status.newest,
        "refused": len(status.refused),
        "names": status.refused[:MOST_GRAPHS],
    }


def _describe(is_administrator: bool) -> Iterator[HealthLine]:  # noqa: FBT001 - as the port says
    """How far the graph store is; which graphs it refuses, for administrators alone."""
    status = service.store_status()
    if status.revision is None:
        yield HealthLine("Graph store", "errored", "not ready", "it is being built")
    elif status.refused:
        detail = f"{counting.plural(len(status.refused), 'graph')} malformed and left out"
        if is_administrator:
            detail = f"{detail}: {', '.join(status.refused[:MOST_NAMES])}"
        yield HealthLine("Graph store", "failed", "incomplete", detail)
    elif not status.is_sound:
        behind = f"{round(status.behind.total_seconds())} s behind the published models"
        yield HealthLine("Graph store", "errored", "behind", behind)
    else:
        yield HealthLine("Graph store", "passed", "complete", f"revision {status.revision}")


def _metrics() -> Iterator[Metric]:
    status = service.store_status()
    behind = status.behind.total_seconds() if status.behind < timedelta.max else float("inf")
    yield GaugeMetricFamily(
        "hub_graphs_behind_seconds", "How long the graph store lacks a change.", value=behind
    )
    yield GaugeMetricFamily(
        "hub_graphs_refused", "Malformed graphs that it leaves out.", value=len(status.refused)
    )
