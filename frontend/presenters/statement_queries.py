"""Where readers can query the statements of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hub.protocol.ports import Port


@dataclass(frozen=True, slots=True)
class StatementQuery:
    """A page that finds statements: ``address`` takes their subject and predicates, as IRIs."""

    address: Callable[[str, Sequence[str]], str]


statement_queries = Port(StatementQuery)
