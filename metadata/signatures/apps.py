from __future__ import annotations

from registry.core import capability_apps


class SignatureGraphsConfig(capability_apps.CapabilityApp):
    name = "metadata.signatures"
    label = "signature_graphs"
