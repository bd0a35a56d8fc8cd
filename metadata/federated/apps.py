from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class FederatedGraphsConfig(AppConfig):
    name = "metadata.federated"
    label = "federated_graphs"

    def ready(self) -> None:
        from metadata.federated import rounds  # noqa: PLC0415 - models must be loaded first
        from metadata.graphs.version_parts import VersionPart, version_parts  # noqa: PLC0415

        routes.register(self.name, Route("metadata.federated.urls", prefix="api/v1/"))
        version_parts.register(self.name, VersionPart(rounds.part_of))
