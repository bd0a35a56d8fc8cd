from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class CommunityConfig(capability_apps.CapabilityApp):
    name = "registry.community"
    routes = (
        Route("registry.community.api.urls", prefix="api/v1/"),
        Route("registry.community.huggingface_urls"),
    )
