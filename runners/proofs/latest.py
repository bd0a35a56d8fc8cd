"""The latest conformance measurements and upgrades of models that a reader may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, QuerySet

from registry.core.permissions import Actor
from registry.core.prepared_queries import Prepared
from registry.models import RegisteredModel, Variant, Version
from registry.models.files import sufficient
from runners.models import ConformanceResult

# Number of results that are read: a job writes up to four.
_READ = 60


@dataclass(frozen=True, slots=True)
class Measurement:
    """The results of one job about a variant on a runtime: one for each check."""

    variant: Variant
    runtime: str
    runtime_version: str
    results: tuple[ConformanceResult, ...]
    at: datetime


def measurements(actor: Actor) -> list[Measurement]:
    """The newest jobs that measured released versions, with one query for their rows."""
    rows = _results(actor) if actor.is_authenticated else _GUESTS_RESULTS.instances()
    by_job: dict[tuple[object, int], list[ConformanceResult]] = {}
    for row in rows:
        by_job.setdefault((row.job_id, row.variant_id), []).append(row)
    return [
        Measurement(
            results[0].variant,
            results[0].runtime,
            results[0].runtime_version,
            tuple(results),
            max(row.at for row in results),
        )
        for results in by_job.values()
    ]


def upgrade(actor: Actor) -> Variant | None:
    """The newest upgraded variant whose proof is enough for this hub; its original is with it."""
    strengths = tuple(sorted(sufficient()))
    if actor.is_authenticated:
        return _upgrades(actor, strengths).first()
    return next(iter(_guests_upgrades(strengths).instances()), None)


def _results(actor: Actor) -> QuerySet[ConformanceResult]:
    # Visibility is checked for the few models of these rows, not for all models.
    visible = RegisteredModel.objects.visible_to(actor).filter(
        pk=OuterRef("variant__version__model")
    )
    rows = ConformanceResult.objects.filter(
        Exists(visible), variant__version__state__in=Version.SERVED, job__shared_from=None
    ).select_related("variant__version__model__namespace")
    rows = rows.defer("variant__facts", "variant__derivation", "figures", "node")
    return rows.order_by("-pk")[:_READ]


_GUESTS_RESULTS = Prepared(lambda: _results(AnonymousUser()))


def _upgrades(actor: Actor, strengths: Sequence[str]) -> QuerySet[Variant]:
    visible = RegisteredModel.objects.visible_to(actor).filter(pk=OuterRef("version__model"))
    rows = Variant.objects.filter(
        Exists(visible),
        origin=Variant.Origin.UPGRADED,
        proof_strength__in=strengths,
        version__state__in=Version.SERVED,
    ).select_related("version__model__namespace", "derived_from")
    return rows.defer("facts", "derivation").order_by("-pk")[:1]


@cache
def _guests_upgrades(strengths: tuple[str, ...]) -> Prepared:
    return Prepared(lambda: _upgrades(AnonymousUser(), strengths))
