from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class SparqlConfig(capability_apps.CapabilityApp):
    name = "metadata.sparql"
    routes = (Route("metadata.sparql.urls", closed=("/sparql",)),)
