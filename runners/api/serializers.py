"""Jobs and workers as the API gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from runners.engine.benchmark.causes import CODES
from runners.graphs import differences
from runners.models import Attempt, Job, Worker
from runners.queue import aliases, registration, selectors

if TYPE_CHECKING:
    from collections.abc import Mapping


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


class SourceOutput(serializers.Serializer[Job]):
    """The job whose result is shared, because both jobs have the same content."""

    uuid = serializers.UUIDField()
    model = serializers.CharField(source="version.model.ref")
    number = serializers.IntegerField(source="version.number")


class JobOutput(serializers.Serializer[Job]):
    """A job with its progress and findings."""

    uuid = serializers.UUIDField()
    kind = serializers.CharField()
    pool = serializers.CharField()
    queue = serializers.CharField(help_text="pool, plus the runtime if it has its own queue")
    requires = RequiresField(help_text="capabilities that a worker needs for the job")
    exclusive = serializers.CharField(
        help_text="none, or the resource the job needs exclusively: host or gpu"
    )
    priority = serializers.IntegerField(help_text="0 has the highest priority")
    state = serializers.ChoiceField(Job.State.choices)
    model = serializers.CharField(source="version.model.ref", default=None, allow_null=True)
    number = serializers.IntegerField(source="version.number", default=None, allow_null=True)
    entry = serializers.CharField()
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    progress = serializers.IntegerField(help_text="percent")
    phase = serializers.CharField()
    message = serializers.CharField()
    error_class = serializers.CharField(
        help_text="deterministic: caused by the model, a retry would not help; errored, crash, "
        "timeout or lost: caused by the hub; poison: the file crashed the process every time"
    )
    error_detail = serializers.CharField()
    report = serializers.SerializerMethodField()
    queued_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    worker = WorkerField()
    host = HostField()
    shared_from = serializers.SerializerMethodField(
        help_text="the job whose result this is, if another version has the same content and you "
        "can see it; started_at and finished_at are then of that job"
    )
    url = serializers.SerializerMethodField()

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


class AttemptOutput(serializers.Serializer[Attempt]):
    """One attempt of a job by one worker."""

    number = serializers.IntegerField()
    worker = WorkerField()
    host = HostField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    outcome = serializers.CharField(
        help_text="running, succeeded, failed, errored, crashed, timed-out, lost or cancelled"
    )
    detail = serializers.CharField()


class JobDetailOutput(JobOutput):
    """A job with its attempts, and what it waits for."""

    attempts = AttemptOutput(many=True, source="attempts.all")
    waiting_for = serializers.SerializerMethodField(help_text="empty unless the job is queued")
    barred = serializers.SerializerMethodField(
        help_text="whether the file is quarantined for this kind of job"
    )

    def get_waiting_for(self, job: Any) -> str:
        return selectors.why_waiting(job)

    def get_barred(self, job: Any) -> bool:
        return selectors.is_barred(job)


class WorkerOutput(serializers.Serializer[Worker]):
    """An active worker, with the runtimes and providers that passed its tests."""

    name = WorkerField()
    host = HostField()
    queues = serializers.ListField(child=serializers.CharField())
    slots = serializers.IntegerField(help_text="number of concurrent jobs")
    runtimes = serializers.SerializerMethodField(help_text="name and version")
    providers = serializers.SerializerMethodField(
        help_text="execution providers that work on this worker"
    )
    unavailable = serializers.SerializerMethodField(
        help_text="runtimes and execution providers that failed their test on this worker; "
        "the reason is visible to administrators"
    )
    causes = serializers.SerializerMethodField(
        help_text="code and cure for each of the unavailable ones: " + ", ".join(CODES)
    )
    isolation = serializers.SerializerMethodField(help_text="none, limits, partial or full")
    versions = serializers.SerializerMethodField()
    started_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField()

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
