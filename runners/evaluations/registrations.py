"""What evaluations add to jobs, evidence and lists, and what they do after events of data sets."""

from __future__ import annotations

from registry.core import outbox
from registry.models import Dataset
from registry.versions import evidence
from registry.versions import results as version_results
from registry.versions.conditions import condition_kinds
from runners.engine.evaluation import rules
from runners.evaluations import (
    accuracy_index,
    conditions,
    result_kinds,
    results,
    scheduling,
    selectors,
)
from runners.queue.job_kinds import JobKind, job_kinds


def register(package: str) -> None:
    """Plug into the core."""
    accuracy_index.connect()
    condition_kinds.register(package, *conditions.KINDS)
    version_results.result_kinds.register(package, result_kinds.ACCURACY)
    evidence.register(
        evidence.Evidence(
            "evaluation",
            "accuracy",
            "#accuracy",
            "/evaluations",
            selectors.describe,
            scores=selectors.scores,
        )
    )
    job_kinds.register(
        package,
        JobKind(
            "evaluation",
            results.take,
            method=rules.METHOD,
            schedule_missing=scheduling.schedule_missing,
        ),
    )
    outbox.subscribe("runners.datasets", ("dataset.", "model.name-confirmed"), _on_dataset)


def _on_dataset(subject: outbox.Subject) -> None:
    """Schedule evaluations of the cards that name a data set which has a version."""
    if subject.kind == "dataset":
        for dataset in Dataset.objects.filter(pk=subject.key, withdrawn_at=None):
            scheduling.schedule_missing_on(dataset)
    elif subject.model_id is not None:
        scheduling.schedule_missing_of_model(subject.model_id)
