"""Refused cards, kept for their authors until they are corrected."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from registry.models.constraints import HEX64, matches
from registry.models.registered_models import RegisteredModel
from registry.models.users import User
from registry.models.versions import Version


class RefusedCard(models.Model):
    """The bytes of a card that was refused, as they were sent.

    Only its author and the model's maintainers read it. ``version`` is the draft that it was sent
    to, while that is there; a commit that was refused made none.
    """

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="refused_cards")
    author = models.ForeignKey(User, models.CASCADE, related_name="refused_cards")
    version = models.ForeignKey(
        Version, models.SET_NULL, null=True, blank=True, related_name="refused_cards"
    )
    content = models.BinaryField()
    size = models.PositiveIntegerField(help_text="bytes")
    sha256 = models.CharField(max_length=64)
    detail = models.TextField(help_text="why it was refused")
    sent_at = models.DateTimeField()

    class Meta:
        ordering = ["-sent_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["model", "author", "sha256"], name="refusedcard_unique"
            ),
            matches("sha256", HEX64, "refusedcard"),
            models.CheckConstraint(
                condition=Q(size__gt=0, size__lte=1_000_000), name="refusedcard_size_bounded"
            ),
            models.CheckConstraint(condition=~Q(detail=""), name="refusedcard_has_detail"),
        ]

    def __str__(self) -> str:
        return f"refused card {self.pk} of {self.model_id}"
