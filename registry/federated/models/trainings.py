"""Trainings: what devices learn together, under which rules, from which version on."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from hub.protocol.federated import Part
from hub.protocol.training_rules import Rules
from registry.federated.schedule import Schedule
from registry.models import Blob, RegisteredModel, Version
from registry.models.constraints import HEX64, one_of, or_empty


class TrainingState(models.TextChoices):
    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class BestScore(models.TextChoices):
    HIGHEST = "highest"
    LOWEST = "lowest"


class BaseData(models.TextChoices):
    """What a base version was trained on: no participant's data, or unknown data."""

    UNKNOWN = "unknown"
    UNTRAINED = "untrained"
    PUBLIC = "public"


class Training(models.Model):
    """Rounds that begin at one version of a model.

    A draft's file is read first; what that finds is the schema, which never changes afterwards, and
    neither do the rules. ``weights`` are those that the next round starts from.
    """

    State = TrainingState
    Best = BestScore
    BaseData = BaseData

    LIVE = (State.OPEN, State.PAUSED)
    OVER = (State.FINISHED, State.CANCELLED)

    uuid = models.UUIDField(default=uuid.uuid4, editable=False, unique=True)
    model = models.ForeignKey(RegisteredModel, models.PROTECT, related_name="trainings")
    number = models.PositiveIntegerField()
    base = models.ForeignKey(Version, models.PROTECT, related_name="trainings")
    base_data = models.CharField(
        max_length=9,
        choices=BaseData.choices,
        default=BaseData.UNKNOWN,
        help_text="what an uploaded base was trained on, as maintainers declare it",
    )
    entry = models.CharField(max_length=512)
    title = models.CharField(max_length=200, blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    opens_itself = models.BooleanField(default=False)
    roles = models.JSONField(default=dict, blank=True, help_text="patterns of names, by role")
    refusal = models.JSONField(default=list, blank=True, help_text="why it cannot be opened")
    layout = models.JSONField(default=list, blank=True, help_text="name, dtype, shape and role")
    layout_sha256 = models.CharField(max_length=64, blank=True, default="")
    graph_sha256 = models.CharField(max_length=64, blank=True, default="")
    skeleton_sha256 = models.CharField(max_length=64, blank=True, default="")
    skeleton = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    weights = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    optimiser = models.ForeignKey(Blob, models.SET_NULL, null=True, blank=True, related_name="+")
    rules = models.JSONField(default=dict)
    schedule = models.JSONField(default=dict)
    selection_seed = models.CharField(
        max_length=64, blank=True, default="", help_text="of rounds' draws; secret while it goes on"
    )
    hyperparameters = models.JSONField(default=dict, blank=True, help_text="told to devices as is")
    release_every = models.PositiveIntegerField(default=10, help_text="rounds; 0 is on request")
    release_best = models.CharField(
        max_length=7, choices=Best.choices, blank=True, default="", help_text="score; empty is none"
    )
    release_publishes = models.BooleanField(default=True)
    reason = models.TextField(blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="trainings"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "number"], name="training_number_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="training_number_positive"),
            one_of("state", TrainingState, "training"),
            one_of("base_data", BaseData, "training"),
            models.CheckConstraint(
                condition=Q(release_best="") | Q(release_best__in=BestScore.values),
                name="training_release_best_known",
            ),
            or_empty("selection_seed", HEX64, "training"),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "cancelled"])
                | (Q(layout_sha256__regex=r"^[0-9a-f]{64}$") & Q(opened_at__isnull=False)),
                name="training_open_has_schema",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model.ref}/trainings/{self.number}"

    @property
    def typed_rules(self) -> Rules:
        """The rules as they are now; a draft's may still change."""
        return Rules.from_json(self.rules)

    @property
    def typed_schedule(self) -> Schedule:
        """The schedule as it is now; a draft's may still change."""
        return Schedule.from_json(self.schedule)

    @property
    def typed_layout(self) -> list[Part]:
        """Its tensors, as the worker that read the file reported them."""
        return [Part.from_json(row) for row in self.layout]

    @property
    def is_over(self) -> bool:
        return self.state in self.OVER
