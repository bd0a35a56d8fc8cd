"""``/metrics`` in the text format of Prometheus, for administrators and the monitoring system."""

from __future__ import annotations

import os
from hmac import compare_digest

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from hub.server import requests
from hub.server.gauges import HubCollector
from hub.server.health import is_administrator

_collector = HubCollector()


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Metrics of this gunicorn's requests and of the hub; for others there is nothing here."""
    if not (_has_token(request) or is_administrator(request)):
        raise Http404("There is nothing at /metrics.")
    encode, media_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(
        encode(_registry()), content_type=media_type, headers={"Cache-Control": "no-store"}
    )


def _has_token(request: HttpRequest) -> bool:
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    expected = settings.HUB_METRICS_TOKEN
    return (
        bool(expected)
        and kind.lower() == "bearer"
        and compare_digest(secret.strip().encode(), expected.encode())
    )


def _registry() -> CollectorRegistry:
    """What the web processes of this gunicorn have counted together, and the state of the hub."""
    registry = CollectorRegistry(auto_describe=False)
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(requests.registry)
    registry.register(_collector)
    return registry
