"""Namespaces and who belongs to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

from registry.models.constraints import matches, one_of

SLUG = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,94}[A-Za-z0-9])?$"


class NamespaceKind(models.TextChoices):
    USER = "user"
    ORG = "org"


class Namespace(models.Model):
    """Who publishes: a user or an organisation."""

    Kind = NamespaceKind

    slug = models.CharField(max_length=96)
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.ORG)
    display_name = models.CharField(max_length=200, blank=True, default="")
    quota_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="most bytes of files; null means the hub's preset"
    )
    allows_token_deletion = models.BooleanField(
        default=True,
        db_default=True,
        help_text="whether tokens without the scope admin may delete and move models",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug", "pk"]
        constraints = [
            models.UniqueConstraint(Lower("slug"), name="namespace_slug_unique"),
            one_of("kind", NamespaceKind, "namespace"),
            matches("slug", SLUG, "namespace"),
        ]

    def __str__(self) -> str:
        return self.slug


class Role(models.TextChoices):
    READER = "reader"
    WRITER = "writer"
    MAINTAINER = "maintainer"
    OWNER = "owner"


class Membership(models.Model):
    """What a user may do in a namespace."""

    Role = Role

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)

    class Meta:
        ordering = ["namespace_id", "user_id", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "user"], name="membership_unique"),
            one_of("role", Role, "membership"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.namespace_id}"
