from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class IdentityPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.identity"
    label = "identity_pages"
    routes = (Route("frontend.pages.identity.urls"),)
