"""The REST operations of collections, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, collection_path, json_of, model_path


@dataclass(frozen=True, kw_only=True)
class CollectionEntry:
    """A model in a collection."""

    model: str
    note: str
    summary: str
    added_at: datetime


@dataclass(frozen=True, kw_only=True)
class Collection:
    """A collection in a list."""

    namespace: str
    slug: str
    title: str
    # plain text
    description: str
    visibility: str
    # number of models in it that you can see
    model_count: int
    created_at: datetime
    updated_at: datetime
    url: str


@dataclass(frozen=True, kw_only=True)
class CollectionDetail(Collection):
    """A collection with its models, in their order."""

    entries: tuple[CollectionEntry, ...]
    # number of models in it that you cannot see; null unless you can change it
    unavailable: int | None


class CollectionsGroup(Group):
    """The operations of collections."""

    def add(
        self,
        collection: str,
        *,
        model: Annotated[str, "namespace/name of a model"],
        note: Annotated[str | None, "why the model is in the collection"] = None,
    ) -> CollectionEntry:
        """Add a model at the end of a collection."""
        return self._call(
            CollectionEntry,
            "POST",
            f"collections/{collection_path(collection)}/models",
            content=json_of({"model": model, "note": note}),
        )

    def annotate(
        self,
        collection: str,
        model: str,
        *,
        note: Annotated[str | None, "why the model is in the collection"] = None,
    ) -> CollectionEntry:
        """Change the note of a model in a collection."""
        return self._call(
            CollectionEntry,
            "PATCH",
            f"collections/{collection_path(collection)}/models/{model_path(model)}",
            content=json_of({"note": note}),
        )

    def create(
        self,
        *,
        namespace: str,
        slug: str,
        title: str | None = None,
        description: Annotated[str | None, "plain text"] = None,
        visibility: Annotated[
            Literal["public", "private"] | None, "who can see the collection"
        ] = None,
    ) -> CollectionDetail:
        """Create an empty collection. Without a title, its name is the title."""
        return self._call(
            CollectionDetail,
            "POST",
            "collections",
            content=json_of(
                {
                    "title": title,
                    "description": description,
                    "visibility": visibility,
                    "namespace": namespace,
                    "slug": slug,
                }
            ),
        )

    def delete(self, collection: str) -> None:
        """Delete a collection; its models stay. For maintainers."""
        self._do("DELETE", f"collections/{collection_path(collection)}")

    def edit(
        self,
        collection: str,
        *,
        title: str | None = None,
        description: Annotated[str | None, "plain text"] = None,
        visibility: Annotated[
            Literal["public", "private"] | None, "who can see the collection"
        ] = None,
        etag: Annotated[str | None, "ETag that you read (default: the current one)"] = None,
    ) -> CollectionDetail:
        """Change title, description or visibility of a collection; needs If-Match."""
        return self._call(
            CollectionDetail,
            "PATCH",
            f"collections/{collection_path(collection)}",
            content=json_of({"title": title, "description": description, "visibility": visibility}),
            etag=etag,
        )

    def list(
        self,
        *,
        model: Annotated[str | None, "only collections that contain this model"] = None,
        namespace: Annotated[str | None, "only collections of this namespace"] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Collection]:
        """List collections, newest first; narrow with `namespace` and `model`."""
        return self._pages(
            Collection, "collections", query={"model": model, "namespace": namespace}, limit=limit
        )

    def read(self, collection: str) -> CollectionDetail:
        """Read a collection with the models in it that you can see."""
        return self._call(CollectionDetail, "GET", f"collections/{collection_path(collection)}")

    def remove(self, collection: str, model: str) -> None:
        """Remove a model from a collection; the model itself stays."""
        self._do("DELETE", f"collections/{collection_path(collection)}/models/{model_path(model)}")

    def remove_unavailable(self, collection: str) -> None:
        """Remove the models that you cannot see from a collection that you can change."""
        self._do("DELETE", f"collections/{collection_path(collection)}/unavailable")

    def reorder(
        self,
        collection: str,
        *,
        models: Annotated[
            Sequence[str], "namespace/name of the models that come first, in this order"
        ],
    ) -> CollectionDetail:
        """Put models first in a collection; those that are not named follow in their order."""
        return self._call(
            CollectionDetail,
            "PUT",
            f"collections/{collection_path(collection)}/order",
            content=json_of({"models": models}),
        )
