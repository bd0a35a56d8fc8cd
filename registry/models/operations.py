"""Records of the hub's maintenance and its costs, for its operators."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from registry.models.constraints import at_most


class PeriodicTask(models.Model):
    """The newest runs of a periodic task: the last success, what it did, and the last failure.

    ``done`` counts what the task did in its last successful run, such as files that it deleted,
    and ``done_bytes`` their size.
    """

    name = models.CharField(max_length=40, primary_key=True)
    succeeded_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(default=0)
    done = models.BigIntegerField(default=0)
    done_bytes = models.BigIntegerField(default=0)
    failed_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True, default="")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class WorkTotal(models.Model):
    """Attempts at jobs of one kind that ended in one way, since the hub began, and their cost.

    ``seconds`` is wall-clock time. CPU time and energy are totals of those attempts for which they
    were measured, ``cpu_attempts`` and ``metered_attempts`` of them.
    """

    kind = models.CharField(max_length=20)
    outcome = models.CharField(max_length=10)
    attempts = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    cpu_attempts = models.BigIntegerField(default=0)
    cpu_seconds = models.FloatField(default=0)
    metered_attempts = models.BigIntegerField(default=0)
    joules = models.FloatField(default=0)

    class Meta:
        ordering = ["kind", "outcome"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "outcome"], name="worktotal_unique"),
            models.CheckConstraint(
                condition=Q(attempts__gte=0, seconds__gte=0, cpu_seconds__gte=0, joules__gte=0),
                name="worktotal_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.outcome}"


class Lease(models.Model):
    """Work that one process does at a time, until ``expires_at`` by the database's clock."""

    name = models.CharField(max_length=60, primary_key=True)
    holder = models.CharField(max_length=200, blank=True, default="")
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class MaintenanceMode(models.Model):
    """The one row that says whether the hub accepts changes, and the text above all pages.

    ``ends_at`` is when administrators expect the end of the maintenance; it ends nothing itself.
    """

    ONLY = 1
    LONGEST_BANNER = 500

    id = models.SmallIntegerField(primary_key=True, default=ONLY)
    is_read_only = models.BooleanField(default=False)
    banner = models.CharField(max_length=LONGEST_BANNER, blank=True, default="")
    ends_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="maintenancemode_only"),
            at_most("banner", 500, "maintenancemode"),
        ]

    def __str__(self) -> str:
        return "read-only" if self.is_read_only else "normal"
