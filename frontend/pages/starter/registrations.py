"""What starter models add to other pages."""

from __future__ import annotations

from frontend.presenters.page_parts import PagePart, Place, page_parts


def register(package: str) -> None:
    """Plug into the pages."""
    page_parts.register(package, PagePart(Place.ADMINISTRATION, "starter/administration.html"))
