"""The REST operations of devices, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass

from hub.client.rest.calls import Group


@dataclass(frozen=True, kw_only=True)
class Device:
    """A class of machines with benchmark results."""

    name: str
    title: str
    # cpu or gpu
    kind: str
    measurements: int
    models: int


class DevicesGroup(Group):
    """The operations of devices."""

    def list(self) -> tuple[Device, ...]:
        """List device classes, the most measured first."""
        return self._items(Device, "GET", "devices")
