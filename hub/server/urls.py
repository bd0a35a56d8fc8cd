"""Every address of the hub."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

from hub.server import health, metrics
from registry.api.guests import for_guests
from registry.core.routes import routes

handler400 = "hub.server.middleware.bad_request"
handler403 = "hub.server.middleware.forbidden"
handler404 = "hub.server.middleware.not_found"
handler500 = "hub.server.middleware.server_error"

urlpatterns = [
    path("api/v1/schema", SpectacularJSONAPIView.as_view(), name="schema"),
    path("api/v1/", include("registry.api.urls")),
    path("api/v1/", include("runners.api.urls")),
    path("api/v1/", include("metadata.api.urls")),
    path("healthz", for_guests(health.alive), name="healthz"),
    path("readyz", for_guests(health.ready), name="readyz"),
    path("metrics", for_guests(metrics.show), name="metrics"),
    *(path(route.prefix, include(route.module)) for route in routes),
    path("", include("registry.protocols.huggingface.urls")),
    path("", include("frontend.urls")),
]
