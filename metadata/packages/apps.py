from __future__ import annotations

from registry.core import capability_apps


class PackageGraphsConfig(capability_apps.CapabilityApp):
    name = "metadata.packages"
    label = "package_graphs"
