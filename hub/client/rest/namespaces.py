"""The REST operations of namespaces, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from types import EllipsisType

from hub.client.rest.calls import Group, explicit, json_of, part
from hub.client.rest.shared import Membership


@dataclass(frozen=True, kw_only=True)
class Namespace:
    """A namespace."""

    slug: str
    kind: str
    display_name: str


@dataclass(frozen=True, kw_only=True)
class NamespaceDetail(Namespace):
    """A namespace as its members see it; sizes in bytes."""

    used_bytes: int
    # bytes used by open uploads and by uploaded files that are not in a version
    reserved_bytes: int
    most_bytes: int
    allows_token_deletion: bool | None = None


class NamespacesGroup(Group):
    """The operations of namespaces."""

    def create(self, *, slug: str, display_name: str | None = None) -> Namespace:
        """Create an organisation that you own."""
        return self._call(
            Namespace,
            "POST",
            "namespaces",
            content=json_of({"slug": slug, "display_name": display_name}),
        )

    def edit(
        self,
        slug: str,
        *,
        display_name: str | None = None,
        quota_bytes: int | EllipsisType | None = ...,
        allows_token_deletion: bool | None = None,
    ) -> NamespaceDetail:
        """Change the name or deletions by tokens (owners), or the quota (administrators)."""
        return self._call(
            NamespaceDetail,
            "PATCH",
            f"namespaces/{part(slug)}",
            content=json_of(
                {
                    "display_name": display_name,
                    "quota_bytes": explicit(quota_bytes),
                    "allows_token_deletion": allows_token_deletion,
                }
            ),
        )

    def list(self) -> tuple[Membership, ...]:
        """List your namespaces with your role in each."""
        return self._items(Membership, "GET", "namespaces")

    def read(self, slug: str) -> NamespaceDetail:
        """Read the name and quota of a namespace; 404 for non-members."""
        return self._call(NamespaceDetail, "GET", f"namespaces/{part(slug)}")
