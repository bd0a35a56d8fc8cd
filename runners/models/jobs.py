"""Jobs: the row of a job is authoritative, messages about it are hints."""

from __future__ import annotations

import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models import Version
from registry.models.constraints import HEX64, matches, one_of, or_empty
from runners import pools
from runners.engine.reports import Report
from runners.models.workers import PoolHold


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Pool(models.TextChoices):
    """The pools every hub has; `gpu-<class>` are named by those who run them."""

    CPU = "cpu"
    BENCH_CPU = "bench-cpu"
    LIGHT = "light"


class Exclusive(models.TextChoices):
    NONE = "none"
    HOST = "host"
    GPU = "gpu"


class JobQuerySet(models.QuerySet["Job"]):
    def on_open_pools(self) -> Self:
        """Jobs of pools that are neither paused nor draining."""
        return self.exclude(pool__in=PoolHold.objects.values("pool"))

    def with_verdict(self) -> Self:
        """Jobs that came to a verdict, for the model or against it; another try gives the same."""
        return self.filter(
            Q(state=JobState.SUCCEEDED) | Q(state=JobState.FAILED, error_class=Job.DETERMINISTIC)
        )

    def shared_with(self, namespace: object) -> Self:
        """Jobs whose results serve the versions of a namespace (its key, or an ``OuterRef``).

        Its own jobs, and those of versions whose files everybody may have. What others keep in
        private changes nothing for it, neither a result nor the time until there is one.
        """
        return self.filter(
            Q(version__model__namespace=namespace) | Q(version__in=Version.objects.open_to_anyone())
        )


class Job(models.Model):
    """One piece of work on a version. ``attempt`` fences off workers that come back late."""

    State = JobState

    Pool = Pool

    Exclusive = Exclusive

    ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELLED)
    LIVE = (State.QUEUED, State.RUNNING)
    # The error class of a job whose model failed: another try would fail, too.
    DETERMINISTIC = "deterministic"
    URGENT = 0
    # Runs on inputs of somebody's own: nobody else sees them, and no file is blamed for their end.
    PERSONAL = frozenset({"run"})
    FEDERATED_CHECK = "federated-check"
    FEDERATED_AGGREGATE = "federated-aggregate"
    # Their reports tell of single contributions.
    PRIVATE = frozenset({FEDERATED_CHECK, FEDERATED_AGGREGATE})

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20)
    version = models.ForeignKey(
        "registry.Version", models.CASCADE, null=True, blank=True, related_name="jobs"
    )
    entry = models.CharField(max_length=512, blank=True, default="")
    subject = models.CharField(
        max_length=64, blank=True, default="", help_text="SHA-256 of the file it works on"
    )
    pool = models.CharField(max_length=32, default=Pool.CPU)
    queue = models.CharField(max_length=64, default=Pool.CPU)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    priority = models.PositiveSmallIntegerField(default=3, help_text="0 is taken first")
    attempt = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=3)
    worker = models.CharField(max_length=100, blank=True, default="")
    host = models.CharField(max_length=100, blank=True, default="")
    gpu = models.CharField(max_length=64, blank=True, default="")
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="the user whose budget of requested runs it counts in",
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(default=timezone.now)
    notified_at = models.DateTimeField(null=True, blank=True)
    requires = models.JSONField(default=dict, blank=True)
    exclusive = models.CharField(max_length=4, choices=Exclusive.choices, default=Exclusive.NONE)
    cancel_requested = models.BooleanField(default=False)
    progress = models.PositiveSmallIntegerField(default=0)
    phase = models.CharField(max_length=64, blank=True, default="")
    message = models.CharField(max_length=300, blank=True, default="")
    error_class = models.CharField(max_length=20, blank=True, default="")
    error_detail = models.TextField(blank=True, default="")
    input = models.JSONField(default=dict)
    report = models.JSONField(null=True, blank=True)
    key = models.CharField(max_length=64)
    content_key = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="SHA-256 of what the result depends on; empty where it is its version's alone",
    )
    shared_from = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="shares",
        help_text="the job that did the work, where another one did",
    )
    again = models.BooleanField(
        default=False, help_text="asked for once more: no earlier result answers it"
    )
    queued_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, help_text="its turn, by priority and age")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-queued_at", "pk"]
        constraints = [
            one_of("state", JobState, "job"),
            one_of("exclusive", Exclusive, "job"),
            matches("pool", pools.POOL, "job"),
            matches("queue", pools.QUEUE, "job"),
            models.UniqueConstraint(
                fields=["version", "key"],
                condition=Q(state__in=["queued", "running"]),
                name="job_live_key_unique",
            ),
            models.UniqueConstraint(
                fields=["key"],
                condition=Q(state__in=["queued", "running"], version=None),
                name="job_live_key_unique_alone",
            ),
            models.UniqueConstraint(
                fields=["host"],
                condition=Q(state="running", exclusive="host"),
                name="job_one_exclusive_per_host",
            ),
            models.UniqueConstraint(
                fields=["gpu"],
                condition=Q(state="running") & ~Q(gpu=""),
                name="job_one_per_gpu",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(worker="") & Q(lease_until__isnull=False)),
                name="job_running_has_lease",
            ),
            models.CheckConstraint(condition=Q(progress__lte=100), name="job_progress_percent"),
            or_empty("content_key", HEX64, "job"),
            models.CheckConstraint(
                condition=Q(shared_from=None)
                | (~Q(content_key="") & Q(again=False, state__in=["succeeded", "failed"])),
                name="job_shared_has_verdict",
            ),
        ]
        indexes = [
            models.Index(
                fields=["queue", "due_at"],
                condition=Q(state="queued"),
                name="job_waiting",
            ),
            models.Index(fields=["lease_until"], condition=Q(state="running"), name="job_leased"),
            models.Index(
                fields=["content_key"], condition=~Q(content_key=""), name="job_by_content"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uuid}"

    @property
    def is_ended(self) -> bool:
        return self.state in self.ENDED

    @property
    def is_shared(self) -> bool:
        """Whether another job did the work, which may be gone by now."""
        did_nothing = self.attempt == 0 and self.state == JobState.SUCCEEDED
        return self.shared_from_id is not None or did_nothing

    @property
    def failure(self) -> str:
        """Why the job failed: what stopped it, else its first finding; empty without either."""
        findings = self.typed_report.findings
        return self.error_detail or (findings[0].message if findings else "")

    @property
    def typed_report(self) -> Report:
        """What its worker reported; empty before it ended."""
        return Report.stored(self.report)

    @property
    def runtime(self) -> str:
        """The runtime that this job asks for; empty where any will do."""
        return str(self.requires.get("runtime", ""))


class AttemptOutcome(models.TextChoices):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ERRORED = "errored"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    LOST = "lost"
    CANCELLED = "cancelled"


class Attempt(models.Model):
    """One try of a job by one worker; an earlier one is never overwritten by a later."""

    Outcome = AttemptOutcome

    job = models.ForeignKey(Job, models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    worker = models.CharField(max_length=100)
    host = models.CharField(max_length=100, blank=True, default="")
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(
        max_length=10, choices=Outcome.choices, default=Outcome.RUNNING, help_text="how it ended"
    )
    detail = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["job", "number", "pk"]
        constraints = [
            one_of("outcome", AttemptOutcome, "attempt"),
            models.UniqueConstraint(fields=["job", "number"], name="attempt_number_unique"),
            models.CheckConstraint(
                condition=Q(outcome="running", ended_at=None)
                | (~Q(outcome="running") & Q(ended_at__isnull=False)),
                name="attempt_ended_has_time",
            ),
        ]
        indexes = [models.Index(fields=["ended_at"], name="attempt_by_end")]

    def __str__(self) -> str:
        return f"{self.job_id} attempt {self.number}"


class BarQuerySet(models.QuerySet["Bar"]):
    def standing_on(self, job: Job) -> Self:
        """The bar that keeps a job's file from its kind of work, in the job's own namespace."""
        if job.version is None or not job.subject:
            return self.none()
        return self.filter(
            namespace=job.version.model.namespace_id,
            subject=job.subject,
            kind=job.kind,
            runtime=job.runtime,
            lifted_at=None,
        )


class Bar(models.Model):
    """A file that ends the children of one kind of job; nobody runs it until a person lifts it.

    Each namespace has its own, so that nobody learns from a bar what others keep in private.
    """

    namespace = models.ForeignKey("registry.Namespace", models.CASCADE, related_name="+")
    subject = models.CharField(max_length=64)
    kind = models.CharField(max_length=20)
    runtime = models.CharField(max_length=30, blank=True, default="")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="bars")
    detail = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(
        "registry.User", models.PROTECT, null=True, blank=True, related_name="+"
    )

    objects = BarQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "subject", "kind", "runtime"],
                condition=Q(lifted_at=None),
                name="bar_standing_unique",
            ),
            models.CheckConstraint(
                condition=Q(lifted_at=None) | Q(lifted_by__isnull=False), name="bar_lifted_by_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject[:12]}"
