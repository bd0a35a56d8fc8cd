from __future__ import annotations

from registry.core import capability_apps


class FederatedPagesConfig(capability_apps.CapabilityApp):
    name = "frontend.pages.federated"
    label = "federated_pages"
