"""What webhooks add to the pages of an account and of a namespace."""

from __future__ import annotations

from typing import Any

from django.template import Context

from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.webhooks import selectors


def register(package: str) -> None:
    """Plug into the pages."""
    page_parts.register(
        package,
        PagePart(Place.OWN_ACCOUNT, "webhooks/account.html"),
        PagePart(Place.NAMESPACE, "webhooks/namespace.html", _webhooks),
    )


def _webhooks(context: Context) -> dict[str, Any]:
    """The webhooks of the namespace of a page, for its owners."""
    return {"webhooks": selectors.of_namespace(context["request"].user, context["namespace"])}
