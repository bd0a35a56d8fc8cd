from __future__ import annotations

from registry.core import capability_apps


class ProvenancePagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.provenance"
    label = "provenance_pages"
