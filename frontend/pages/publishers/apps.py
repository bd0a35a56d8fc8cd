from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class PublishersPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.publishers"
    label = "publishers_pages"
    routes = (Route("frontend.pages.publishers.urls"),)
