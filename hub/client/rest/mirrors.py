"""The REST operations of mirrors, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class Import:
    """The state of an imported version."""

    ref: str
    state: str | None
    # digests to upload first; the version is not stored until they are
    missing: tuple[str, ...]
    problem: str


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """A mirror with the result of its last synchronisation."""

    id: int
    source: str
    into: str
    protocol: str
    scope: str
    pull_through: bool
    # visibility of new models; empty: as at the source
    visibility: str
    interval_seconds: int
    is_paused: bool
    has_token: bool
    created_by: str
    created_at: datetime
    # the last success
    synced_at: datetime | None
    next_at: datetime | None
    # why the last synchronisation failed; empty otherwise
    error: str
    # what is being fetched now; empty otherwise
    step: str
    # of the last synchronisation
    received_bytes: int


@dataclass(frozen=True, kw_only=True)
class MirroredModel:
    """A model of a mirror."""

    source_ref: str
    ref: str | None = None
    synced_at: datetime | None
    problem: str


@dataclass(frozen=True, kw_only=True)
class MirroredVersion:
    """A version of the source that is not mirrored, or no longer."""

    ref: str
    state: str
    problem: str


@dataclass(frozen=True, kw_only=True)
class MirrorDetail(Mirror):
    """A mirror with its models, and the versions that were not mirrored."""

    models: tuple[MirroredModel, ...]
    problems: tuple[MirroredVersion, ...]


class MirrorsGroup(Group):
    """The operations of mirrors."""

    def create(
        self,
        *,
        source: Annotated[
            str,
            "https://host/namespace/model, https://host/namespace, or https://host with a search",
        ],
        into: Annotated[str, "namespace here that the models are stored in"],
        search: Annotated[str | None, "mirror the results of a search"] = None,
        protocol: Annotated[
            Literal["hub", "huggingface"] | None,
            "what the source speaks; huggingface for huggingface.co, otherwise hub",
        ] = None,
        token: Annotated[
            str | None, "token of the source with read permission; stored encrypted and never shown"
        ] = None,
        visibility: Annotated[
            Literal["public", "private"] | None, "visibility of new models; empty: as at the source"
        ] = None,
        interval_seconds: Annotated[int | None, "seconds between synchronisations"] = None,
        pull_through: Annotated[
            bool | None, "fetch a model of the namespace when it is first requested"
        ] = None,
    ) -> MirrorDetail:
        """Add a mirror; the first synchronisation starts at once."""
        return self._call(
            MirrorDetail,
            "POST",
            "mirrors",
            content=json_of(
                {
                    "source": source,
                    "into": into,
                    "search": search,
                    "protocol": protocol,
                    "token": token,
                    "visibility": visibility,
                    "interval_seconds": interval_seconds,
                    "pull_through": pull_through,
                }
            ),
        )

    def edit(
        self,
        mirror_id: str,
        *,
        is_paused: bool | None = None,
        token: Annotated[
            str | None, "token of the source with read permission; stored encrypted and never shown"
        ] = None,
        visibility: Annotated[
            Literal["public", "private", ""] | None,
            "visibility of new models; empty: as at the source",
        ] = None,
        interval_seconds: Annotated[int | None, "seconds between synchronisations"] = None,
    ) -> MirrorDetail:
        """Change, pause or resume a mirror."""
        return self._call(
            MirrorDetail,
            "PATCH",
            f"mirrors/{part(mirror_id)}",
            content=json_of(
                {
                    "is_paused": is_paused,
                    "token": token,
                    "visibility": visibility,
                    "interval_seconds": interval_seconds,
                }
            ),
        )

    def import_version(
        self,
        *,
        into: str,
        name: str,
        url: Annotated[str, "address of the hub it was exported from"],
        ref: Annotated[str, "name of the model there"],
        version: Annotated[Any, "the record of the version, from the manifest"],
        visibility: Literal["public", "private"] | None = None,
    ) -> Import:
        """Import a version of another hub under its original number, after uploading its blobs.

        The response lists missing digests; upload those and repeat the request.
        """
        return self._call(
            Import,
            "POST",
            "mirrors/import",
            content=json_of(
                {
                    "into": into,
                    "name": name,
                    "visibility": visibility,
                    "url": url,
                    "ref": ref,
                    "version": version,
                }
            ),
        )

    def list(
        self, *, limit: Annotated[int | None, "maximum number of results (default: all)"] = None
    ) -> Iterator[Mirror]:
        """List mirrors, newest first; for owners of their namespaces."""
        return self._pages(Mirror, "mirrors", limit=limit)

    def read(self, mirror_id: str) -> MirrorDetail:
        """Read a mirror with its models and problems."""
        return self._call(MirrorDetail, "GET", f"mirrors/{part(mirror_id)}")

    def remove(self, mirror_id: str) -> None:
        """Stop mirroring; mirrored models and versions stay."""
        self._do("DELETE", f"mirrors/{part(mirror_id)}")

    def sync(self, mirror_id: str) -> MirrorDetail:
        """Start a synchronisation now."""
        return self._call(MirrorDetail, "POST", f"mirrors/{part(mirror_id)}/sync")
