"""The REST operations of names, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path


@dataclass(frozen=True, kw_only=True)
class Name:
    """A name in the cards of a model, and the entry of this hub that it refers to."""

    kind: str
    # in lower case
    name: str
    # how the name was resolved; empty if it does not resolve
    by: str
    # slug of a data set, or namespace/name of a model
    target: str
    # other entries with that name, for you to confirm
    suggestions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Names:
    """Every name in the cards of a model."""

    items: tuple[Name, ...]


class NamesGroup(Group):
    """The operations of names."""

    def confirm(
        self,
        model: str,
        *,
        kind: Literal["dataset", "model"],
        name: str,
        target: Annotated[str, "slug of a data set, or namespace/name of a model"],
    ) -> Names:
        """Confirm the entry that a name refers to."""
        return self._call(
            Names,
            "PUT",
            f"models/{model_path(model)}/names",
            content=json_of({"kind": kind, "name": name, "target": target}),
        )

    def list(self, model: str) -> Names:
        """List the data sets and base models that the cards name, and the entries they may mean."""
        return self._call(Names, "GET", f"models/{model_path(model)}/names")

    def withdraw(self, model: str, *, kind: Literal["dataset", "model"], name: str) -> None:
        """Remove the confirmation of a name."""
        self._do("DELETE", f"models/{model_path(model)}/names", query={"kind": kind, "name": name})
