"""The REST operations of deleted models, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, part


@dataclass(frozen=True, kw_only=True)
class DeletedModel:
    """A deleted model, by the id that the address needs; without times once it is restored."""

    id: int
    model: str
    deleted_at: datetime | None
    restorable_until: datetime | None


class DeletedModelsGroup(Group):
    """The operations of deleted models."""

    def erase(self, slug: str, model_id: str) -> None:
        """Delete a deleted model permanently, before its time is up; for owners."""
        self._do("DELETE", f"namespaces/{part(slug)}/deleted-models/{part(model_id)}")

    def list(
        self,
        slug: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[DeletedModel]:
        """List deleted models that can be restored, the newest model first; for owners."""
        return self._pages(DeletedModel, f"namespaces/{part(slug)}/deleted-models", limit=limit)

    def restore(self, slug: str, model_id: str) -> DeletedModel:
        """Restore a deleted model with its name and all that belonged to it; for owners."""
        return self._call(
            DeletedModel, "POST", f"namespaces/{part(slug)}/deleted-models/{part(model_id)}/restore"
        )
