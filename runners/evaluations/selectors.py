"""Measurements of a version beside the claims of its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import F, Max, QuerySet

from hub.protocol import accuracy, pairs, problems
from hub.protocol.figures import Status
from hub.protocol.vocabularies import SHARES
from registry.core.prepared_queries import Prepared
from registry.versions import evidence
from runners.evaluations import scheduling
from runners.models import Evaluation, Job

if TYPE_CHECKING:
    from hub.protocol.pairs import Pairs
    from registry.cards.claims import Claim
    from registry.models import Variant, Version

# How much a claim must exceed the interval of a measurement to count as too high.
EXCESS = 0.01


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement of a variant, with the card's claim if it is the main variant.

    A claim about the model does not apply to its other precisions. ``pairs`` compares the rows of
    an accuracy with those of the variant from which this one was made; None where one has none.
    """

    row: Evaluation
    claimed: float | None = None
    pairs: Pairs | None = None

    @property
    def is_less(self) -> bool:
        """Whether the claim exceeds the interval by at least 0.01; only for shares."""
        interval = self.row.figure.interval
        return (
            self.claimed is not None
            and interval is not None
            and self.row.metric in SHARES
            # Rounded, so that 0.99 exceeds 0.98 by exactly 0.01.
            and round(self.claimed - interval.high, 9) >= EXCESS
        )


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A claim that no measurement stands beside, and why; ``job`` is the one that will, or failed.

    ``state`` is `queued`, `running` or `not measured`.
    """

    claim: Claim
    state: str
    reason: str
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The measurements of a version, main variant first, and claims without one."""

    measured: list[Measured]
    unmeasured: list[Unmeasured]


def rows_of(*versions: Version | int) -> QuerySet[Evaluation]:
    """The newest measurement of each variant, split and metric, on the newest data that it had.

    A measurement counts only while its variant still is the file that was run.
    """
    valid = Evaluation.objects.filter(
        variant__version__in=versions, entry_sha256=F("variant__entry__blob")
    )
    groups = valid.order_by().values("variant", "dataset_version__dataset", "split", "metric")
    newest = groups.annotate(newest=Max("pk")).values("newest")
    rows = valid.filter(pk__in=newest).select_related("variant__entry", "dataset_version__dataset")
    rows = rows.order_by("variant", "dataset_version", "split", "pk")
    return rows.defer("right_rows")


# Every page that shows accuracy asks for them.
_OF_VERSION = Prepared(lambda version_id: rows_of(version_id).defer(None))


def describe(version: Version, pk: int) -> str:
    """One measurement of a version in a few words; raises NotFound."""
    rows = Evaluation.objects.filter(variant__version=version, pk=pk)
    row = problems.expect(
        rows.select_related("dataset_version__dataset", "variant").first(),
        problems.NotFound(f"{version.ref} has no evaluation {pk}."),
    )
    return (
        f"{row.metric} {row.value:.4g} on {row.dataset_version.dataset.slug}, {row.split}, "
        f"{row.variant.name}"
    )


def scores(version: Version) -> list[dict[str, Any]]:
    """The measurements of the main variant as entries of `.eval_results` files.

    The source is the page that has the evidence. There is no `verifyToken`: that is a signature of
    another hub. Source of the format: hub-docs, eval_results.yaml.
    """
    main = version.variants.order_by("pk").first()
    if main is None:
        return []
    page = f"{settings.HUB_PUBLIC_URL}{evidence.path(version, scheduling.KIND, 0)}"
    return [
        {
            "dataset": {
                "id": row.dataset_version.dataset.slug,
                "task_id": f"{row.split}:{row.metric}",
                "revision": str(row.dataset_version.number),
            },
            "value": accuracy.stated(row.value),
            "date": row.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "source": {"url": page, "name": "Measured by this ONNX model hub"},
            "notes": _score_notes(row),
        }
        for row in rows_of(version).filter(variant=main)
    ]


def _score_notes(row: Evaluation) -> str:
    interval = row.figure.interval
    words = f"measured: {row.metric} of {row.variant.name} on {row.rows} rows of {row.split}"
    if interval is None:
        return f"{words}, no interval"
    low, high = accuracy.stated(interval.low), accuracy.stated(interval.high)
    return f"{words}, {int(interval.level)} % interval {low} to {high} ({interval.method})"


def shared(variants: Sequence[Variant]) -> dict[int, Evaluation]:
    """One figure of each measured variant, by its key: on the split that most of them share."""
    by_variant: dict[int, dict[tuple[int, str, str], Evaluation]] = {}
    versions = {variant.version_id: variant.version for variant in variants}
    for row in rows_of(*versions.values()).filter(metric__in=accuracy.LEADING):
        key = (row.dataset_version_id, row.split, row.metric)
        by_variant.setdefault(row.variant_id, {})[key] = row
    own = {pk: by_variant[pk] for pk in {row.pk for row in variants} if pk in by_variant}
    counts = Counter(sorted(key for rows in own.values() for key in rows))
    order = [key for key, _ in counts.most_common()]
    return {pk: rows[next(key for key in order if key in rows)] for pk, rows in own.items()}


def overview(version: Version) -> Overview:
    """The measurements of a version, and why claims have none."""
    claims = scheduling.resolved(version)
    # Only claims are compared with the main variant, and wait for jobs of it.
    main = version.variants.order_by("pk").select_related("entry").first() if claims else None
    claimed = {
        (row.dataset.dataset_id, row.split.name, row.metric): row.claim.value
        for row in claims
        if row.dataset and row.split and row.metric
    }
    rows = []
    evaluations = sorted(_OF_VERSION.instances(version.pk), key=_place)
    accuracies: dict[tuple[int | None, int, str], Evaluation] = {
        (row.variant_id, row.dataset_version_id, row.split): row
        for row in evaluations
        if row.right_rows is not None
    }
    for row in evaluations:
        is_main = main is not None and row.variant_id == main.pk
        source = accuracies.get((row.variant.derived_from_id, row.dataset_version_id, row.split))
        claim_value = claimed.get(_subject(row)) if is_main else None
        rows.append(Measured(row, claim_value, _pairs(source, row)))
    done = {_subject(scored.row) for scored in rows if main and scored.row.variant_id == main.pk}
    jobs = _jobs(version, main.entry.path) if main else {}
    lacking = []
    for claim in claims:
        key = (claim.dataset.dataset_id if claim.dataset else 0, claim.claim.split, claim.metric)
        if key in done:
            continue
        job = None
        if not claim.reason and claim.dataset is not None:
            job = jobs.get((claim.dataset.dataset.slug, claim.claim.split))
        lacking.append(_unmeasured(claim, job))
    return Overview(rows, lacking)


def _pairs(source: Evaluation | None, row: Evaluation) -> Pairs | None:
    if source is None or source.right_rows is None or row.right_rows is None:
        return None
    if (source.rows, source.method) != (row.rows, row.method):
        return None
    return pairs.compare(bytes(source.right_rows), bytes(row.right_rows), row.rows)


def _subject(row: Evaluation) -> tuple[int, str, str]:
    """The data set, split and metric of a measurement."""
    return row.dataset_version.dataset_id, row.split, row.metric


def _unmeasured(row: scheduling.ResolvedClaim, job: Job | None) -> Unmeasured:
    if row.reason or job is None:
        reason = row.reason or "No evaluation was queued yet."
        return Unmeasured(row.claim, str(Status.UNMEASURED), reason)
    if job.state in Job.LIVE:
        return Unmeasured(row.claim, str(job.state), "", job)
    report = job.typed_report
    skipped = report.facts.get("skipped")
    if job.state == Job.State.SUCCEEDED and isinstance(skipped, dict):
        reason = str(skipped.get(row.metric, "The evaluation gave no such figure."))
    else:
        errors = [finding.message for finding in report.findings if finding.severity == "error"]
        reason = " ".join(errors) or job.error_detail or f"The job was {job.state}."
    return Unmeasured(row.claim, str(Status.UNMEASURED), reason, job)


def _jobs(version: Version, entry: str) -> dict[tuple[Any, Any], Job]:
    rows = Job.objects.filter(version=version, kind=scheduling.KIND, entry=entry)
    return {
        (job.input.get("dataset"), job.input.get("split", {}).get("name")): job
        for job in rows.order_by("queued_at", "pk")
    }


def _place(row: Evaluation) -> tuple[Any, ...]:
    slug = row.dataset_version.dataset.slug
    return row.variant_id, slug, row.split, accuracy.ALL.index(row.metric)
