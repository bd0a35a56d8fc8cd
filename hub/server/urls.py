"""Every address of the hub."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

from hub.server import health, metrics
from metadata.api import sparql

handler400 = "hub.server.middleware.bad_request"
handler403 = "hub.server.middleware.forbidden"
handler404 = "hub.server.middleware.not_found"
handler500 = "hub.server.middleware.server_error"

urlpatterns = [
    path("api/v1/schema", SpectacularJSONAPIView.as_view(), name="schema"),
    path("api/v1/", include("registry.api.urls")),
    path("api/v1/", include("registry.federated.api.urls")),
    path("api/v1/", include("runners.api.urls")),
    path("api/v1/", include("metadata.api.urls")),
    path("sparql", sparql.endpoint, name="sparql"),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("metrics", metrics.show, name="metrics"),
    path("", include("registry.protocols.onnx_hub.urls")),
    path("", include("registry.protocols.oci.urls")),
    path("", include("registry.protocols.git.urls")),
    path("", include("registry.protocols.huggingface.urls")),
    path("", include("frontend.urls")),
]
