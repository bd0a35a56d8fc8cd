from __future__ import annotations

from django.apps import AppConfig


class FederatedConfig(AppConfig):
    name = "registry.federated"
    label = "federated"
    default_auto_field = "django.db.models.BigAutoField"
