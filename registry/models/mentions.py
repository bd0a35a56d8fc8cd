"""What the cards of versions name: the way back from a data set or a model to who uses it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from registry.models.constraints import one_of
from registry.models.datasets import Dataset
from registry.models.registered_models import RegisteredModel
from registry.models.users import User
from registry.models.versions import Version

NAME_CHARACTERS = 500


class MentionKind(models.TextChoices):
    DATASET = "dataset"
    MODEL = "model"


class Mention(models.Model):
    """A name in a version's card, in lower case; such a thing need not be there."""

    Kind = MentionKind

    version = models.ForeignKey(Version, models.CASCADE, related_name="mentions")
    kind = models.CharField(max_length=8, choices=MentionKind.choices)
    name = models.CharField(max_length=NAME_CHARACTERS)

    class Meta:
        ordering = ["kind", "name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "kind", "name"], name="mention_unique"),
            one_of("kind", MentionKind, "mention"),
        ]
        indexes = [models.Index(fields=["kind", "name"], name="mention_by_name")]

    def __str__(self) -> str:
        return f"{self.version_id} names {self.name}"


class NameConfirmation(models.Model):
    """A maintainer's word on what a name in the cards of a model means: an entry of this hub."""

    Kind = MentionKind

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="confirmed_names")
    kind = models.CharField(max_length=8, choices=MentionKind.choices)
    name = models.CharField(max_length=NAME_CHARACTERS, help_text="in lower case")
    dataset = models.ForeignKey(
        Dataset, models.CASCADE, null=True, blank=True, related_name="confirmed_names"
    )
    base = models.ForeignKey(
        RegisteredModel, models.CASCADE, null=True, blank=True, related_name="confirmed_as_base"
    )
    confirmed_by = models.ForeignKey(User, models.PROTECT, related_name="confirmed_names")
    confirmed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["model", "kind", "name"], name="nameconfirmation_unique"
            ),
            one_of("kind", MentionKind, "nameconfirmation"),
            models.CheckConstraint(
                condition=Q(kind="dataset", dataset__isnull=False, base=None)
                | Q(kind="model", dataset=None, base__isnull=False),
                name="nameconfirmation_one_entry_of_its_kind",
            ),
            models.CheckConstraint(
                condition=~Q(name="") & Q(name=Lower("name")), name="nameconfirmation_name_is_key"
            ),
            models.CheckConstraint(
                condition=Q(base=None) | ~Q(base=F("model")), name="nameconfirmation_not_itself"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} in cards of {self.model_id}"
