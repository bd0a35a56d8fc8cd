"""Which variants are evaluated on which splits: claims of cards, and requests.

A card's results are measured where the data set that it names has a version with a split of the
same name, and a metric of it is one that evaluations give.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hub.protocol import accuracy, problems
from hub.protocol.splits import Split
from hub.protocol.vocabularies import ONNXRUNTIME
from registry.cards import claims, mentions, resolution
from registry.cards.claims import Claim
from registry.core.permissions import Actor, require
from registry.models import Dataset, DatasetVersion, User, Variant, Version
from registry.versions import selectors as registry
from runners.engine.evaluation import rules
from runners.models import Job
from runners.queue import order, services

KIND = "evaluation"
# After the first evidence of all versions, and before further evidence.
MAIN, DERIVED, REQUESTED = order.FIRST + 1, order.DEEP, 2


@dataclass(frozen=True, slots=True)
class Target:
    """A split on which a version is evaluated."""

    dataset: DatasetVersion
    split: Split


@dataclass(frozen=True, slots=True)
class ResolvedClaim:
    """A claim with its data set and split; None if there is none.

    ``reason`` says why it is not measured; empty if it can be evaluated.
    """

    claim: Claim
    dataset: DatasetVersion | None
    split: Split | None
    reason: str = ""

    @property
    def metric(self) -> str:
        """The claimed metric of evaluations; empty if evaluations do not compute it."""
        return accuracy.measured_as(self.claim.metric)


def resolved(version: Version) -> list[ResolvedClaim]:
    """The claims of a version's card, with the data set and split that each means."""
    card_claims = claims.of(version.typed_card)
    newest = _newest(version, card_claims)
    return [_resolve(claim, newest) for claim in card_claims]


def targets(version: Version) -> list[Target]:
    """The splits on which a version is evaluated by schedule, each once."""
    tried = claims.evaluated_on(version.typed_card)
    newest = _newest(version, tried)
    rows = [row for row in resolved(version) if not row.reason]
    rows += [row for claim in tried if not (row := _resolve(claim, newest)).reason]
    targets = [Target(row.dataset, row.split) for row in rows if row.dataset and row.split]
    return list({(target.dataset.pk, target.split.name): target for target in targets}.values())


def schedule_missing(version: Version, *, priority: int | None = None) -> int:
    """Queue missing evaluations of a served version; returns the number of jobs.

    Unless a priority is given, the main variant comes first, then those of another precision and
    the chosen upgrades.
    """
    queued = 0
    for target in targets(version):
        for place, variant in enumerate(_variants(version)):
            usual = DERIVED if place else MAIN
            _enqueue(variant, target, priority=priority or usual, once=True)
            queued += 1
    return queued


def schedule_missing_on(dataset: Dataset) -> int:
    """Queue missing evaluations of the newest served versions whose cards name a data set."""
    if not dataset.versions.exists():
        return 0
    rows = Version.objects.filter(
        pk__in=resolution.meanings([dataset]).values("version"), state=Version.State.PUBLISHED
    )
    return sum(map(schedule_missing, _newest_of_models(rows)))


def schedule_missing_of_model(model_id: int) -> int:
    """Queue missing evaluations of the newest served version of a model."""
    rows = Version.objects.filter(model=model_id, state=Version.State.PUBLISHED)
    return sum(map(schedule_missing, _newest_of_models(rows)))


def request(
    actor: Actor,
    *,
    version: Version,
    dataset: str,
    split: str,
    number: int | None = None,
    variant: str = "",
) -> Job:
    """Queue an evaluation of a variant (default: the first) on the newest version of a data set.

    Raises NotAllowed, StateConflict, VariantMissing, InvalidRequest, Throttled.
    """
    user = require(actor, "version.derive", version.model)
    registry.require_served(version, "versions are evaluated")
    choice = registry.variant(version, variant or None, None, None)
    target = _target(dataset, number, split)
    return _enqueue(choice, target, priority=REQUESTED, once=False, requester=user)


def _target(slug: str, number: int | None, split: str) -> Target:
    entry = problems.expect(
        Dataset.objects.filter(slug=slug.strip().lower(), withdrawn_at=None).first(),
        problems.InvalidRequest.at(
            "/dataset", f"There is no data set {slug[:96]!r} on this hub. See /datasets."
        ),
    )
    rows = entry.versions.select_related("dataset").order_by("-number")
    row = (rows.filter(number=number) if number is not None else rows).first()
    if row is None:
        what = "no version with files" if number is None else f"no version {number}"
        raise problems.InvalidRequest.at("/version", f"The data set {entry.slug} has {what}.")
    for candidate in row.typed_splits:
        if candidate.name == split.strip():
            return Target(row, candidate)
    names = ", ".join(candidate.name for candidate in row.typed_splits) or "none"
    raise problems.InvalidRequest.at(
        "/split", f"{row} has no split {split[:60]!r}. Its splits: {names}."
    )


def _enqueue(
    variant: Variant,
    target: Target,
    *,
    priority: int,
    once: bool,
    requester: User | None = None,
) -> Job:
    version, dataset = variant.version, target.dataset
    paths = dataset.files.filter(path__in=target.split.files)
    job_input: dict[str, Any] = {
        "runtime": ONNXRUNTIME,
        "method": rules.METHOD,
        "dataset": dataset.dataset.slug,
        "number": dataset.number,
        "split": target.split.document(),
        "data_files": dict(paths.values_list("path", "blob")),
        **variant.version.ports_of(variant.uploaded_path),
    }
    return services.enqueue(
        kind=KIND,
        version=version,
        entry=variant.entry.path,
        job_input=job_input,
        requires={"runtime": ONNXRUNTIME},
        priority=priority,
        once=once,
        requester=requester,
    )


def _variants(version: Version) -> list[Variant]:
    """The variants that are evaluated by schedule, the main one first."""
    rows = list(
        version.variants.select_related("entry", "version__model__namespace").order_by("pk")
    )
    if not rows:
        return []
    main = rows[0]
    derived = [
        row
        for row in rows[1:]
        if row.origin == Variant.Origin.CONVERTED
        or (row.origin == Variant.Origin.UPGRADED and row.is_chosen)
    ]
    return [main, *(row for row in derived if row.derived_from_id == main.pk)]


def _newest(version: Version, card_claims: Iterable[Claim]) -> dict[str, DatasetVersion | None]:
    """The newest version of each data set that claims name, by the keys of its names."""
    names = {name for claim in card_claims for name in claim.names}
    entries = resolution.datasets_of(version.model, names)
    rows = DatasetVersion.objects.filter(
        dataset__in=entries.values(), dataset__withdrawn_at=None
    ).select_related("dataset")
    newest = {row.dataset_id: row for row in rows.order_by("number")}
    return {key: newest.get(entry.pk) for key, entry in entries.items()}


def _resolve(claim: Claim, newest: dict[str, DatasetVersion | None]) -> ResolvedClaim:
    keys = [key for name in claim.names if (key := mentions.key(name)) in newest]
    if not keys:
        return ResolvedClaim(claim, None, None, "The data set is not on this hub.")
    row = newest[keys[0]]
    if row is None:
        return ResolvedClaim(claim, None, None, "The data set has no version with files.")
    split = next(
        (candidate for candidate in row.typed_splits if candidate.name == claim.split), None
    )
    if split is None:
        words = (
            f"{row} has no split {claim.split!r}." if claim.split else "The card names no split."
        )
        return ResolvedClaim(claim, row, None, words)
    if claim.metric and accuracy.measured_as(claim.metric) not in accuracy.METRICS[split.task]:
        words = f"Evaluations give no {claim.metric} for {split.task}."
        return ResolvedClaim(claim, row, split, words)
    return ResolvedClaim(claim, row, split)


def _newest_of_models(rows: Any) -> list[Version]:
    served = rows.filter(model__deleted_at=None).select_related("model__namespace")
    newest: dict[int, Version] = {}
    for row in served.order_by("number"):
        newest[row.model_id] = row
    return list(newest.values())
