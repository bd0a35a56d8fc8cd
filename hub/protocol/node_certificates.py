"""How the conversion of a node was searched for a difference, as proofs of upgrades cite it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hub import counting
from hub.protocol import strict

_REASON_CHARACTERS = 300
_SHA256 = re.compile(r"[0-9a-f]{64}")


class SearchOutcome(StrEnum):
    """How the search for a difference in the conversion of one node ended."""

    CERTIFIED = "certified"
    # Equal, except on the values or empty inputs, or for want of sizes, that the limits name.
    LIMITED = "limited"
    DIFFERENT = "different"
    # The rules or the library cannot convert the node.
    NOT_CONVERTED = "not-converted"
    # The runtime does not run the node, or too few of the inputs.
    NOT_RUN = "not-run"
    # The node cannot be taken out of its model, for example since it holds graphs.
    NO_KEY = "no-key"


# Outcomes of searches that noticed no difference on their domain.
EQUAL = frozenset({SearchOutcome.CERTIFIED, SearchOutcome.LIMITED})
_WORDS: dict[SearchOutcome, str] = {
    SearchOutcome.DIFFERENT: "differs when run alone",
    SearchOutcome.NOT_CONVERTED: "not converted when alone",
    SearchOutcome.NOT_RUN: "not run alone",
    SearchOutcome.NO_KEY: "not searched",
}


@dataclass(frozen=True, slots=True)
class NodeCertificate:
    """How the conversion of a changed node was searched, for `nodes` equal nodes of the model.

    `key` is the SHA-256 of what identifies the conversion in hexadecimal digits, empty with
    `no-key` alone. `covers`: the domain that was searched has the sizes and values that the model
    declares or that its runs used. `reason` says why it is not certified, or what is not covered.
    `exact`: outputs were equal bit by bit, and not up to the rounding of the original.
    """

    op: str
    key: str
    nodes: int
    outcome: SearchOutcome
    reason: str = ""
    covers: bool = False
    exact: bool = False

    @property
    def is_certified(self) -> bool:
        """Whether no difference was noticed on a domain that has all that the model needs."""
        return self.outcome in EQUAL and self.covers

    @property
    def is_gap(self) -> bool:
        return not self.is_certified

    @property
    def sentence(self) -> str:
        """What it leaves open; nothing where it certifies."""
        if self.is_certified:
            return ""
        count = "" if self.nodes == 1 else f" ({counting.plural(self.nodes, 'node')})"
        words = "certified for other inputs" if self.outcome in EQUAL else _WORDS[self.outcome]
        return f"{self.op}{count} {words}{f': {self.reason}' if self.reason else ''}"

    @classmethod
    def from_json(cls, value: Any, place: str) -> NodeCertificate:
        """Read a row of a report. Raises UnreadableError, which names the place."""
        read = _READER.read(cls, value, place)
        if (read.outcome == SearchOutcome.NO_KEY) != (not read.key):
            raise strict.UnreadableError(f"{place}.key is empty with no-key alone")
        if read.key and not _SHA256.fullmatch(read.key):
            raise strict.UnreadableError(f"{place}.key is no SHA-256")
        if not read.nodes:
            raise strict.UnreadableError(f"{place}.nodes is 0")
        return read


_READER = strict.Reader(
    {
        str: lambda value, place: strict.check(value, str, place)[:_REASON_CHARACTERS],
        int: strict.count,
    },
    is_complete=True,
)
