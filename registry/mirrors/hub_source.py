"""Another hub of this kind, read by its REST API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from hub.protocol import digests, problems, refs
from hub.protocol.mirrors import (
    LONGEST_REASON,
    RELEASED,
    FileRecord,
    ModelRecord,
    Statement,
    VersionRecord,
    clean,
    statements,
    version_number,
)
from hub.protocol.transparency.records import HeadProof
from registry.mirrors.outgoing import Client, Stream
from registry.mirrors.sources import MOST_MODELS, MOST_VERSIONS, Released

API = "/api/v1"
PAGE = 100


class HubSource:
    """The models of a hub, as ``registry.mirrors.sources.Source``."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def models(self, scope: str, selector: str) -> Iterator[str]:
        """The models that the token may see: one, those of a namespace, or those of a search."""
        if scope == "model":
            yield selector
            return
        query = {"namespace": selector} if scope == "namespace" else {"q": selector}
        for row in self._items(f"{API}/models", query, MOST_MODELS):
            yield refs.parse(str(row.get("ref", ""))).name

    def log_head(self, since: int) -> HeadProof:
        """The newest head of its transparency log, and what leads to it from one of ``since``.

        Raises NotFound where it has no log, and ProofError.
        """
        return HeadProof.read(self._client.get(f"{API}/log/head", {"since": since}).content)

    def model(self, ref: str) -> ModelRecord:
        """A model with its aliases and tags."""
        record = ModelRecord.read(self._client.get(f"{API}/models/{quote(ref)}").content)
        if record.ref.lower() != ref.lower():
            raise self._strange(f"it answers for {ref} with {record.ref}")
        return record

    def versions(self, ref: str) -> list[Released]:
        """Every released version, oldest first."""
        rows = self._items(f"{API}/models/{quote(ref)}/versions", {}, MOST_VERSIONS)
        return sorted(
            (self._released(row) for row in rows if row.get("state") in RELEASED),
            key=lambda version: version.number,
        )

    def version(self, ref: str, released: Released) -> VersionRecord:
        """A version with its files; raises DigestMismatch where they contradict its digest."""
        record = VersionRecord.read(self._client.get(self._place(ref, released)).content)
        if (record.number, record.manifest_sha256) != (released.number, released.manifest_sha256):
            raise self._strange(f"it answers for {ref}@{released.number} with another version")
        return record

    def statements(self, ref: str, released: Released) -> tuple[Statement, ...]:
        """Conformance, measured accuracy and proofs of upgrades."""
        place = self._place(ref, released)
        lists = []
        for name in ("conformance", "evaluations", "variants"):
            try:
                content = self._client.get(f"{place}/{name}").content
            except (problems.NotFound, problems.Withdrawn):
                content = []
            rows = content.get("items") if isinstance(content, dict) else content
            lists.append(rows if isinstance(rows, list) else [])
        return statements(*lists)

    def document(self, ref: str, path: str) -> bytes:
        """The content at a path below the model's address in the API."""
        return self._client.read(f"{API}/models/{quote(ref)}/{path}")

    def open(
        self, ref: str, record: VersionRecord, file: FileRecord, offset: int
    ) -> AbstractContextManager[Stream]:
        """The bytes of a file, by its path in the version."""
        path = f"{API}/models/{quote(ref)}/versions/{record.number}/files/{quote(file.path)}"
        return self._client.open(path, offset)

    def _place(self, ref: str, released: Released) -> str:
        return f"{API}/models/{quote(ref)}/versions/{released.number}"

    def _released(self, row: dict[str, Any]) -> Released:
        return Released(
            number=version_number(row.get("number")),
            state=str(row["state"]),
            reason=clean(str(row.get("reason") or ""))[:LONGEST_REASON],
            commit_id=clean(str(row.get("commit_id") or "")),
            manifest_sha256=digests.parse(str(row.get("manifest_sha256"))),
        )

    def _items(self, path: str, query: dict[str, Any], most: int) -> list[dict[str, Any]]:
        """The items of a list, page after page, at most ``most``."""
        rows: list[dict[str, Any]] = []
        query = {**query, "limit": PAGE}
        while len(rows) < most:
            content = self._client.get(path, query).content
            page = content.get("items") if isinstance(content, dict) else None
            if not isinstance(page, list) or not all(isinstance(row, dict) for row in page):
                raise self._strange("a list has no items")
            rows += page
            following = dict(parse_qsl(urlsplit(str(content.get("next") or "")).query))
            if not page or not following or following == query:
                break
            query = following
        return rows[:most]

    def _strange(self, what: str) -> problems.Unreachable:
        return problems.Unreachable(
            f"{self._client.url} does not answer as a hub of this kind: {what}. Check the address, "
            "or use the protocol huggingface.",
            is_transient=False,
        )
