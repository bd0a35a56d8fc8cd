"""The REST operations of refs, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from typing import Literal

from hub.client.rest.calls import Group, json_of, model_path, tail
from hub.client.rest.shared import Ref


class RefsGroup(Group):
    """The operations of refs."""

    def delete(self, model: str, ref: str) -> None:
        """Delete a tag or alias."""
        self._do("DELETE", f"models/{model_path(model)}/refs/{tail(ref)}")

    def put(self, model: str, ref: str, *, kind: Literal["tag", "alias"], version: int) -> Ref:
        """Create a tag or alias, or move an alias."""
        return self._call(
            Ref,
            "PUT",
            f"models/{model_path(model)}/refs/{tail(ref)}",
            content=json_of({"kind": kind, "version": version}),
        )
