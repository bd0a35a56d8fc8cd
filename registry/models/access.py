"""Who may have the files of a gated model, or see a private one, beside members."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.models.constraints import one_of
from registry.models.registered_models import RegisteredModel


class AccessStatus(models.TextChoices):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class AccessRequest(models.Model):
    """The access of one user to one model, on request or granted; it outlasts the model's gate."""

    Status = AccessStatus

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="access_requests")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_requests"
    )
    status = models.CharField(
        max_length=8, choices=AccessStatus.choices, default=AccessStatus.PENDING
    )
    message = models.TextField(blank=True, default="")
    asked_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="access_decisions",
        help_text="nobody, where the gate let everybody in who asked",
    )
    reason = models.CharField(max_length=500, blank=True, default="")
    covers_private = models.BooleanField(
        default=False,
        db_default=False,
        help_text="while accepted, the user also sees the model while it is private",
    )

    class Meta:
        ordering = ["asked_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "user"], name="accessrequest_unique"),
            one_of("status", AccessStatus, "accessrequest"),
            models.CheckConstraint(
                condition=Q(status="pending", decided_at=None, decided_by=None)
                | (~Q(status="pending") & Q(decided_at__isnull=False)),
                name="accessrequest_decided_has_time",
            ),
            models.CheckConstraint(
                condition=~Q(status="rejected") | Q(decided_by__isnull=False),
                name="accessrequest_rejected_by_somebody",
            ),
        ]
        indexes = [models.Index(fields=["model", "status"], name="accessrequest_by_status")]

    def __str__(self) -> str:
        return f"{self.user_id} asks for {self.model_id}: {self.status}"
