from __future__ import annotations

from registry.core import capability_apps
from registry.core.routes import Route


class QueryPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.query"
    label = "query_pages"
    routes = (Route("frontend.pages.query.urls", closed=("/query",)),)
