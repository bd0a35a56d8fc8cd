"""Evaluations on devices: the result of a round and released weights, compared on local data."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from registry.federated.models.participants import Participant
from registry.federated.models.rounds import Round
from registry.federated.schedule import FEWEST_REPORTS
from registry.federated.scores import Scores
from registry.models import Blob
from registry.models.constraints import HEX64, matches, one_of


class DeviceEvaluationState(models.TextChoices):
    """Open, or ended: it passes where the median change is at least that of the rules."""

    OPEN = "open"
    PASSED = "passed"
    FAILED = "failed"
    BELOW_QUORUM = "below-quorum"
    CANCELLED = "cancelled"


class DeviceEvaluation(models.Model):
    """One comparison of a round's result (the candidate) with the weights released before it.

    ``releases`` says whether the round becomes a version when it passes. ``scores`` are computed
    once, when it ends.
    """

    State = DeviceEvaluationState

    round = models.ForeignKey(Round, models.CASCADE, related_name="evaluations")
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    nonce = models.CharField(max_length=32, unique=True)
    base_sha256 = models.CharField(max_length=64)
    base = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    candidate_sha256 = models.CharField(max_length=64)
    candidate = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    quorum = models.PositiveIntegerField()
    target = models.PositiveIntegerField(help_text="reports that end it; 0 is none")
    releases = models.BooleanField(default=False)
    opened_at = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    scores = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            one_of("state", DeviceEvaluationState, "deviceevaluation"),
            matches("nonce", r"^[0-9a-f]{32}$", "deviceevaluation"),
            matches("base_sha256", HEX64, "deviceevaluation"),
            matches("candidate_sha256", HEX64, "deviceevaluation"),
            models.UniqueConstraint(
                fields=["round"], condition=Q(state="open"), name="deviceevaluation_one_open"
            ),
            models.CheckConstraint(
                condition=Q(quorum__gte=FEWEST_REPORTS), name="deviceevaluation_quorum"
            ),
            models.CheckConstraint(
                condition=Q(state="open") | Q(ended_at__isnull=False, base=None, candidate=None),
                name="deviceevaluation_ended_holds_nothing",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["passed", "failed"]) | ~Q(scores={}),
                name="deviceevaluation_verdict_has_scores",
            ),
        ]
        indexes = [
            models.Index(
                fields=["deadline"], condition=Q(state="open"), name="deviceevaluation_open"
            ),
        ]

    def __str__(self) -> str:
        return f"evaluation {self.pk} of round {self.round_id}"

    @property
    def typed_scores(self) -> Scores | None:
        """What the reports say together; None while it is open, and of too few reports."""
        return Scores.from_json(self.scores) if self.scores else None


class DeviceReport(models.Model):
    """One participant's report: right answers of both models among ``n`` examples.

    ``manifest`` is the canonical text that ``signature`` signs. With a ``problem`` it counts for
    nothing.
    """

    evaluation = models.ForeignKey(DeviceEvaluation, models.CASCADE, related_name="reports")
    participant = models.ForeignKey(Participant, models.CASCADE, related_name="reports")
    n = models.PositiveBigIntegerField(help_text="examples, as its sender says")
    base_right = models.PositiveBigIntegerField()
    candidate_right = models.PositiveBigIntegerField()
    manifest = models.TextField()
    signature = models.CharField(max_length=86)
    problem = models.CharField(max_length=40, blank=True, default="")
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["participant", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "participant"], name="devicereport_once"),
            models.CheckConstraint(
                condition=Q(n__gte=1, base_right__lte=F("n"), candidate_right__lte=F("n")),
                name="devicereport_right_of_all",
            ),
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"

    @property
    def group(self) -> str:
        """The group of its participant; empty for none."""
        return self.participant.group

    @property
    def change(self) -> float:
        """The share of right answers of the candidate less that of the base, from -1 to 1."""
        return (self.candidate_right - self.base_right) / self.n
