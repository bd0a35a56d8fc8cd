"""The REST operations of alias rules, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from hub.client.rest.calls import Group, json_of, model_path, tail


@dataclass(frozen=True, kw_only=True)
class AliasRule:
    """What an alias demands of a version before it may name it."""

    alias: str
    conditions: tuple[dict[str, Any], ...]
    # each condition as a sentence
    sentences: tuple[str, ...]
    # who set the rule last
    author: str
    updated_at: datetime


class AliasRulesGroup(Group):
    """The operations of alias rules."""

    def delete(self, model: str, ref: str) -> None:
        """Delete the rule of an alias; for maintainers."""
        self._do("DELETE", f"models/{model_path(model)}/alias-rules/{tail(ref)}")

    def list(self, model: str) -> tuple[AliasRule, ...]:
        """List what aliases demand of a version before they may name it."""
        return self._items(AliasRule, "GET", f"models/{model_path(model)}/alias-rules")

    def put(
        self,
        model: str,
        ref: str,
        *,
        conditions: Annotated[
            Sequence[Mapping[str, Any]],
            "objects with a kind and its values; docs/concepts.md lists them",
        ],
    ) -> AliasRule:
        """Set what an alias demands of a version, for later moves; for maintainers."""
        return self._call(
            AliasRule,
            "PUT",
            f"models/{model_path(model)}/alias-rules/{tail(ref)}",
            content=json_of({"conditions": conditions}),
        )
