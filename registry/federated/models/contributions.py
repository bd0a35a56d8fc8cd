"""What participants sent, and what was made of it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from hub.protocol.training_rules import Rules
from registry.federated.models.participants import Participant
from registry.federated.models.rounds import Round
from registry.models import Blob
from registry.models.constraints import HEX64, matches, one_of


class ContributionState(models.TextChoices):
    RECEIVED = "received"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    LATE = "late"
    USED = "used"


class Contribution(models.Model):
    """One participant's update in one round; its bytes go after a while, digest and figures stay.

    ``manifest`` is the canonical text that ``signature`` signs.
    """

    State = ContributionState

    round = models.ForeignKey(Round, models.CASCADE, related_name="contributions")
    # The round whose task it answers: the same one, but where rounds are buffers.
    answers = models.ForeignKey(Round, models.CASCADE, related_name="answers")
    participant = models.ForeignKey(Participant, models.CASCADE, related_name="contributions")
    state = models.CharField(max_length=8, choices=State.choices, default=State.RECEIVED)
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    blob = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    n = models.PositiveBigIntegerField(help_text="examples it was made from, as its sender says")
    encoding = models.CharField(max_length=24)
    base_sha256 = models.CharField(max_length=64)
    staleness = models.PositiveIntegerField(default=0, help_text="rounds behind; buffered only")
    manifest = models.TextField()
    signature = models.CharField(max_length=86)
    received_at = models.DateTimeField(default=timezone.now)
    checked_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0, help_text="checks without a verdict")
    problem = models.CharField(max_length=40, blank=True, default="")
    tensor = models.CharField(max_length=512, blank=True, default="")
    detail = models.CharField(max_length=1000, blank=True, default="")
    figures = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["participant", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["round", "participant"], name="contribution_once_per_round"
            ),
            models.UniqueConstraint(
                fields=["answers", "participant"], name="contribution_once_per_task"
            ),
            one_of("state", ContributionState, "contribution"),
            matches("sha256", HEX64, "contribution"),
            models.CheckConstraint(
                condition=Q(blob__isnull=True) | Q(blob=F("sha256")),
                name="contribution_blob_is_its_digest",
            ),
            models.CheckConstraint(condition=Q(n__gte=1), name="contribution_n_positive"),
            models.CheckConstraint(
                condition=~Q(state="rejected") | ~Q(problem=""),
                name="contribution_rejected_has_problem",
            ),
        ]
        indexes = [
            models.Index(
                fields=["round"], condition=Q(state="received"), name="contribution_waiting"
            ),
        ]

    def __str__(self) -> str:
        return f"contribution {self.pk}"


class Aggregate(models.Model):
    """What a round's contributions became: planned with its inputs in order, then made once.

    ``inputs`` are the contributions' keys, ordered by participant; ``left_out`` says why others
    are not among them.
    """

    round = models.OneToOneField(Round, models.CASCADE, related_name="aggregate")
    rules = models.JSONField()
    inputs = models.JSONField()
    left_out = models.JSONField(default=dict, blank=True)
    examples = models.PositiveBigIntegerField(default=0)
    seed = models.CharField(max_length=64, blank=True, default="", help_text="of noise; secret")
    engine = models.JSONField(default=dict, blank=True)
    job_uuid = models.UUIDField(null=True, blank=True)
    result_sha256 = models.CharField(max_length=64, blank=True, default="")
    result = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    optimiser_sha256 = models.CharField(max_length=64, blank=True, default="")
    optimiser = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    figures = models.JSONField(default=dict, blank=True)
    planned_at = models.DateTimeField(default=timezone.now)
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(result_sha256="")
                | (Q(result_sha256__regex=HEX64) & Q(made_at__isnull=False)),
                name="aggregate_made_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"aggregate of round {self.round_id}"

    @property
    def typed_rules(self) -> Rules:
        """The rules of its training when it was planned."""
        return Rules.from_json(self.rules)
