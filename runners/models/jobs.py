"""Work to be done. A job row is the job; a message about it is only a bell."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.constraints import one_of


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Pool(models.TextChoices):
    CPU = "cpu"
    BENCH_CPU = "bench-cpu"
    LIGHT = "light"


class Exclusive(models.TextChoices):
    NONE = "none"
    HOST = "host"
    GPU = "gpu"


class Job(models.Model):
    """One piece of work on a version. ``attempt`` fences off workers that come back late."""

    State = JobState

    Pool = Pool

    Exclusive = Exclusive

    ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELLED)
    LIVE = (State.QUEUED, State.RUNNING)

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20)
    version = models.ForeignKey(
        "registry.Version", models.CASCADE, null=True, blank=True, related_name="jobs"
    )
    entry = models.CharField(max_length=512, blank=True, default="")
    pool = models.CharField(max_length=32, default=Pool.CPU)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    priority = models.PositiveSmallIntegerField(default=3, help_text="0 is taken first")
    attempt = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=3)
    worker = models.CharField(max_length=100, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(default=timezone.now)
    rung_at = models.DateTimeField(null=True, blank=True)
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
    queued_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-queued_at", "pk"]
        constraints = [
            one_of("state", JobState, "job"),
            one_of("exclusive", Exclusive, "job"),
            models.UniqueConstraint(
                fields=["version", "key"],
                condition=Q(state__in=["queued", "running"]),
                name="job_live_key_unique",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(worker="") & Q(lease_until__isnull=False)),
                name="job_running_has_lease",
            ),
            models.CheckConstraint(condition=Q(progress__lte=100), name="job_progress_percent"),
        ]
        indexes = [
            models.Index(
                fields=["pool", "priority", "queued_at"],
                condition=Q(state="queued"),
                name="job_waiting",
            ),
            models.Index(fields=["lease_until"], condition=Q(state="running"), name="job_leased"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uuid}"

    @property
    def is_ended(self) -> bool:
        return self.state in self.ENDED
