from __future__ import annotations

from registry.core import capability_apps
from registry.core.event_verbs import EventVerbs
from registry.core.routes import Route


class ProvenanceApiConfig(capability_apps.CapabilityApp):
    name = "registry.provenance.api"
    label = "provenance_api"
    routes = (
        Route("registry.provenance.api.urls", prefix="api/v1/"),
        Route("registry.provenance.api.well_known"),
    )
    events = (EventVerbs("version", "signed"), EventVerbs("signer", "added removed"))
