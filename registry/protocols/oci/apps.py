from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class OciConfig(capability_apps.CapabilityApp):
    name = "registry.protocols.oci"
    routes = (Route("registry.protocols.oci.urls"),)
