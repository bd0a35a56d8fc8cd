from __future__ import annotations

from registry.core import capability_apps


class PackagePagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.packages"
    label = "package_pages"
