"""What a source offers, whatever its protocol: models, released versions, evidence, and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from hub.protocol.mirrors import FileRecord, ModelRecord, Statement, VersionRecord
from registry.storage.services.uploads import Stream

MOST_MODELS = 1_000
MOST_VERSIONS = 2_000


@dataclass(frozen=True, slots=True)
class Released:
    """A version in a list of the source; ``number`` is 0 where the source counts no versions."""

    number: int
    state: str
    reason: str
    commit_id: str
    manifest_sha256: str


class Source(Protocol):
    """A server that models are taken from; its methods raise Unreachable and Problems."""

    def models(self, scope: str, selector: str) -> Iterator[str]:
        """The names of the models that a mirror means, at most ``MOST_MODELS``."""

    def model(self, ref: str) -> ModelRecord:
        """A model by its name."""

    def versions(self, ref: str) -> list[Released]:
        """Its released versions, oldest first."""

    def version(self, ref: str, released: Released) -> VersionRecord:
        """One of them with its files, whose digests are those of its manifest."""

    def statements(self, ref: str, released: Released) -> tuple[Statement, ...]:
        """What the source states of it as evidence; empty where it states none."""

    def document(self, ref: str, path: str) -> bytes:
        """What capabilities of the source have at a path below a model; raises NotFound."""

    def open(
        self, ref: str, record: VersionRecord, file: FileRecord, offset: int
    ) -> AbstractContextManager[Stream]:
        """The bytes of a file from ``offset`` on."""
