"""Names for versions: branches move with each commit, tags never, aliases by hand."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.commits import Commit
from registry.models.constraints import HEX40, matches, one_of
from registry.models.registered_models import RegisteredModel
from registry.models.versions import Version

NAME = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"


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
            matches("name", NAME, "ref"),
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


class RetiredTag(models.Model):
    """The name of a deleted tag, which may only name the same commit again."""

    model = models.ForeignKey(RegisteredModel, models.PROTECT, related_name="retired_tags")
    name = models.CharField(max_length=100)
    commit_id = models.CharField(max_length=40)
    retired_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "name"], name="retiredtag_name_unique"),
            matches("commit_id", HEX40, "retiredtag"),
        ]

    def __str__(self) -> str:
        return self.name


class AliasRule(models.Model):
    """The evidence that a version needs before an alias may name it; it outlives the alias.

    ``conditions`` are objects as `registry.versions.conditions` reads them.
    """

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="alias_rules")
    alias = models.CharField(max_length=100)
    conditions = models.JSONField(default=list)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["alias", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "alias"], name="aliasrule_unique"),
            matches("alias", NAME, "aliasrule"),
            models.CheckConstraint(condition=~Q(conditions=[]), name="aliasrule_has_conditions"),
        ]

    def __str__(self) -> str:
        return f"rule of {self.alias}"
