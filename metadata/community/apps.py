from __future__ import annotations

from django.apps import AppConfig


class CommunityGraphsConfig(AppConfig):
    name = "metadata.community"
    label = "community_graphs"

    def ready(self) -> None:
        from metadata.community import graphs, stored  # noqa: PLC0415 - models come first
        from metadata.store.sources import GraphSource, graph_sources  # noqa: PLC0415
        from registry.core import outbox  # noqa: PLC0415
        from registry.models import Collection  # noqa: PLC0415

        source = GraphSource(Collection.objects.all, stored.refresh, graphs.public)
        graph_sources.register(self.name, source)
        outbox.subscribe("metadata.collections", ("collection.",), stored.on_collection)
        outbox.subscribe("metadata.collected", ("version.published", "model."), stored.on_model)
