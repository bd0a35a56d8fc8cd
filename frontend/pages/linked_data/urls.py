"""Addresses of graphs, and of pages that are also IRIs: as `Accept` asks, a page or a graph."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from frontend.pages.linked_data import (
    converters,  # noqa: F401 - registers `ending`
    graph_views,
    provenance_views,
    views,
)
from frontend.parts.caching import page
from frontend.parts.patterns import MODEL, VERSION
from metadata.store.entities import KINDS


class Place(StringConverter):
    """The kinds of things that graphs name, as metadata.store.entities has them."""

    regex = "|".join(KINDS)


register_converter(Place, "place")

urlpatterns = [
    path(f"{MODEL}.<ending:ending>", page(graph_views.model), name="model-graph"),
    path(MODEL, page(graph_views.model_page), name="model"),
    path(f"{MODEL}/linkset", page(graph_views.model_links), name="model-links"),
    path(f"{VERSION}.<ending:ending>", page(graph_views.version), name="version-graph"),
    path(VERSION, page(graph_views.version_page), name="version"),
    path(f"{VERSION}/linkset", page(graph_views.version_links), name="version-links"),
    path(f"{VERSION}/export/<str:filename>", page(graph_views.export), name="version-export"),
    path(f"{VERSION}/provenance", page(provenance_views.show), name="version-provenance"),
    path("devices/<slug:name>.<ending:ending>", page(views.device_graph), name="device-graph"),
    path("devices/<slug:name>", page(views.device), name="device"),
    path("jobs/<uuid:uuid>.<ending:ending>", page(views.job_graph), name="job-graph"),
    path("jobs/<uuid:uuid>", page(views.job), name="job"),
    path("ns", page(views.terms), name="ns"),
    path("ns.<ending:ending>", page(views.terms_graph), name="ns-graph"),
    path("ns/shapes.ttl", page(views.shapes), name="ns-shapes"),
    path("ns/context.jsonld", page(views.context), name="ns-context"),
    path("catalog", page(views.catalog), name="catalog"),
    path("catalog.<ending:ending>", page(views.catalog_graph), name="catalog-graph"),
    path("catalog.nq.gz", views.dumped, name="catalog-dump"),
    path(".well-known/void", page(views.void), name="void"),
    path(
        "<place:place>/<path:name>.<ending:ending>",
        page(views.thing_graph),
        name="thing-graph",
    ),
    path("<place:place>/<path:name>", page(views.thing), name="thing"),
]
