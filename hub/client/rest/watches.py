"""The REST operations of watches, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, model_path


@dataclass(frozen=True, kw_only=True)
class Watch:
    """A model that you watch."""

    model: str
    created_at: datetime


class WatchesGroup(Group):
    """The operations of watches."""

    def delete(self, model: str) -> None:
        """Stop watching a model."""
        self._do("DELETE", f"models/{model_path(model)}/watch")

    def list(
        self, *, limit: Annotated[int | None, "maximum number of results (default: all)"] = None
    ) -> Iterator[Watch]:
        """List the models that you watch, the latest first."""
        return self._pages(Watch, "watching", limit=limit)

    def put(self, model: str) -> None:
        """Watch a model. Its new versions and evidence appear on your page of watched models."""
        self._do("PUT", f"models/{model_path(model)}/watch")
