"""The REST operations of watches, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path


@dataclass(frozen=True, kw_only=True)
class Digest:
    """How often a digest of watched models comes by mail."""

    # never, or news of watched models each day or week
    interval: str


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

    def digest(self) -> Digest:
        """Read how often a digest of the models that you watch comes by mail."""
        return self._call(Digest, "GET", "watching/digest")

    def list(
        self, *, limit: Annotated[int | None, "maximum number of results (default: all)"] = None
    ) -> Iterator[Watch]:
        """List the models that you watch, the latest first."""
        return self._pages(Watch, "watching", limit=limit)

    def put(self, model: str) -> None:
        """Watch a model. Its new versions and evidence appear on your page of watched models."""
        self._do("PUT", f"models/{model_path(model)}/watch")

    def set_digest(
        self,
        *,
        interval: Annotated[
            Literal["daily", "weekly", "never"], "never, or news of watched models each day or week"
        ],
    ) -> Digest:
        """Choose how often a digest of the models that you watch comes by mail."""
        return self._call(Digest, "PUT", "watching/digest", content=json_of({"interval": interval}))
