"""Most tests of this room read no lists, so none are made for them."""

from __future__ import annotations

from tests.shared import no_lists

__all__ = ["no_lists"]
