"""A ranking across models: its keys in words, its rows with the frontier marked, and its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.utils.safestring import SafeString, mark_safe

from frontend.parts import labels
from frontend.parts.svg import charts, latency_strips
from frontend.presenters import measurements
from hub.protocol.figures import Figure, Unit, absent
from registry.catalogue import facets
from registry.catalogue.query import Query
from registry.core.permissions import Actor
from runners.benchmarks import timelines
from runners.benchmarks.rankings import Key, Ranking, Standing
from runners.evaluations import selectors as evaluations


def keys(
    ranking: Ranking, choice: Key | None, parameters: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The keys that there are, each as a link that ranks it."""
    inputs = timelines.inputs_of(key.key for key in ranking.keys)
    return [
        {
            "words": _words(key, measurements.shapes(inputs.get(key.key, []))),
            "count": key.results,
            "on": choice is not None and key.key == choice.key,
            "url": f"?{urlencode({**parameters, 'key': key.key})}",
        }
        for key in ranking.keys
    ]


def _words(key: Key, shapes: str) -> str:
    runtime = f"{labels.runtime(key.runtime)} {key.runtime_version}"
    provider = measurements.PROVIDERS.get(key.provider, "")
    if provider and provider not in runtime:
        runtime += f" {provider}"
    conditions = measurements.conditions(key.batch, key.threads, key.scenario)
    return ", ".join(filter(None, (key.device_title, runtime, conditions, shapes)))


def about(item: Standing) -> str:
    """What the results of an item's key share."""
    row = item.row
    runtime = measurements.runtime_of(row)
    return f"{row.device_title}, {runtime}, {measurements.shared(row)}"


def rows(items: Sequence[Standing], *, by_latency: bool) -> list[tuple[Standing, bool]]:
    """Each standing, and whether no other has a smaller file and a lower latency."""
    points = [_point(item) for item in items]
    best = iter(charts.undominated([point for point in points if point is not None]))
    stands = [point is not None and next(best) for point in points]
    return [(item, by_latency and is_best) for item, is_best in zip(items, stands, strict=True)]


def accuracies(items: Sequence[Standing]) -> dict[int, Figure]:
    """The measured accuracy of each variant, by the key of its result."""
    shared = evaluations.shared([item.row.variant for item in items])
    return {
        item.row.pk: evaluation.figure if evaluation else absent(Unit.SHARE)
        for item in items
        for evaluation in [shared.get(item.row.variant_id)]
    }


def chart(items: Sequence[Standing]) -> SafeString:
    """Latency against file size, those that nothing beats in both joined."""
    points = [point for point in map(_point, items) if point is not None]
    return charts.frontier(points) if len(points) > 1 else mark_safe("")


def _point(item: Standing) -> charts.Point | None:
    if not item.bytes or not item.row.p50_ms:
        return None
    tone = latency_strips.tone(item.row)
    return charts.Point(item.bytes, item.row.p50_ms, f"of-{tone}", item.row.is_ranked)


def tasks(actor: Actor, choice: str) -> list[tuple[str, str, bool]]:
    """The tasks of the models that the actor may see."""
    counts = facets.count(actor, Query())["task"]
    return [(task, labels.task(task), task == choice) for task, _ in counts]
