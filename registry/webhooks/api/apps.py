from __future__ import annotations

from registry.core import capability_apps
from registry.core.event_verbs import EventVerbs
from registry.core.routes import Route


class WebhooksApiConfig(capability_apps.CapabilityApp):
    name = "registry.webhooks.api"
    label = "webhooks_api"
    routes = (Route("registry.webhooks.api.urls", prefix="api/v1/"),)
    events = (EventVerbs("webhook", "created disabled edited removed rotated"),)
