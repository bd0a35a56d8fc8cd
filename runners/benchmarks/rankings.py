"""Rankings across models, inside one comparability key each.

Of each model the newest published version counts. Of each variant, key and contributor the newest
accepted result is ranked by p50 (by throughput where the load asks for it), throughput or energy.
Noisy and unverified results have no rank; each have a list of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    F,
    FloatField,
    Max,
    OuterRef,
    QuerySet,
    Value,
    When,
)

from hub.protocol import benchmark_metrics, problems
from registry.core import cursors
from registry.core.permissions import Actor
from runners.benchmarks import selectors
from runners.models import Measurement

CANDIDATES = 1000
KEYS = 50
# By the word of an address. Loads that ask for throughput are ranked by it, and not by p50.
SORTS = {metric.sort: metric for metric in benchmark_metrics.ALL if metric.sort}
_DOCUMENT = "variant__version__model__search_document__"
_FIGURE = Case(
    When(Measurement.BY_THROUGHPUT, then=-F("throughput_per_s")),
    default=F("p50_ms"),
    output_field=FloatField(),
)
_IS_UNVERIFIED = Case(
    When(Measurement.TRUSTED, then=False), default=True, output_field=BooleanField()
)


@dataclass(frozen=True, slots=True)
class Selection(selectors.Filters):
    """The filters of a ranking; empty ones do not filter.

    ``contributed`` adds unverified results after the ranked results of each key.
    """

    task: str = ""
    key: str = ""
    max_parameters: int | None = None
    max_bytes: int | None = None
    sort: str = "p50"
    contributed: bool = False


class Key(NamedTuple):
    """A comparability key, the common columns of its results, and their number."""

    key: str
    device: str
    device_title: str
    runtime: str
    runtime_version: str
    provider: str
    scenario: str
    batch: int
    threads: int
    results: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A result with its rank inside its key (None for none), and its model's size."""

    row: Measurement
    rank: int | None
    bytes: int | None
    parameters: int | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """A page of standings, by key and rank, and all keys."""

    items: tuple[Standing, ...]
    next: str | None
    keys: tuple[Key, ...]
    capped: bool


class _Light(NamedTuple):
    pk: int
    is_unverified: bool
    provenance: str
    comparability_key: str
    evidence: str
    value: float


def across(actor: Actor, selection: Selection, *, limit: int = 20, cursor: str = "") -> Ranking:
    """Accepted results of the newest versions that the actor may see, with three queries.

    Raises InvalidRequest for an unknown sort or a broken cursor.
    """
    rows = _candidates(actor, selection)
    metric = SORTS[selection.sort]
    figure = _FIGURE if metric is benchmark_metrics.P50 else F(metric.column)
    # What was measured and what was estimated are ranked apart.
    provenance = F(metric.provenance) if metric.provenance else Value("")
    rows = rows.annotate(
        is_unverified=_IS_UNVERIFIED,
        provenance=provenance,
        evidence=selectors.EVIDENCE,
        ranked_by=figure,
    )
    columns = ("pk", "is_unverified", "provenance", "comparability_key", "evidence", "ranked_by")
    best = "-ranked_by" if metric.more_is_better else "ranked_by"
    ordered = rows.order_by("comparability_key", "is_unverified", "provenance", best, "pk")
    light = [_Light(*row) for row in ordered.values_list(*columns)[: CANDIDATES + 1]]
    start = cursors.position(cursor, CANDIDATES)
    page = light[:CANDIDATES][start : start + limit]
    ranks = _ranks(light)
    following = start + limit < min(len(light), CANDIDATES)
    return Ranking(
        items=tuple(_standings([row.pk for row in page], ranks)),
        next=cursors.encode([start + limit]) if following else None,
        keys=keys(actor, selection),
        capped=len(light) > CANDIDATES,
    )


def keys(actor: Actor, selection: Selection) -> tuple[Key, ...]:
    """The keys of what `across` would rank, the one with most results first; one query.

    Raises InvalidRequest for an unknown sort.
    """
    columns = ("comparability_key", *Key._fields[1:-1])
    counts = (
        _candidates(actor, selection)
        .order_by()
        .values_list(*columns)
        .annotate(results=Count(selectors.EVIDENCE, distinct=True))
    )
    return tuple(Key(*row) for row in counts.order_by("-results", *columns)[:KEYS])


def noisy(actor: Actor, selection: Selection, *, limit: int = 20) -> tuple[Standing, ...]:
    """Noisy results of variants without an accepted one, by name, without rank."""
    rows = _matching(actor, selection, status=Measurement.Status.NOISY)
    return tuple(_by_name(rows.filter(Measurement.TRUSTED), limit))


def unverified(actor: Actor, selection: Selection, *, limit: int = 20) -> tuple[Standing, ...]:
    """Contributions without a signature of an enrolled worker, by name, without rank."""
    rows = _matching(actor, replace(selection, contributed=True), status="")
    return tuple(_by_name(rows.filter(Measurement.UNTRUSTED), limit))


def _by_name(rows: QuerySet[Measurement], limit: int) -> Iterable[Standing]:
    """The newest result of each variant and key without a trusted accepted one."""
    firmer = Measurement.objects.filter(
        variant=OuterRef("variant"),
        comparability_key=OuterRef("comparability_key"),
        status=Measurement.Status.ACCEPTED,
    ).filter(Measurement.TRUSTED)
    groups = rows.filter(~Exists(firmer)).order_by().values("variant", "comparability_key")
    newest = groups.annotate(newest=Max("pk")).values("newest")
    named = Measurement.objects.filter(pk__in=newest).order_by(f"{_DOCUMENT}title", "pk")
    return _standings(list(named.values_list("pk", flat=True)[:limit]), {})


def _candidates(actor: Actor, selection: Selection) -> QuerySet[Measurement]:
    """The newest accepted result with the sort column of each variant, key and contributor."""
    if selection.sort not in SORTS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(SORTS)}.")
    column = SORTS[selection.sort].column
    rows = _matching(actor, selection).filter(**{f"{column}__isnull": False})
    groups = rows.order_by().values("variant", "comparability_key", "trust", "contributor")
    newest = groups.annotate(newest=Max("pk")).values("newest")
    return Measurement.objects.filter(pk__in=newest)


def _matching(
    actor: Actor, selection: Selection, *, status: str = Measurement.Status.ACCEPTED
) -> QuerySet[Measurement]:
    rows = selectors.of_newest(actor).filter(status__in=[status] if status else Measurement.PUBLIC)
    if not selection.contributed:
        rows = rows.filter(Measurement.TRUSTED)
    conditions: tuple[tuple[str, Any], ...] = (
        (f"{_DOCUMENT}task", selection.task),
        ("comparability_key", selection.key),
        ("device", selection.device),
        ("runtime", selection.runtime),
        ("provider", selection.provider),
        ("scenario", selection.scenario),
        ("variant__name", selection.variant),
        ("variant__precision", selection.precision),
        ("batch", selection.batch),
        (f"{_DOCUMENT}parameters__lte", selection.max_parameters),
        (f"{_DOCUMENT}size__lte", selection.max_bytes),
    )
    return rows.filter(**{name: value for name, value in conditions if value not in ("", None)})


def _ranks(rows: Iterable[_Light]) -> dict[int, int]:
    """The place of each trusted result among its equals; equal values share one.

    Rows are in order. The rank is the number of distinct measurements before it, plus one: versions
    that share a measurement take one place, so that copies lower no other model.
    """
    variants: dict[tuple[str, str], set[str]] = {}
    last: dict[tuple[str, str], tuple[float, int]] = {}
    ranks = {}
    for row in rows:
        if row.is_unverified:
            continue
        among = (row.comparability_key, row.provenance)
        before = len(variants.setdefault(among, set()))
        variants[among].add(row.evidence)
        value, rank = last.get(among, (None, 0))
        last[among] = (row.value, rank if value == row.value else before + 1)
        ranks[row.pk] = last[among][1]
    return ranks


def _standings(pks: list[int], ranks: dict[int, int]) -> Iterable[Standing]:
    rows = Measurement.objects.filter(pk__in=pks).select_related(
        "variant__version__model__namespace",
        "variant__version__model__search_document",
        "environment",
        "contributor",
        "enrolled_worker",
    )
    heavy = ("variant__facts", "variant__derivation", "record", "environment__parts")
    document = "variant__version__model__search_document"
    by_pk = {row.pk: row for row in rows.defer(*heavy, f"{document}__body", f"{document}__latest")}
    for row in (by_pk[pk] for pk in pks if pk in by_pk):
        search_document = getattr(row.variant.version.model, "search_document", None)
        yield Standing(
            row,
            ranks.get(row.pk),
            search_document.size if search_document else None,
            search_document.parameters if search_document else None,
        )
