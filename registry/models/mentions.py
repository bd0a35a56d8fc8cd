"""What the cards of versions name: the way back from a data set or a model to who uses it."""

from __future__ import annotations

from django.db import models

from registry.models.constraints import one_of
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
