"""What mirrors add to the pages of a version and of a namespace."""

from __future__ import annotations

from typing import Any

from django.template import Context

from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.mirrors import selectors


def register(package: str) -> None:
    """Plug into the pages."""
    page_parts.register(
        package,
        PagePart(Place.ORIGIN, "mirrors/origin.html", _origin),
        PagePart(Place.NAMESPACE, "mirrors/namespace.html", _mirrors),
    )


def _origin(context: Context) -> dict[str, Any]:
    """Where the version of a page came from, and when its model was synchronised."""
    version = context["version"]
    origin = selectors.origin(version)
    living = selectors.source_of_model(version.model) if origin else None
    return {"mirrored": origin, "synced_at": living.synced_at if living else None}


def _mirrors(context: Context) -> dict[str, Any]:
    """The mirrors into the namespace of a page, for its owners."""
    return {"mirrors": selectors.of_namespace(context["request"].user, context["namespace"])}
