"""What a worker can do, as it told when it registered: its runtimes, providers and isolation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.protocol import stored

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a worker; all empty of one that has not told any.

    ``runtimes`` are those that passed their test, and ``versions`` the libraries, by name with
    version. ``providers`` are execution providers of ONNX Runtime. ``failed`` has the reason for
    each runtime and provider that failed its test. ``isolation`` has the layers of the sandbox.
    """

    runtimes: Mapping[str, str]
    versions: Mapping[str, str]
    providers: tuple[str, ...]
    failed: Mapping[str, str]
    isolation: Mapping[str, Any]

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Capabilities:
        """Read the stored capabilities of a worker."""
        return cls(
            runtimes=_texts(row.get("runtimes")),
            versions=_texts(row.get("versions")),
            providers=tuple(map(str, row.get("providers") or ())),
            failed=_texts(row.get("failed")),
            isolation=stored.mapping(row.get("isolation")),
        )


def _texts(value: object) -> dict[str, str]:
    return {name: str(words) for name, words in stored.mapping(value).items()}
