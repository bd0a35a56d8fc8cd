"""What the log and attestations add to the pages of a version."""

from __future__ import annotations

from typing import Any

from django.template import Context

from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.provenance import attestations, selectors


def register(package: str) -> None:
    """Plug into the pages."""
    page_parts.register(
        package,
        PagePart(Place.NOTES, "provenance/mark.html", _mark),
        PagePart(Place.ORIGIN, "provenance/attestations.html", _attestations),
    )


def _mark(context: Context) -> dict[str, Any]:
    """Whether the log recorded the version as it is."""
    return {"log_mark": selectors.mark(context["version"])}


def _attestations(context: Context) -> dict[str, Any]:
    """What was signed of the version, and what differs from it now."""
    version = context["version"]
    mark = selectors.mark(version)
    rows = attestations.newest(version) if mark else []
    is_compared = mark is not None and version.is_served
    return {
        "log_mark": mark,
        "attestations": rows,
        "disagreements": list(attestations.disagreements(version, rows)) if is_compared else [],
    }
