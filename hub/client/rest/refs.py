"""The REST operations of refs, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path, tail
from hub.client.rest.shared import Ref


@dataclass(frozen=True, kw_only=True)
class AliasMove:
    """A move of an alias: to which version, from when until when, by whom, and why."""

    alias: str
    # number of the version that it was moved to
    number: int
    # number of the version that it was moved from; null for a new alias
    previous: int | None
    at: datetime
    # null while it is in force
    until: datetime | None
    moved_by: str | None = None
    message: str | None = None
    # conditions of the rule that the move overrode
    unmet: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class RefDetail(Ref):
    """A name for a version, and the last move of an alias."""

    # state of the version
    state: str | None = None
    moved_at: datetime | None = None
    moved_by: str | None = None
    message: str | None = None


class RefsGroup(Group):
    """The operations of refs."""

    def delete(self, model: str, ref: str) -> None:
        """Delete a tag or alias."""
        self._do("DELETE", f"models/{model_path(model)}/refs/{tail(ref)}")

    def history(
        self,
        model: str,
        *,
        alias: Annotated[str | None, "only moves of this alias"] = None,
        at: Annotated[
            str | None,
            "only moves in force on this day in UTC, or at this time, such as 2026-05-03 or 2026-05-03T12:00:00Z",
        ] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[AliasMove]:
        """List the moves of aliases, newest first: who moved which, when, and why."""
        return self._pages(
            AliasMove,
            f"models/{model_path(model)}/alias-history",
            query={"alias": alias, "at": at},
            limit=limit,
        )

    def list(
        self, model: str, *, kind: Literal["branch", "tag", "alias"] | None = None
    ) -> tuple[RefDetail, ...]:
        """List branches, tags and aliases with their versions, and who moved an alias last."""
        return self._items(
            RefDetail, "GET", f"models/{model_path(model)}/refs", query={"kind": kind}
        )

    def put(
        self,
        model: str,
        ref: str,
        *,
        kind: Literal["tag", "alias"],
        version: int,
        message: Annotated[str | None, "why an alias is moved, for its history"] = None,
        allow_yanked: Annotated[bool | None, "let an alias name a yanked version"] = None,
        force: Annotated[
            bool | None, "move an alias although its rule demands more; needs a message"
        ] = None,
    ) -> Ref:
        """Create a tag or alias, or move an alias."""
        return self._call(
            Ref,
            "PUT",
            f"models/{model_path(model)}/refs/{tail(ref)}",
            content=json_of(
                {
                    "kind": kind,
                    "version": version,
                    "message": message,
                    "allow_yanked": allow_yanked,
                    "force": force,
                }
            ),
        )
