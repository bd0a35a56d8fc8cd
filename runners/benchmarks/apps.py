from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class BenchmarksConfig(capability_apps.CapabilityApp):
    name = "runners.benchmarks"
    routes = (Route("runners.api.benchmarks.urls", prefix="api/v1/"),)
