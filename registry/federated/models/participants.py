"""Who takes part: devices with a key and a token of their own, known by a pseudonym alone."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from registry.federated.models.trainings import Training
from registry.models.constraints import HEX64, matches, one_of, or_empty


class Invite(models.Model):
    """A code with which a number of devices may join; shown once, stored as a digest."""

    training = models.ForeignKey(Training, models.CASCADE, related_name="invites")
    digest = models.CharField(max_length=64, unique=True)
    group = models.CharField(max_length=64, blank=True, default="")
    uses = models.PositiveIntegerField(default=1)
    used = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            matches("digest", HEX64, "invite"),
            models.CheckConstraint(condition=Q(used__lte=F("uses")), name="invite_used_up"),
        ]

    def __str__(self) -> str:
        return f"invite {self.pk} to training {self.training_id}"


class ParticipantState(models.TextChoices):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


class Participant(models.Model):
    """A device that joined. Its token is stored nowhere; its public key verifies what it signs."""

    State = ParticipantState

    training = models.ForeignKey(Training, models.CASCADE, related_name="participants")
    pseudonym = models.CharField(max_length=24, unique=True)
    public_key = models.CharField(max_length=43, help_text="Ed25519, base64url")
    token_digest = models.CharField(max_length=64, unique=True)
    certificate = models.CharField(
        max_length=64, blank=True, default="", help_text="SHA-256 of the TLS client's; empty is any"
    )
    group = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=9, choices=State.choices, default=State.ACTIVE)
    runtime = models.CharField(max_length=100, blank=True, default="")
    capabilities = models.JSONField(default=dict, blank=True)
    joined_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            one_of("state", ParticipantState, "participant"),
            matches("token_digest", HEX64, "participant"),
            or_empty("certificate", HEX64, "participant"),
            models.UniqueConstraint(
                fields=["training", "public_key"], name="participant_key_unique"
            ),
            models.CheckConstraint(
                condition=~Q(state="revoked") | Q(ended_at__isnull=False),
                name="participant_revoked_has_time",
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym
