"""Rows from reports of evaluations. What does not fit the table is left out."""

from __future__ import annotations

import math
from typing import Any

from django.db import transaction
from django.utils import timezone

from hub.protocol import accuracy, pairs
from hub.protocol.intervals import IntervalMethod
from registry.core import events
from registry.models import DatasetVersion, Variant
from runners.models import Evaluation, Job


@transaction.atomic
def take(job: Job) -> int:
    """Write the figures of an evaluation in place of its earlier ones; returns their number."""
    version = job.version
    if version is None:
        return 0
    details = job.input
    variant = Variant.objects.filter(version=version, entry__path=job.entry).first()
    dataset = DatasetVersion.objects.filter(
        dataset__slug=details.get("dataset"), number=details.get("number")
    ).first()
    if variant is None or dataset is None or details["manifest_sha256"] != version.manifest_sha256:
        return 0
    report = job.typed_report
    facts = report.facts
    rows = [
        Evaluation(
            job=job,
            variant=variant,
            entry_sha256=job.subject,
            dataset_version=dataset,
            split=details["split"]["name"],
            metric=measure["metric"],
            value=measure["value"],
            low=measure["low"],
            high=measure["high"],
            # Workers of an earlier release name none.
            interval_method=measure.get("interval_method", IntervalMethod.PERCENTILES),
            rows=facts["rows"],
            method=str(facts["method"])[:8],
            seed=facts["seed"],
            predictions_sha256=facts["predictions_sha256"],
            right_rows=(
                pairs.read(
                    facts.get("right_rows"), facts["rows"], round(measure["value"] * facts["rows"])
                )
                if measure["metric"] == "accuracy"
                else None
            ),
            runtime=str(facts["runtime"])[:32],
            runtime_version=str(facts["runtime_version"])[:64],
            environment=report.versions,
            at=job.finished_at or timezone.now(),
        )
        for measure in report.measures
        if _fits(measure)
    ]
    for row in rows:
        Evaluation.objects.filter(
            variant=row.variant,
            entry_sha256=row.entry_sha256,
            dataset_version=row.dataset_version,
            split=row.split,
            metric=row.metric,
            method=row.method,
            runtime=row.runtime,
            runtime_version=row.runtime_version,
        ).delete()
    Evaluation.objects.bulk_create(rows)
    if rows:
        events.record("evaluation.added", version, actor=None, model=version.model)
    return len(rows)


def _fits(measure: dict[str, Any]) -> bool:
    figures = [measure.get(key) for key in ("value", "low", "high")]
    most = 1 if measure.get("metric") in accuracy.SHARES else math.inf
    return measure.get("metric") in accuracy.ALL and all(
        isinstance(figure, int | float)
        and math.isfinite(figure)
        and (-math.inf if most > 1 else 0) <= figure <= most
        for figure in figures
    )
