"""Deprecations: models and versions that their maintainers advise against, and what to use."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from registry.models.registered_models import RegisteredModel
from registry.models.versions import Version

# Characters of the message of a deprecation.
LONGEST_MESSAGE = 500


class Deprecation(models.Model):
    """The deprecation of a model or of a version; what is deprecated still resolves.

    The successor is a model, or with `successor_number` a version of it. A row is replaced, never
    changed.
    """

    model = models.OneToOneField(RegisteredModel, models.CASCADE, null=True, blank=True)
    version = models.OneToOneField(Version, models.CASCADE, null=True, blank=True)
    message = models.CharField(max_length=LONGEST_MESSAGE)
    successor = models.ForeignKey(
        RegisteredModel, models.PROTECT, null=True, blank=True, related_name="predecessors"
    )
    successor_number = models.PositiveIntegerField(null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(model__isnull=False, version__isnull=True)
                | Q(model__isnull=True, version__isnull=False),
                name="deprecation_of_one_thing",
            ),
            models.CheckConstraint(condition=~Q(message=""), name="deprecation_has_message"),
            models.CheckConstraint(
                condition=Q(successor_number__isnull=True)
                | Q(successor__isnull=False, successor_number__gte=1),
                name="deprecation_number_of_successor",
            ),
            models.CheckConstraint(
                condition=Q(model__isnull=True)
                | Q(successor__isnull=True)
                | ~Q(successor=F("model")),
                name="deprecation_not_by_itself",
            ),
        ]

    def __str__(self) -> str:
        return self.message
