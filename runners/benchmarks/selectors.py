"""Measurements that a user may see: of a version, across models, by device and runtime.

Results are compared inside one comparability key and nowhere else, and only accepted ones have a
rank. A contribution without the signature of an enrolled worker is unverified: it is separate from
the trusted results, has no rank and is in no count. Of several results of one variant under one key
the newest accepted one counts, else the newest; a result whose variant is another file by now is
history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import (
    CharField,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Concat

from hub.protocol import problems
from hub.protocol.vocabularies import RUNTIMES
from registry.core.prepared_queries import Prepared
from registry.models import RegisteredModel, Version
from runners.models import Comparison, Measurement

if TYPE_CHECKING:
    from registry.core.permissions import Actor

# How many results a list holds: those of this hub, and apart from them those that people sent.
RESULTS, CONTRIBUTED = 2000, 500
_LONG = ("facts", "derivation")
_HEAVY = ("variant__facts", "variant__derivation", "record")
# What a result is counted by: versions with the same content share one measurement.
EVIDENCE = Concat("record_sha256", Value("-"), "ordinal", output_field=CharField())
RESULT_COUNT = Count(EVIDENCE, distinct=True)
MODEL_COUNT = Count("variant__version__model", distinct=True)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of results is narrowed to; what is empty narrows nothing."""

    variant: str = ""
    precision: str = ""
    device: str = ""
    runtime: str = ""
    provider: str = ""
    scenario: str = ""
    batch: int | None = None

    def keeps(self, row: Measurement) -> bool:
        """Whether a result is among those that are asked for."""
        return all(
            getattr(self, name) in ("", None, value) for name, value in choices_of(row).items()
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """Results as far as a list holds them, and how many more there are."""

    rows: list[Measurement]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one comparability key: those with a rank, best first, and those without.

    ``unverified`` are apart from both, whatever their status.
    """

    key: str
    ranked: tuple[Measurement, ...]
    unranked: tuple[Measurement, ...]
    unverified: tuple[Measurement, ...] = ()

    @property
    def rows(self) -> tuple[Measurement, ...]:
        return (*self.ranked, *self.unranked, *self.unverified)

    @property
    def first(self) -> Measurement:
        """One of its rows, for what all of them share: device, runtime, scenario, batch."""
        return self.rows[0]


def choices_of(row: Measurement) -> dict[str, Any]:
    """What filters go by, of one result."""
    return {
        "variant": row.variant.name,
        "precision": row.variant.precision,
        "device": row.device,
        "runtime": row.runtime,
        "provider": row.provider,
        "scenario": str(row.scenario),
        "batch": row.batch,
    }


def choices(rows: Iterable[Measurement]) -> dict[str, list[Any]]:
    """For each filter the values that occur in these results, in order."""
    values = [choices_of(row) for row in rows]
    return {
        field.name: sorted({value[field.name] for value in values} - {""})
        for field in fields(Filters)
    }


def of_version(
    version: Version, filters: Filters | None = None, *, with_history: bool = False
) -> list[Measurement]:
    """The results of a version's variants that count, newest first; or all there ever were.

    Two questions to the rows, however many results there are.
    """
    rows = listing_of(version, with_history=with_history).rows
    return [row for row in rows if filters is None or filters.keeps(row)]


def listing_of(version: Version, *, with_history: bool = False) -> Listing:
    """The same with how many do not fit into the list: one question more where it is cut."""
    if with_history:
        rows = _with_details(Measurement.objects.filter(variant__version=version))
        listing = bounded(rows, most=RESULTS, most_contributed=CONTRIBUTED)
    else:
        parts = [prepared.instances(version.pk) for prepared in _COUNTED_PARTS]
        listing = _cut(parts, (RESULTS, CONTRIBUTED), lambda: _counted_of(version.pk))
    listing.rows.sort(key=lambda row: (row.at, row.pk), reverse=True)
    for row in listing.rows:
        row.variant.version = version
    return listing


def counting(rows: QuerySet[Measurement]) -> QuerySet[Measurement, Any]:
    """The keys of those results that count: see the module's words."""
    same = rows.order_by().values("variant", "comparability_key", "trust", "contributor")
    accepted, noisy = (
        Max("pk", filter=Q(status=status))
        for status in (Measurement.Status.ACCEPTED, Measurement.Status.NOISY)
    )
    return same.annotate(counts=Coalesce(accepted, noisy, Max("pk"))).values("counts")


def bounded(rows: QuerySet[Measurement], *, most: int, most_contributed: int) -> Listing:
    """The newest results; unverified ones have a limit of their own and displace no others."""
    bounds = (most, most_contributed)
    parts = [list(_part(rows, part, bound)) for part, bound in zip(_PARTS, bounds, strict=True)]
    return _cut(parts, bounds, lambda: rows)


_PARTS = (Measurement.TRUSTED, Measurement.UNTRUSTED)


def _part(rows: QuerySet[Measurement], part: Q, bound: int) -> QuerySet[Measurement]:
    """The newest results of a part, and one more than its bound."""
    return rows.filter(part).order_by("-at", "-pk")[: bound + 1]


def _cut(
    parts: Iterable[list[Measurement]],
    bounds: Iterable[int],
    rows: Callable[[], QuerySet[Measurement]],
) -> Listing:
    """The parts up to their bounds; ``rows``, all of them, are counted where one is cut."""
    results: list[Measurement] = []
    is_cut = False
    for part, bound in zip(parts, bounds, strict=True):
        is_cut = is_cut or len(part) > bound
        results += part[:bound]
    return Listing(results, rows().order_by().count() - len(results) if is_cut else 0)


def _counted_of(version_id: int) -> QuerySet[Measurement]:
    """The results of a version that count, with what lists show of them."""
    return _with_details(Measurement.objects.filter(pk__in=counting(visible_of(version_id))))


# Every page of a version asks for them, and their SQL has some hundred columns.
_COUNTED_PARTS = (
    Prepared(lambda version_id: _part(_counted_of(version_id), Measurement.TRUSTED, RESULTS)),
    Prepared(lambda version_id: _part(_counted_of(version_id), Measurement.UNTRUSTED, CONTRIBUTED)),
)


def groups(rows: Iterable[Measurement]) -> list[Group]:
    """Results by comparability key, each ranked inside by its figure; larger groups first."""
    by_key: dict[str, list[Measurement]] = {}
    for row in rows:
        by_key.setdefault(row.comparability_key, []).append(row)
    result = [
        Group(
            key,
            tuple(sorted((row for row in mine if row.is_ranked), key=_figure)),
            tuple(
                sorted((row for row in mine if row.is_trusted and not row.is_ranked), key=_figure)
            ),
            tuple(sorted((row for row in mine if not row.is_trusted), key=_figure)),
        )
        for key, mine in by_key.items()
    ]
    return sorted(result, key=lambda group: (-len(group.ranked), _about(group.first)))


def rank_of(row: Measurement, group: Group) -> int | None:
    """The place of a result in its group, from 1; None for one that is not ranked."""
    if not row.is_ranked:
        return None
    return 1 + sum(_figure(other) < _figure(row) for other in group.ranked)


def fastest(rows: Iterable[Measurement]) -> Measurement | None:
    """The least median of one inference at a time among ranked results; None without one."""
    ranked = [row for row in rows if row.is_ranked]
    single = [row for row in ranked if row.scenario == "single_stream" and row.batch == 1]
    return min(single, key=_median, default=None)


def reliability(row: Measurement) -> tuple[bool, bool, float]:
    """What orders results for a reader: ranked ones, then noisy, then unverified; by median."""
    return not row.is_trusted, not row.is_ranked, _median(row)


def one(version: Version, pk: int) -> Measurement:
    """One result of a version, whether it counts or not; raises NotFound."""
    rows = Measurement.objects.filter(variant__version=version, pk=pk)
    row = problems.expect(
        rows.select_related(
            "variant__entry",
            "environment",
            "job",
            "contributor",
            "enrolled_worker",
            "record_file",
            "samples_file",
        ).first(),
        problems.NotFound(f"{version.ref} has no benchmark result {pk}."),
    )
    row.variant.version = version
    return row


def describe(version: Version, pk: int) -> str:
    """One result of a version in a few words; raises NotFound."""
    row = one(version, pk)
    status = "unverified" if row.status == Measurement.Status.ACCEPTED else row.status
    figure = status if row.p50_ms is None else f"{row.p50_ms:.3g} ms"
    note = "" if row.p50_ms is None or row.is_ranked else f" ({status})"
    runtime = RUNTIMES.get(row.runtime, row.runtime)
    return f"{figure}{note} on {runtime} {row.runtime_version}, {row.variant.name}"


def counts(row: Measurement) -> bool:
    """Whether a result's variant still is the file that was run."""
    return row.entry_sha256 == row.variant.entry.blob_id


def history_of(row: Measurement) -> list[Measurement]:
    """Every result of the same variant under the same key, newest first."""
    rows = Measurement.objects.filter(
        variant=row.variant_id, comparability_key=row.comparability_key
    )
    return list(_with_details(rows).order_by("-at", "-pk")[:50])


def visible(actor: Actor) -> QuerySet[Measurement]:
    """Results of released versions that the actor may see, whose variant is still that file."""
    return Measurement.objects.filter(
        variant__version__in=Version.objects.visible_to(actor).filter(state__in=Version.SERVED),
        entry_sha256=F("variant__entry__blob"),
    )


def trusted(actor: Actor) -> QuerySet[Measurement]:
    """What lists count and rank of what the actor may see: trusted, and with a figure."""
    return visible(actor).filter(Measurement.TRUSTED, status__in=Measurement.PUBLIC)


def visible_of(version: Version | int) -> QuerySet[Measurement]:
    """Results of one version whose variant is still the file that was run."""
    return Measurement.objects.filter(
        variant__version=version, entry_sha256=F("variant__entry__blob")
    )


def of_newest(actor: Actor) -> QuerySet[Measurement]:
    """The results of each model's newest published version, as lists show models."""
    newest = Version.objects.filter(
        model=OuterRef("variant__version__model"), state=Version.State.PUBLISHED, branch="main"
    ).order_by("-number")
    return visible(actor).filter(variant__version=Subquery(newest.values("pk")[:1]))


def newest(actor: Actor, limit: int = 5) -> list[Measurement]:
    """What this hub measured last, of models that the actor may see."""
    return (
        list(_newest(actor, limit)) if actor.is_authenticated else _guests_newest(limit).instances()
    )


def _newest(actor: Actor, limit: int) -> QuerySet[Measurement]:
    # As `visible`, but each row asks for its own model: all of them are many, and these are few.
    models = RegisteredModel.objects.visible_to(actor).filter(
        pk=OuterRef("variant__version__model")
    )
    rows = Measurement.objects.filter(
        Exists(models),
        variant__version__state__in=Version.SERVED,
        entry_sha256=F("variant__entry__blob"),
        trust=Measurement.Trust.HUB,
        status__in=Measurement.PUBLIC,
        job__shared_from=None,
    )
    rows = rows.select_related("variant__version__model__namespace", "environment")
    return rows.defer(*_HEAVY).order_by("-pk")[:limit]


@cache
def _guests_newest(limit: int) -> Prepared:
    return Prepared(lambda: _newest(AnonymousUser(), limit))


def comparisons_of(*versions: Version) -> list[Comparison]:
    """The newest comparison of each variant of these versions with an earlier one, that counts."""
    if len(versions) == 1:
        return _COMPARISONS.instances(versions[0].pk)
    return list(_comparisons(*(version.pk for version in versions)))


def _comparisons(*version_ids: int) -> QuerySet[Comparison]:
    rows = Comparison.objects.filter(
        candidate__version__in=version_ids,
        baseline_sha256=F("baseline__entry__blob"),
        candidate_sha256=F("candidate__entry__blob"),
    )
    newest_of_pair = (
        rows.order_by()
        .values("candidate", "baseline", "runtime", "provider")
        .annotate(newest=Max("pk"))
    )
    comparisons = Comparison.objects.filter(pk__in=newest_of_pair.values("newest")).select_related(
        "candidate__version", "baseline__version", "environment"
    )
    heavy = [f"{side}__{name}" for side in ("candidate", "baseline") for name in _LONG]
    return comparisons.defer("record", *heavy).order_by("-at", "-pk")


_COMPARISONS = Prepared(_comparisons)


def comparison(version: Version, pk: int) -> Comparison:
    """One comparison of a version with an earlier one; raises NotFound."""
    rows = Comparison.objects.filter(candidate__version=version, pk=pk)
    return problems.expect(
        rows.select_related(
            "candidate__entry", "baseline__version", "environment", "job", "record_file"
        ).first(),
        problems.NotFound(f"{version.ref} has no comparison {pk}."),
    )


def _with_details(rows: QuerySet[Measurement]) -> QuerySet[Measurement]:
    whose = ("contributor", "enrolled_worker", "record_file", "samples_file")
    return rows.select_related("variant__entry", "environment", *whose).defer(
        *_HEAVY, "environment__parts"
    )


def _median(row: Measurement) -> float:
    return row.p50_ms if row.p50_ms is not None else float("inf")


def _figure(row: Measurement) -> float:
    """What a result is ranked by inside its key, the least first."""
    return -(row.throughput_per_s or 0.0) if row.is_by_throughput else _median(row)


def _about(row: Measurement) -> tuple[Any, ...]:
    return row.device, row.runtime, row.runtime_version, row.scenario, row.batch, row.pk
