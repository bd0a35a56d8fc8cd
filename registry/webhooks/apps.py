from __future__ import annotations

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """The tables, whether or not webhooks are offered."""

    name = "registry.webhooks"
