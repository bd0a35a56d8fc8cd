from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class WebhookPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.webhooks"
    label = "webhook_pages"
    routes = (Route("frontend.pages.webhooks.urls"),)
