"""Saved comparisons: a title and the references of the models that a user compares.

The positions of a comparison are a small range and unique in it, so the database itself holds it
to its largest size.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.constraints import at_most, one_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from registry.models.users import User

FEWEST_COMPARED, MOST_COMPARED = 2, 6
LONGEST_TITLE = 120
LONGEST_REFERENCE = 200


class Sharing(models.TextChoices):
    """Who can open a saved comparison: its user, or everyone who has its address."""

    PRIVATE = "private"
    LINK = "link"


class SavedComparisonQuerySet(models.QuerySet["SavedComparison"]):
    def visible_to(self, actor: User | AnonymousUser) -> Self:
        """Comparisons that ``actor`` can open: their own, and those of active users by link."""
        shared = Q(sharing=Sharing.LINK, user__is_active=True)
        return self.filter(shared | Q(user=actor.pk)) if actor.pk else self.filter(shared)


class SavedComparison(models.Model):
    """A comparison that a user saved; its address cannot be guessed."""

    Sharing = Sharing

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_comparisons"
    )
    title = models.CharField(max_length=LONGEST_TITLE)
    sharing = models.CharField(max_length=8, choices=Sharing.choices, default=Sharing.PRIVATE)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = SavedComparisonQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [
            one_of("sharing", Sharing, "savedcomparison"),
            models.CheckConstraint(condition=~Q(title=""), name="savedcomparison_has_title"),
            at_most("title", LONGEST_TITLE, "savedcomparison"),
        ]

    def __str__(self) -> str:
        return f"comparison {self.uuid}"


class ComparedReference(models.Model):
    """A reference in a saved comparison, such as ``zoo/resnet50@3:int8``."""

    comparison = models.ForeignKey(
        SavedComparison, models.CASCADE, related_name="compared_references"
    )
    position = models.PositiveSmallIntegerField()
    reference = models.CharField(max_length=LONGEST_REFERENCE)

    class Meta:
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "position"], name="comparedreference_position_unique"
            ),
            models.UniqueConstraint(
                fields=["comparison", "reference"], name="comparedreference_unique"
            ),
            models.CheckConstraint(
                condition=Q(position__lt=MOST_COMPARED), name="comparedreference_position_in_range"
            ),
            models.CheckConstraint(
                condition=~Q(reference=""), name="comparedreference_has_reference"
            ),
            at_most("reference", LONGEST_REFERENCE, "comparedreference"),
        ]

    def __str__(self) -> str:
        return self.reference
