"""What trusted publishers add to the page of a namespace."""

from __future__ import annotations

from typing import Any

from django.template import Context

from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.core.permissions import can
from registry.models import Namespace


def register(package: str) -> None:
    """Plug into the page of a namespace."""
    page_parts.register(package, PagePart(Place.NAMESPACE, "publishers/namespace.html", _link))


def _link(context: Context) -> dict[str, Any]:
    space = context["namespace"]
    is_owner = can(context["request"].user, "member.edit", space)
    return {"has_publishers": is_owner and space.kind == Namespace.Kind.ORG}
