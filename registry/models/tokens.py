"""Tokens for programs: shown once, stored as a digest."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from registry.models.constraints import HEX64, matches
from registry.models.namespaces import Namespace


class AccessToken(models.Model):
    """A token's digest and what it may do; the token itself is stored nowhere."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12)
    scopes = models.JSONField(default=list)
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [matches("digest", HEX64, "accesstoken")]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"
