"""Records that people sent of their own machines, until a worker has recomputed their outputs."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.constraints import HEX64, matches, one_of
from runners.models.jobs import Job
from runners.models.trust import EnrolledWorker


class ContributionState(models.TextChoices):
    """Only an accepted record has results; a pending one waits for the recomputation."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REFUSED = "refused"


class ContributedRecord(models.Model):
    """A record of one variant under its sender's name; its bytes are kept while it is pending.

    ``reason`` says why it was refused. An accepted one is a file of the version, and its results
    are rows of `Measurement` with the same digest.
    """

    State = ContributionState

    variant = models.ForeignKey(
        "registry.Variant", models.CASCADE, related_name="contributed_records"
    )
    contributor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    enrolled_worker = models.ForeignKey(
        EnrolledWorker, models.PROTECT, null=True, blank=True, related_name="+"
    )
    signature = models.CharField(
        max_length=86, blank=True, default="", help_text="Ed25519, of what the worker signed"
    )
    challenge = models.CharField(max_length=64)
    record_sha256 = models.CharField(max_length=64)
    content = models.BinaryField(default=bytes, help_text="canonical JSON, gzip")
    state = models.CharField(
        max_length=8, choices=ContributionState.choices, default=ContributionState.PENDING
    )
    reason = models.CharField(max_length=500, blank=True, default="")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            one_of("state", ContributionState, "contributedrecord"),
            matches("challenge", HEX64, "contributedrecord"),
            matches("record_sha256", HEX64, "contributedrecord"),
            models.UniqueConstraint(
                fields=["variant", "contributor", "record_sha256"],
                name="contributedrecord_once",
            ),
            models.CheckConstraint(
                condition=Q(state="pending", decided_at=None)
                | (~Q(state="pending") & Q(decided_at__isnull=False)),
                name="contributedrecord_decided_when_not_pending",
            ),
            models.CheckConstraint(
                condition=Q(state="refused") ^ Q(reason=""),
                name="contributedrecord_refused_for_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(enrolled_worker=None, signature="")
                | (Q(enrolled_worker__isnull=False) & ~Q(signature="")),
                name="contributedrecord_signed_by_a_worker",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.record_sha256[:12]}: {self.state}"
