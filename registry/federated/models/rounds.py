"""Rounds: one exchange of weights each, from a nonce to an aggregate or a reason."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from registry.federated.models.trainings import Training
from registry.models import Blob, Version
from registry.models.constraints import HEX64, matches, one_of, or_empty


class RoundState(models.TextChoices):
    OPEN = "open"
    CLOSING = "closing"
    AGGREGATED = "aggregated"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RoundMode(models.TextChoices):
    SYNC = "sync"
    BUFFERED = "buffered"


class Round(models.Model):
    """One round. Its ``base`` may be gone from storage later; the digest stays."""

    State = RoundState
    Mode = RoundMode

    LIVE = (State.OPEN, State.CLOSING)
    ENDED = (State.AGGREGATED, State.FAILED, State.CANCELLED)

    training = models.ForeignKey(Training, models.CASCADE, related_name="rounds")
    number = models.PositiveIntegerField()
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.SYNC)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    base_sha256 = models.CharField(max_length=64)
    base = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    nonce = models.CharField(max_length=32, unique=True)
    quorum = models.PositiveIntegerField()
    target = models.PositiveIntegerField(help_text="accepted contributions that end it; 0 is none")
    examples_cap = models.PositiveIntegerField()
    selected = models.JSONField(null=True, blank=True, help_text="pseudonyms; null is anyone")
    seed = models.CharField(
        max_length=64, blank=True, default="", help_text="by which the selected were drawn"
    )
    candidates = models.PositiveIntegerField(default=0, help_text="of whom they were drawn")
    opened_at = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    grace_until = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=32, blank=True, default="")
    score = models.FloatField(null=True, blank=True, help_text="on held-out data; of maintainers")
    release_asked = models.BooleanField(default=False)
    version = models.OneToOneField(
        Version, models.SET_NULL, null=True, blank=True, related_name="federated_round"
    )

    class Meta:
        ordering = ["-number", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["training", "number"], name="round_number_unique"),
            models.UniqueConstraint(
                fields=["training"],
                condition=Q(state__in=["open", "closing"]),
                name="round_one_live",
            ),
            one_of("state", RoundState, "round"),
            one_of("mode", RoundMode, "round"),
            matches("base_sha256", HEX64, "round"),
            matches("nonce", r"^[0-9a-f]{32}$", "round"),
            models.CheckConstraint(condition=Q(quorum__gte=1), name="round_quorum_positive"),
            models.CheckConstraint(
                condition=Q(target=0) | Q(target__gte=F("quorum")), name="round_target_reaches"
            ),
            models.CheckConstraint(
                condition=Q(state="open") | Q(closed_at__isnull=False), name="round_closed_has_time"
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(reason=""), name="round_failed_has_reason"
            ),
            or_empty("seed", HEX64, "round"),
            models.CheckConstraint(
                condition=Q(seed="") | Q(selected__isnull=False), name="round_seed_drew"
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True) | Q(state="aggregated"),
                name="round_score_of_result",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "closing"]) | Q(ended_at__isnull=False),
                name="round_ended_has_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["state", "deadline"],
                condition=Q(state__in=["open", "closing"]),
                name="round_live",
            ),
        ]

    def __str__(self) -> str:
        return f"round {self.number} of {self.training_id}"

    @property
    def is_live(self) -> bool:
        return self.state in self.LIVE
