from __future__ import annotations

from registry.core import capability_apps


class CommunityPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.community"
    label = "community_pages"
