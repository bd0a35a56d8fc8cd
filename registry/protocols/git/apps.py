from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class GitConfig(capability_apps.CapabilityApp):
    name = "registry.protocols.git"
    routes = (Route("registry.protocols.git.urls"),)
