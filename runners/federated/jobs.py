"""Trainings at work: schemas are read, contributions checked, rounds aggregated, each by a job.

Jobs that look at contributions belong to no version and name rows alone: which bytes they get is
looked up when they begin, and what they find is for the training's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from django.db import DatabaseError
from django.utils import timezone

from hub.protocol import federated, problems
from registry.core.outbox import Subject
from registry.federated.models import Aggregate, Contribution, Round, Training
from registry.federated.services import contributions, evaluations, rounds, trainings
from registry.federated.services.contributions import Verdict
from runners.engine.reports import Report
from runners.models import Job
from runners.queue import services
from runners.queue.job_kinds import GoneError, Staged

log = structlog.get_logger(__name__)

SCHEMA = "federated-schema"
CHECK, AGGREGATE = Job.FEDERATED_CHECK, Job.FEDERATED_AGGREGATE
BASE, OPTIMISER = "base.safetensors", "optimiser.safetensors"
# How often workers look for rounds that no event announces, and the queues of those that look.
ROUND_SECONDS = 0.5
QUEUES = frozenset({"light", "cpu.urgent"})
# Most contributions that one job checks.
TOGETHER = 256
HISTORY = 5
# Ends of a job that say nothing of what it was given: storage was full, or its worker was lost.
_NO_VERDICT = ("errored", "lost")
_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 30, 3600


def keep_up() -> None:
    """Do what is due for every live round and evaluation.

    Quick where nothing is, harmless however often.
    """
    for training_round in rounds.due():
        _try_to_serve(training_round)
    for evaluation in evaluations.due():
        try:
            evaluations.end(evaluation)
        except (problems.Problem, DatabaseError):
            log.exception("evaluation_not_ended", evaluation=evaluation.pk)


def serve(training_round: Round) -> None:
    """Move one round on: have its contributions checked, close it, have it aggregated."""
    plan = rounds.advance(training_round)
    if plan is not None:
        _enqueue(AGGREGATE, {"aggregate": plan.pk})
        return
    waiting = Contribution.objects.filter(
        round=training_round, state=Contribution.State.RECEIVED
    ).values_list("pk", "tries")
    fresh = [key for key, tries in waiting.order_by("pk") if not tries][:TOGETHER]
    alone = [([key], tries) for key, tries in waiting if tries][:TOGETHER]
    for keys, tries in [*([(fresh, 0)] if fresh else []), *alone]:
        if not _is_being_checked(training_round, keys):
            _enqueue(CHECK, {"round": training_round.pk, "contributions": keys, "tries": tries})


def on_event(subject: Subject) -> None:
    """Have the schema of a new training read, and a closed round aggregated."""
    if subject.kind == "training":
        row = Training.objects.filter(pk=subject.key, state=Training.State.DRAFT).first()
        if row is not None and not row.layout_sha256:
            services.enqueue(
                kind=SCHEMA,
                version=row.base,
                entry=row.entry,
                job_input={"training": row.pk, "roles": row.roles},
                priority=Job.URGENT,
            )
        return
    training_round = Round.objects.filter(pk=subject.key).select_related("training__model").first()
    if training_round is not None:
        serve(training_round)


def _try_to_serve(training_round: Round) -> None:
    """Move a round on; what is wrong with one holds up no other."""
    try:
        serve(training_round)
    except (problems.Problem, DatabaseError):
        log.exception("round_not_served", round=training_round.pk)


def _enqueue(kind: str, job_input: dict[str, Any]) -> Job:
    """Have work done; where the hub could not do it before, later each time."""
    failed = Job.objects.filter(
        kind=kind,
        version=None,
        input=job_input,
        state=Job.State.FAILED,
        error_class__in=_NO_VERDICT,
    ).count()
    wait = min(_RETRY_SECONDS * 2 ** (failed - 1), _LONGEST_RETRY_SECONDS) if failed else 0
    return services.enqueue(
        kind=kind,
        version=None,
        entry=BASE,
        job_input=job_input,
        priority=Job.URGENT,
        not_before=timezone.now() + timedelta(seconds=wait),
        once=True,
    )


def _is_being_checked(training_round: Round, keys: Iterable[int]) -> bool:
    live = Job.objects.filter(kind=CHECK, state__in=Job.LIVE, input__round=training_round.pk)
    busy = {
        key
        for job_input in live.values_list("input", flat=True)
        for key in job_input["contributions"]
    }
    return not busy.isdisjoint(keys)


def stage_check(job: Job, path_of: Callable[[str], Path]) -> Staged:
    """The base and the contributions of a check, as the rows are now; raises GoneError."""
    files = Staged(path_of)
    training_round = Round.objects.select_related("training").get(pk=job.input["round"])
    rows = Contribution.objects.filter(
        pk__in=job.input["contributions"], round=training_round, state=Contribution.State.RECEIVED
    ).select_related("participant")
    if not training_round.is_live or not rows:
        raise GoneError("The contribution was withdrawn, or its round has ended.")
    files.add(BASE, training_round.base_id)
    entries = [
        _contribution(files, row)
        | {"sha256": row.sha256, "norm_limit": training_round.training.rules["norm_limit"]}
        for row in rows
    ]
    files.options = {"tensors": training_round.training.layout, "contributions": entries}
    return files


def stage_aggregate(job: Job, path_of: Callable[[str], Path]) -> Staged:
    """The base and the contributions of an aggregation; raises GoneError."""
    files = Staged(path_of)
    plan = Aggregate.objects.select_related("round__training").get(pk=job.input["aggregate"])
    closing, training = plan.round, plan.round.training
    if closing.state != Round.State.CLOSING:
        raise GoneError(f"The round is {closing.state}.")
    files.add(BASE, closing.base_id)
    if training.optimiser_id:
        files.add(OPTIMISER, training.optimiser_id)
    rows = {
        row.pk: row
        for row in Contribution.objects.filter(pk__in=plan.inputs).select_related("participant")
    }
    entries = [
        _contribution(files, rows[key])
        | {
            "n": rows[key].n,
            "norm": rows[key].figures.get("norm"),
            "statistic_norm": rows[key].figures.get("statistic_norm"),
            "staleness": rows[key].staleness,
        }
        for key in plan.inputs
    ]
    files.options = {
        "tensors": training.layout,
        "rules": plan.rules,
        "round": closing.number,
        "contributions": entries,
        "norm_history": _norms(training, closing.number),
        **({"seed": plan.seed} if plan.seed else {}),
    }
    return files


def _contribution(files: Staged, row: Contribution) -> dict[str, Any]:
    """A contribution as the engine names it.

    One that started from older weights is a change of them: nothing asks for those weights again.
    """
    return {
        "id": row.participant.pseudonym,
        "path": files.add(f"contributions/{row.pk}", row.blob_id),
        "encoding": row.encoding,
    }


def _norms(training: Training, number: int) -> list[Any]:
    """The median norms of the newest rounds before one, newest last."""
    rows = Aggregate.objects.filter(
        round__training=training, round__number__lt=number, round__state=Round.State.AGGREGATED
    ).order_by("-round__number")
    norms = [row.figures.get("median_norm") for row in rows[:HISTORY]]
    return [norm for norm in reversed(norms) if norm is not None]


def take_schema(job: Job) -> None:
    """Open a training, or refuse it, by what was read of its file."""
    training = Training.objects.filter(pk=job.input.get("training")).first()
    if training is None:
        return
    report = job.typed_report
    findings = [finding.to_json() for finding in report.findings]
    if job.state == Job.State.SUCCEEDED:
        try:
            trainings.take_schema(training=training, **_schema(report))
        except (KeyError, TypeError, ValueError) as error:
            findings.append(_finding(f"The worker's response cannot be read: {error!r}."))
        else:
            return
    if not findings:
        findings.append(_finding(job.error_detail or f"The job was {job.state}."))
    trainings.refuse_schema(training=training, findings=findings)


def _schema(report: Report) -> dict[str, Any]:
    """A report's schema, with its digest recomputed; raises KeyError, TypeError, ValueError."""
    facts = report.facts
    parts = [federated.Part.from_json(row) for row in facts["tensors"]]
    if federated.layout_digest(parts) != facts["layout_digest"]:
        raise ValueError("the layout has another digest")
    files = report.files
    return {
        "layout": parts,
        "graph_sha256": facts["graph_digest"],
        "skeleton": files[federated.MODEL],
        "weights": files[federated.WEIGHTS],
    }


def _finding(message: str) -> dict[str, str]:
    return {"code": "training-unread", "severity": "error", "message": message, "where": ""}


def take_check(job: Job) -> None:
    """Accept or reject the contributions that were checked, and move their round on."""
    keys = list(job.input["contributions"])
    entries = job.typed_report.facts.get("contributions", [])
    if job.state == Job.State.SUCCEEDED:
        by_name = {str(entry.get("id")): entry for entry in entries if isinstance(entry, dict)}
        rows = Contribution.objects.filter(pk__in=keys).select_related("participant")
        for row in rows:
            if (one := by_name.get(row.participant.pseudonym)) is not None:
                contributions.judge(row.pk, _verdict(row, one))
    if not _says_nothing(job):
        contributions.unjudged(keys)
    _go_on(job.input["round"])


def _says_nothing(job: Job) -> bool:
    return job.state == Job.State.FAILED and job.error_class in _NO_VERDICT


def _verdict(row: Contribution, facts: dict[str, Any]) -> Verdict:
    problem = str(facts.get("problem") or "")
    if not facts.get("accepted") and not problem:
        problem = contributions.CHECK_FAILED
    figures = {name: facts.get(name) for name in ("norm", "statistic_norm")}
    return Verdict(
        problem=problem,
        tensor=str(facts.get("tensor") or ""),
        detail=str(facts.get("detail") or ""),
        figures=row.figures | {name: value for name, value in figures.items() if value is not None},
    )


def take_aggregate(job: Job) -> None:
    """Finish or fail a round by its aggregation."""
    plan = (
        Aggregate.objects.select_related("round__training__model")
        .filter(pk=job.input["aggregate"])
        .first()
    )
    if plan is None:
        return
    report = job.typed_report
    outputs = report.files
    if _says_nothing(job):
        return  # no fault of the round's: it stays closing, and is tried again later
    if job.state != Job.State.SUCCEEDED or federated.WEIGHTS not in outputs:
        rounds.give_up(plan, detail=job.error_detail or f"The job was {job.state}.")
        return
    facts = dict(report.facts)
    entries = facts.pop("contributions", [])
    rounds.finish(
        plan,
        result=outputs[federated.WEIGHTS],
        optimiser=outputs.get(OPTIMISER, ""),
        engine=report.versions,
        figures=facts,
        job_uuid=job.pk,
        inputs=_figures(plan, entries),
    )


def _figures(plan: Aggregate, entries: Any) -> dict[int, dict[str, Any]]:
    rows = Contribution.objects.filter(pk__in=plan.inputs).select_related("participant")
    keys = {row.participant.pseudonym: row.pk for row in rows}
    names = ("weight", "norm", "clipped", "cosine", "used", "reason")
    return {
        keys[str(entry["id"])]: {name: entry[name] for name in names if name in entry}
        for entry in entries
        if isinstance(entry, dict) and str(entry.get("id")) in keys
    }


def _go_on(key: int) -> None:
    training_round = (
        Round.objects.filter(pk=key).select_related("training__model__namespace").first()
    )
    if training_round is not None and training_round.is_live:
        _try_to_serve(training_round)
