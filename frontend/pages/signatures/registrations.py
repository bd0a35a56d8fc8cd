"""What signatures add to the pages of a version and of a namespace."""

from __future__ import annotations

from typing import Any

from django.template import Context

from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.provenance.signatures import selectors


def register(package: str) -> None:
    """Plug into the pages."""
    page_parts.register(
        package,
        PagePart(Place.TAGS, "signatures/tag.html", _signatures),
        PagePart(Place.ORIGIN, "signatures/version.html", _signatures),
        PagePart(Place.NAMESPACE, "signatures/namespace.html"),
    )


def _signatures(context: Context) -> dict[str, Any]:
    """The signatures of the version of a page."""
    rows = selectors.signatures(context["request"].user, context["version"])
    return {"signatures": rows, "is_signed": any(row.counts for row in rows)}
