"""Tokens for programs: shown once, stored as a digest, and perhaps limited."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import Q

from registry.models.constraints import HEX64, matches
from registry.models.namespaces import Namespace


@dataclass(frozen=True, slots=True)
class Reach:
    """The keys of the namespaces and of the models that a limited token reaches, and no others."""

    namespaces: frozenset[int]
    models: frozenset[int]

    def covers(self, *, namespace: int | None, model: int | None = None) -> bool:
        """Whether a namespace, or a model of it, is reached."""
        return namespace in self.namespaces or model in self.models

    def rows(self, *, namespace: str = "namespace", model: str = "") -> Q:
        """The condition that a row is reached, by its columns; ``model`` is empty for none."""
        reached = Q(**{f"{namespace}__in": self.namespaces})
        return reached | Q(**{f"{model}__in": self.models}) if model else reached


class AccessToken(models.Model):
    """A token's digest and what it may do; the token itself is stored nowhere.

    ``namespace`` limits it to a namespace; where ``is_limited``, its ``limits`` do, and one whose
    limits are gone reaches what everyone does.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12)
    scopes = models.JSONField(default=list)
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True)
    is_limited = models.BooleanField(
        default=False, db_default=False, help_text="whether it reaches its limits alone"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [
            matches("digest", HEX64, "accesstoken"),
            models.CheckConstraint(
                condition=Q(is_limited=False) | Q(namespace=None), name="accesstoken_limited_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"

    @cached_property
    def reach(self) -> Reach | None:
        """What it reaches; None for whatever its user does."""
        if self.namespace_id is not None:
            return Reach(frozenset({self.namespace_id}), frozenset())
        if not self.is_limited:
            return None
        rows = self.limits.values_list("namespace", "model")
        namespaces, reached = zip(*rows, strict=True) if rows else ((), ())
        return Reach(frozenset(namespaces) - {None}, frozenset(reached) - {None})

    @property
    def namespaces(self) -> list[str]:
        """The names of the namespaces that it is limited to."""
        if self.namespace:
            return [self.namespace.slug]
        return [limit.namespace.slug for limit in self.limits.all() if limit.namespace]

    @property
    def models(self) -> list[str]:
        """The names of the models that it is limited to."""
        return [limit.model.ref for limit in self.limits.all() if limit.model]

    @property
    def limited_to(self) -> list[str]:
        """The names of both."""
        return [*self.namespaces, *self.models]

    @property
    def has_limits(self) -> bool:
        """Whether it reaches less than its user, if only since its limits are gone."""
        return self.is_limited or self.namespace_id is not None


class TokenLimit(models.Model):
    """A namespace or a model that a limited token reaches."""

    token = models.ForeignKey(AccessToken, models.CASCADE, related_name="limits")
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True)
    model = models.ForeignKey("registry.RegisteredModel", models.CASCADE, null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(namespace=None, model__isnull=False)
                | Q(namespace__isnull=False, model=None),
                name="tokenlimit_of_one_thing",
            ),
            models.UniqueConstraint(fields=["token", "namespace"], name="tokenlimit_namespace"),
            models.UniqueConstraint(fields=["token", "model"], name="tokenlimit_model"),
        ]

    def __str__(self) -> str:
        return str(self.namespace or self.model)
