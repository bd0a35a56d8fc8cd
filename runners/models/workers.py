"""Who does the work, and on which machine."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from registry.models.constraints import matches, one_of
from runners import pools
from runners.worker_features import WorkerFeatures


class Worker(models.Model):
    """A process that takes jobs; ``seen_at`` is its last sign of life.

    ``pool`` lists the queues it takes from, comma separated, and ``slots`` counts the jobs that it
    can do at once. ``features`` is what it found by testing itself.
    """

    name = models.CharField(max_length=100, unique=True)
    host = models.CharField(max_length=100)
    pool = models.CharField(max_length=200)
    slots = models.PositiveSmallIntegerField(default=1)
    features = models.JSONField(default=dict)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def queues(self) -> list[str]:
        return pools.queues_of(self.pool.split(","))

    @property
    def typed_features(self) -> WorkerFeatures:
        return WorkerFeatures.read(self.features)


class HoldState(models.TextChoices):
    """Why a pool hands out no job: until further notice, or so that its workers can be stopped."""

    PAUSED = "paused"
    DRAINING = "draining"


class PoolHold(models.Model):
    """A pool that hands out no job; the others are open. Its running jobs go on to their end."""

    State = HoldState

    pool = models.CharField(max_length=32, unique=True)
    state = models.CharField(max_length=8, choices=HoldState.choices)
    reason = models.CharField(max_length=300, blank=True, default="")
    held_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    held_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pool", "pk"]
        constraints = [
            one_of("state", HoldState, "pool_hold"),
            matches("pool", pools.POOL, "pool_hold"),
        ]

    def __str__(self) -> str:
        return f"{self.pool} {self.state}"


class Host(models.Model):
    """A machine; its row is locked while a job is claimed there, so that exclusive means alone.

    A job that wants the host for itself reserves it, and only urgent work starts until it has run
    or the reservation has passed.
    """

    name = models.CharField(max_length=100, unique=True)
    reserved_for = models.ForeignKey(
        "runners.Job", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reserved_until = models.DateTimeField(null=True, blank=True)
    calibration = models.JSONField(
        null=True, blank=True, help_text="how quiet it is, from running one file against itself"
    )
    calibrated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name
