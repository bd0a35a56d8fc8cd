from __future__ import annotations

from registry.core import capability_apps


class MirrorPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.mirrors"
    label = "mirror_pages"
