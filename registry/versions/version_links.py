"""What answers about a version link to: documents that capabilities have of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hub.protocol.ports import Port
from registry.models import Version


@dataclass(frozen=True, slots=True)
class VersionLink:
    """Documents about a version: what gives their addresses by their relations (RFC 8288)."""

    addresses: Callable[[Version], Mapping[str, str]]


version_links = Port(VersionLink)


def header(version: Version) -> str:
    """The value of `Link`; empty without any."""
    links = (link.addresses(version) for link in version_links)
    return ", ".join(
        f'<{address}>; rel="{relation}"' for link in links for relation, address in link.items()
    )
