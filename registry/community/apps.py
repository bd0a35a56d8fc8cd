from __future__ import annotations

from registry.core import capability_apps
from registry.core.event_verbs import EventVerbs
from registry.core.routes import Route


class CommunityConfig(capability_apps.CapabilityApp):
    name = "registry.community"
    routes = (
        Route("registry.community.api.urls", prefix="api/v1/"),
        Route("registry.community.huggingface_urls"),
    )
    events = (
        EventVerbs(
            "collection",
            "created deleted edited entries-removed entry-added entry-edited entry-removed "
            "reordered",
        ),
        EventVerbs(
            "discussion",
            "closed comment-edited comment-hidden comment-shown commented opened renamed reopened",
        ),
    )
