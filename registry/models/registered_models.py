"""Named lines of versions, and the names that may never be given again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from registry.models.constraints import matches, one_of
from registry.models.namespaces import SLUG, Namespace

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from registry.models.users import User


def listed_for_everybody(prefix: str = "") -> Q:
    """The condition that every guest may see a model: public, published once, not deleted."""
    return Q(
        **{
            f"{prefix}visibility": Visibility.PUBLIC,
            f"{prefix}first_published_at__isnull": False,
            f"{prefix}deleted_at": None,
        }
    )


class RegisteredModelQuerySet(models.QuerySet["RegisteredModel"]):
    def visible_to(self, actor: User | AnonymousUser) -> Self:
        """Models that ``actor`` may know of: public ones that ever published, and their own."""
        rows = self.filter(deleted_at=None)
        public = listed_for_everybody()
        if not actor.is_authenticated:
            return rows.filter(public)
        if actor.is_admin:
            return rows
        mine = Namespace.objects.filter(memberships__user=actor)
        if actor.access_token and actor.access_token.namespace_id:
            mine = mine.filter(pk=actor.access_token.namespace_id)
        return rows.filter(public | Q(namespace__in=mine))


class Visibility(models.TextChoices):
    PUBLIC = "public"
    PRIVATE = "private"


class RegisteredModel(models.Model):
    """A named line of versions, such as ``zoo/resnet50``."""

    Visibility = Visibility

    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="models")
    name = models.CharField(max_length=96)
    visibility = models.CharField(
        max_length=8, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    summary = models.CharField(max_length=300, blank=True, default="")
    license = models.CharField(max_length=64, blank=True, default="")
    task = models.CharField(max_length=64, blank=True, default="")
    keywords = models.JSONField(default=list, blank=True)
    downloads = models.BigIntegerField(default=0)
    next_number = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    first_published_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = RegisteredModelQuerySet.as_manager()

    class Meta:
        ordering = ["-updated_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                "namespace",
                Lower("name"),
                condition=Q(deleted_at=None),
                name="registeredmodel_name_unique",
            ),
            one_of("visibility", Visibility, "registeredmodel"),
            matches("name", SLUG, "registeredmodel"),
            models.CheckConstraint(
                condition=Q(next_number__gte=1), name="registeredmodel_next_number_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace.slug}/{self.name}"

    @property
    def is_public(self) -> bool:
        """Whether every guest may see it: public, published once, not deleted."""
        return (
            self.visibility == Visibility.PUBLIC
            and self.first_published_at is not None
            and self.deleted_at is None
        )

    @property
    def ref(self) -> str:
        return f"{self.namespace.slug}/{self.name}"


class RetiredName(models.Model):
    """A name that was once published and is never given to another model."""

    name = models.CharField(max_length=200, unique=True, help_text="namespace/name in lower case")
    moved_to = models.ForeignKey(
        RegisteredModel, models.CASCADE, null=True, blank=True, related_name="former_names"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name
