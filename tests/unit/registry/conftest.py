"""Most tests of this room read neither graphs nor lists, so none are made for them."""

from __future__ import annotations

from tests.shared import no_graphs, no_lists

__all__ = ["no_graphs", "no_lists"]
