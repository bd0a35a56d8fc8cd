from __future__ import annotations

from registry.core import capability_apps
from registry.core.event_verbs import EventVerbs
from registry.core.routes import Route


class PublishersApiConfig(capability_apps.CapabilityApp):
    name = "registry.publishers.api"
    label = "publishers_api"
    routes = (Route("registry.publishers.api.urls", prefix="api/v1/"),)
    events = (EventVerbs("publisher", "created deleted used"),)
