from __future__ import annotations

from django.apps import AppConfig


class PublishersConfig(AppConfig):
    """The tables of trusted publishers, whether or not they are offered."""

    name = "registry.publishers"
