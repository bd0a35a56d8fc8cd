from __future__ import annotations

from registry.core import capability_apps
from registry.core.event_verbs import EventVerbs
from registry.core.routes import Route


class IdentityApiConfig(capability_apps.CapabilityApp):
    name = "registry.identity.api"
    label = "identity_api"
    events = (EventVerbs("user", "erased"), EventVerbs("scim-group", "created deleted edited"))
    routes = (
        Route("registry.identity.api.urls", prefix="api/v1/"),
        Route("registry.identity.api.scim.urls", prefix="scim/v2/"),
    )
