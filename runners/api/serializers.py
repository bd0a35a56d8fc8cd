"""Jobs and workers as the API gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry.api.addresses import api_url
from registry.api.outputs import Column, Columns, Output
from runners.engine.hardware.causes import CODES
from runners.graphs import differences
from runners.models import Attempt, Job, Worker
from runners.queue import aliases, registration, selectors


class WorkerField(serializers.CharField):
    """A worker's name for administrators, its alias for everybody else."""

    alias = staticmethod(aliases.worker)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(help_text="alias of the worker; administrators see its name", **kwargs)

    def to_representation(self, value: Any) -> str:
        return str(value) if _sees_names(self.context) else self.alias(str(value))


class HostField(WorkerField):
    """A machine's name for administrators, its alias for everybody else."""

    alias = staticmethod(aliases.host)


class RequiresField(serializers.JSONField):
    """What a job requires; the name of a machine is for administrators."""

    def to_representation(self, value: Any) -> Any:
        return value if _sees_names(self.context) else aliases.needs(value)


def _sees_names(context: Mapping[str, Any]) -> bool:
    request = context.get("request")
    return request is not None and aliases.sees_names(request.user)


def job_url(job: Job) -> str:
    """The address of a job in the API."""
    return api_url("jobs", str(job.pk))


class SourceOutput(Output[Job]):
    """The job whose result is shared, because both jobs have the same content."""

    columns = Columns(
        "uuid",
        Column("model", "version.model.ref", kind=str),
        Column("number", "version.number", kind=int),
    )


class JobOutput(Output[Job]):
    """A job with its progress and findings."""

    columns = Columns(
        "uuid",
        "kind",
        "pool",
        Column("queue", help_text="pool, plus the runtime if it has its own queue"),
        Column(
            "requires",
            field=RequiresField,
            help_text="features that a worker needs for the job",
        ),
        Column(
            "exclusive",
            kind=str,
            help_text="none, or the resource the job needs exclusively: host or gpu",
        ),
        Column("priority", help_text="0 has the highest priority"),
        "state",
        Column("model", "version.model.ref"),
        Column("number", "version.number"),
        "entry",
        "attempt",
        "max_attempts",
        Column("progress", help_text="percent"),
        "phase",
        "message",
        Column(
            "error_class",
            help_text="deterministic: caused by the model, a retry would not help; errored, crash, "
            "timeout or lost: caused by the hub; poison: the file crashed the process every time",
        ),
        "error_detail",
        "report",
        "queued_at",
        "started_at",
        "finished_at",
        Column("worker", field=WorkerField),
        Column("host", field=HostField),
        Column(
            "shared_from",
            help_text="the job whose result this is, if another version has the same content and "
            "you can see it; started_at and finished_at are then of that job",
        ),
        "url",
    )

    @extend_schema_field(SourceOutput(allow_null=True))
    def get_shared_from(self, job: Any) -> Any:
        source = selectors.source_of(job)
        return None if source is None else SourceOutput(source).data

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_report(self, job: Any) -> Any:
        # Rows that no selector gave to somebody say of gated graphs what everybody may know.
        return differences.report_of(job, may_have=getattr(job, "may_have_files", False))

    def get_url(self, job: Any) -> str:
        return f"{settings.HUB_PUBLIC_URL}/jobs/{job.uuid}"


class AttemptOutput(Output[Attempt]):
    """One attempt of a job by one worker."""

    columns = Columns(
        "number",
        Column("worker", field=WorkerField),
        Column("host", field=HostField),
        "started_at",
        "ended_at",
        Column(
            "outcome",
            kind=str,
            help_text="running, succeeded, failed, errored, crashed, timed-out, lost or cancelled",
        ),
        "detail",
    )


class JobDetailOutput(JobOutput):
    """A job with its attempts, and what it waits for."""

    columns = Columns(
        "attempts",
        Column("waiting_for", help_text="empty unless the job is queued"),
        Column("barred", help_text="whether the file is quarantined for this kind of job"),
    )

    attempts = AttemptOutput(many=True, source="attempts.all")

    def get_waiting_for(self, job: Any) -> str:
        return selectors.why_waiting(job)

    def get_barred(self, job: Any) -> bool:
        return selectors.is_barred(job)


class WorkerOutput(Output[Worker]):
    """An active worker, with the runtimes and providers that passed its tests."""

    columns = Columns(
        Column("name", field=WorkerField),
        Column("host", field=HostField),
        "queues",
        Column("slots", help_text="number of concurrent jobs"),
        Column("runtimes", help_text="name and version"),
        Column("providers", help_text="execution providers that work on this worker"),
        Column(
            "unavailable",
            help_text="runtimes and execution providers that failed their test on this worker; "
            "the reason is visible to administrators",
        ),
        Column(
            "causes",
            help_text="code and cure for each of the unavailable ones: " + ", ".join(CODES),
        ),
        Column("isolation", help_text="none, limits, partial or full"),
        "versions",
        "started_at",
        "seen_at",
    )

    def get_runtimes(self, worker: Any) -> dict[str, Any]:
        return dict(worker.typed_features.runtimes)

    def get_providers(self, worker: Any) -> list[str]:
        return list(worker.typed_features.providers)

    def get_unavailable(self, worker: Any) -> dict[str, str]:
        failed = worker.typed_features.failed
        return {name: failed[name] if _sees_names(self.context) else "" for name in sorted(failed)}

    @extend_schema_field(serializers.DictField(child=serializers.DictField()))
    def get_causes(self, worker: Any) -> dict[str, dict[str, str]]:
        rows = registration.unavailable(worker.typed_features).items()
        return {name: {"code": cause.code, "cure": cause.cure} for name, cause in rows}

    def get_isolation(self, worker: Any) -> str:
        return str(worker.typed_features.isolation.get("name", "none"))

    def get_versions(self, worker: Any) -> dict[str, str]:
        return dict(worker.typed_features.versions)
