from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class StarterWorkConfig(capability_apps.CapabilityApp):
    name = "runners.starter"
    label = "starter_work"
    routes = (Route("runners.starter.urls", prefix="api/v1/"),)
