from __future__ import annotations

from django.apps import AppConfig


class ProvenanceConfig(AppConfig):
    """The tables, whether or not the log is offered."""

    name = "registry.provenance"
