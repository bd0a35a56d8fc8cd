from __future__ import annotations

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    """The tables of the security log, whether or not it is kept."""

    name = "registry.identity"
