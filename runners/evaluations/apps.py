from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class EvaluationsConfig(capability_apps.CapabilityApp):
    name = "runners.evaluations"
    routes = (Route("runners.api.evaluations.urls", prefix="api/v1/"),)
