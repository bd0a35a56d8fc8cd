"""Names for versions: branches move with each commit, tags never, aliases by hand."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.models.commits import Commit
from registry.models.constraints import matches, one_of
from registry.models.registered_models import RegisteredModel
from registry.models.versions import Version


class RefKind(models.TextChoices):
    BRANCH = "branch"
    TAG = "tag"
    ALIAS = "alias"


class Ref(models.Model):
    """A name for a version of one model; a tag may name a commit that is no version (yet)."""

    Kind = RefKind

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="refs")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=100)
    version = models.ForeignKey(Version, models.PROTECT, null=True, blank=True, related_name="refs")
    commit = models.ForeignKey(Commit, models.CASCADE, null=True, blank=True, related_name="tags")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["kind", "name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "name"], name="ref_name_unique"),
            one_of("kind", RefKind, "ref"),
            matches("name", r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", "ref"),
            models.CheckConstraint(
                condition=~Q(name="latest")
                & ~Q(name__regex=r"^[0-9]+$")
                & ~Q(name__regex=r"^[0-9a-f]{40}$"),
                name="ref_name_unambiguous",
            ),
            models.CheckConstraint(
                condition=Q(version__isnull=False, commit__isnull=True)
                | Q(kind="tag", version__isnull=True, commit__isnull=False),
                name="ref_names_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return self.name
