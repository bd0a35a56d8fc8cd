from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class StarterPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.starter"
    label = "starter_pages"
    routes = (Route("frontend.pages.starter.urls"),)
