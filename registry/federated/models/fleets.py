"""Fleets: devices that run a model, the version that they should run, and who they are."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from registry.models import RegisteredModel, Version
from registry.models.constraints import HEX64, matches, one_of

NAME = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"


class Fleet(models.Model):
    """A group of devices. ``desired`` goes to ``percent`` of them; the others keep ``stable``."""

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="fleets")
    name = models.CharField(max_length=64)
    token_digest = models.CharField(max_length=64, unique=True)
    stable = models.ForeignKey(Version, models.PROTECT, null=True, blank=True, related_name="+")
    desired = models.ForeignKey(Version, models.PROTECT, null=True, blank=True, related_name="+")
    percent = models.PositiveSmallIntegerField(default=0)
    required_by = models.DateTimeField(null=True, blank=True)
    halt_percent = models.PositiveSmallIntegerField(
        default=0, help_text="share of failures that halts a rollout; 0 is none"
    )
    is_halted = models.BooleanField(default=False)
    has_shared_token = models.BooleanField(
        default=True, db_default=True, help_text="whether devices may use the token of the fleet"
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "name"], name="fleet_name_unique"),
            matches("name", NAME, "fleet"),
            matches("token_digest", HEX64, "fleet"),
            models.CheckConstraint(
                condition=Q(percent__lte=100) & Q(halt_percent__lte=100), name="fleet_percent"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model.ref}/fleets/{self.name}"


class FleetInvite(models.Model):
    """A code with which a number of devices may enrol; shown once, stored as a digest."""

    fleet = models.ForeignKey(Fleet, models.CASCADE, related_name="invites")
    digest = models.CharField(max_length=64, unique=True)
    uses = models.PositiveIntegerField(default=1)
    used = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            matches("digest", HEX64, "fleetinvite"),
            models.CheckConstraint(condition=Q(used__lte=F("uses")), name="fleetinvite_used_up"),
        ]

    def __str__(self) -> str:
        return f"invite {self.pk} to fleet {self.fleet_id}"


class EnrolledDevice(models.Model):
    """A device of a fleet with a key and a token of its own; the token is stored nowhere.

    ``public_key`` (Ed25519, base64url) verifies the request that replaces both. A revoked device
    stays as a row; its name can be enrolled again with another key.
    """

    fleet = models.ForeignKey(Fleet, models.CASCADE, related_name="enrolled")
    device = models.CharField(max_length=100)
    public_key = models.CharField(max_length=43)
    token_digest = models.CharField(max_length=64, unique=True)
    enrolled_at = models.DateTimeField(default=timezone.now)
    rotated_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["device", "pk"]
        constraints = [
            matches("token_digest", HEX64, "enrolleddevice"),
            matches("public_key", r"^[A-Za-z0-9_-]{43}$", "enrolleddevice"),
            models.UniqueConstraint(
                fields=["fleet", "device"],
                condition=Q(revoked_at=None),
                name="enrolleddevice_name_unique",
            ),
            models.UniqueConstraint(
                fields=["fleet", "public_key"], name="enrolleddevice_key_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.device} of {self.fleet_id}"


class DeviceResult(models.TextChoices):
    OK = "ok"
    FAILED = "failed"


class FleetDevice(models.Model):
    """What a device said last: the manifest digest of the version it tried, and how that went."""

    Result = DeviceResult

    fleet = models.ForeignKey(Fleet, models.CASCADE, related_name="devices")
    device = models.CharField(max_length=100)
    running = models.CharField(max_length=64)
    result = models.CharField(max_length=6, choices=Result.choices)
    detail = models.CharField(max_length=500, blank=True, default="")
    reported_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["device", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["fleet", "device"], name="fleetdevice_unique"),
            matches("running", HEX64, "fleetdevice"),
            one_of("result", DeviceResult, "fleetdevice"),
        ]

    def __str__(self) -> str:
        return f"{self.device} of {self.fleet_id}"
