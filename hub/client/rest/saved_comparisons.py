"""The REST operations of saved comparisons, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class SavedComparison:
    """A comparison that a user saved."""

    uuid: str
    title: str
    # whose comparison it is
    username: str
    # private, or open to everyone who has the link
    sharing: str
    # the compared models that you can see, in their order
    references: tuple[str, ...]
    # number of its models that you cannot see
    unavailable: int
    created_at: datetime
    updated_at: datetime
    url: str


class SavedComparisonsGroup(Group):
    """The operations of saved comparisons."""

    def create(
        self,
        *,
        references: Annotated[
            Sequence[str], "the compared models in their order, such as zoo/resnet50@3:int8"
        ],
        title: str | None = None,
        sharing: Annotated[
            Literal["private", "link"] | None,
            "private, or link: everyone who has the link can open it",
        ] = None,
    ) -> SavedComparison:
        """Save a comparison of two to six models."""
        return self._call(
            SavedComparison,
            "POST",
            "saved-comparisons",
            content=json_of({"title": title, "sharing": sharing, "references": references}),
        )

    def delete(self, uuid: str) -> None:
        """Delete a saved comparison of yours; its link leads nowhere then."""
        self._do("DELETE", f"saved-comparisons/{part(uuid)}")

    def edit(
        self,
        uuid: str,
        *,
        title: str | None = None,
        sharing: Annotated[
            Literal["private", "link"] | None,
            "private, or link: everyone who has the link can open it",
        ] = None,
        references: Annotated[
            Sequence[str] | None, "the compared models in their order, such as zoo/resnet50@3:int8"
        ] = None,
    ) -> SavedComparison:
        """Change the title, the sharing or the models of a saved comparison of yours."""
        return self._call(
            SavedComparison,
            "PATCH",
            f"saved-comparisons/{part(uuid)}",
            content=json_of({"title": title, "sharing": sharing, "references": references}),
        )

    def list(self) -> tuple[SavedComparison, ...]:
        """List your saved comparisons, newest first."""
        return self._items(SavedComparison, "GET", "saved-comparisons")

    def read(self, uuid: str) -> SavedComparison:
        """Read a saved comparison: one of yours, or one that is shared by its link."""
        return self._call(SavedComparison, "GET", f"saved-comparisons/{part(uuid)}")
