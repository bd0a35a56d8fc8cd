from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class SignaturePagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.signatures"
    label = "signature_pages"
    routes = (Route("frontend.pages.signatures.urls"),)
