from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class TryoutsConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.tryouts"
    routes = (Route("frontend.pages.tryouts.urls", closed=("/runtime/", "/models/*/v/*/try")),)
