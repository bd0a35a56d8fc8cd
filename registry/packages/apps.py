from __future__ import annotations

from django.apps import AppConfig


class PackagesConfig(AppConfig):
    """The table of packages, whether or not they are offered."""

    name = "registry.packages"
