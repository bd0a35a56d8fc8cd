from __future__ import annotations

from registry.core import capability_apps
from registry.core.event_verbs import EventVerbs
from registry.core.routes import Route


class PackagesWorkConfig(capability_apps.CapabilityApp):
    name = "runners.packages"
    label = "packages_work"
    events = (EventVerbs("package", "checked measured"),)
    routes = (Route("runners.packages.urls", prefix="api/v1/"),)
