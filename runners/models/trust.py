"""Who may be believed about a measurement: enrolled workers, and challenges for records."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from registry.models.constraints import HEX64, matches

# Ed25519, 32 bytes in base64url without padding.
_PUBLIC_KEY = r"^[A-Za-z0-9_-]{43}$"
_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"


class EnrolledWorker(models.Model):
    """A machine outside this hub whose key signs the records that its owner contributes.

    An administrator enrols it and revokes it; what a revoked one signed is trusted no longer.
    """

    name = models.CharField(max_length=64, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    public_key = models.CharField(max_length=43, unique=True, help_text="Ed25519, base64url")
    enrolled_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    enrolled_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            matches("name", _NAME, "enrolledworker"),
            matches("public_key", _PUBLIC_KEY, "enrolledworker"),
            models.CheckConstraint(
                condition=Q(revoked_at=None) | Q(revoked_at__gte=F("enrolled_at")),
                name="enrolledworker_revoked_after",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Challenge(models.Model):
    """A number that the hub gave somebody for one record of one version, and until when."""

    nonce = models.CharField(max_length=64, primary_key=True, help_text="32 random bytes, in hex")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    version = models.ForeignKey("registry.Version", models.CASCADE, related_name="+")
    issued_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["issued_at", "nonce"]
        constraints = [
            matches("nonce", HEX64, "challenge"),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("issued_at")), name="challenge_expires_later"
            ),
            models.CheckConstraint(
                condition=Q(used_at=None)
                | Q(used_at__gte=F("issued_at"), used_at__lte=F("expires_at")),
                name="challenge_used_in_time",
            ),
        ]

    def __str__(self) -> str:
        return self.nonce[:12]
