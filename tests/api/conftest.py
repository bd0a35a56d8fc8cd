"""Most tests of the API read no graphs, so none are made for them."""

from __future__ import annotations

from tests.shared import no_graphs

__all__ = ["no_graphs"]
