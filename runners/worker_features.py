"""The features that a worker registered: its runtimes, providers and isolation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.protocol import stored
from runners.engine.reports import Offers


@dataclass(frozen=True, slots=True)
class WorkerFeatures(Offers):
    """What the sandbox of a worker offers, and its machine; empty where it has stated none.

    ``isolation`` has the layers of the sandbox, ``versions`` the libraries by name, and ``gpu`` is
    the UUID of the only GPU that the worker is bound to.
    """

    isolation: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    gpu: str = ""
    cpus: int = 0
    memory_bytes: int = 0
    machine: str = ""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> WorkerFeatures:
        """Read the stored features of a worker."""
        return cls(
            isolation=stored.mapping(row.get("isolation")),
            versions=_texts(row.get("versions")),
            runtimes=_texts(row.get("runtimes")),
            profiles=stored.mapping(row.get("profiles")),
            providers=list(map(str, row.get("providers") or ())),
            failed=_texts(row.get("failed")),
            compiled_in=list(map(str, row.get("compiled_in") or ())),
            host=stored.text(row.get("host")),
            gpu=stored.text(row.get("gpu")),
            cpus=stored.count(row.get("cpus")),
            memory_bytes=stored.count(row.get("memory_bytes")),
            machine=stored.text(row.get("machine")),
        )


def _texts(value: object) -> dict[str, str]:
    return {name: str(words) for name, words in stored.mapping(value).items()}
