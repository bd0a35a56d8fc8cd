"""Who may ask without signing in: everyone, or with HUB_GUESTS=none no one but who signs in.

Views of the API are refused by their permission, after whatever credentials they know were looked
at, so that each protocol answers with its own challenge. All other views are refused by
``hub.server.guests``. A view that is open all the same says so with ``for_guests``.
"""

from __future__ import annotations

import typing

from django.conf import settings
from rest_framework.permissions import BasePermission

if typing.TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView

_View = typing.TypeVar("_View")


def are_refused() -> bool:
    """Whether this hub demands sign-in."""
    return str(settings.HUB_GUESTS) == "none"


def for_guests(view: _View) -> _View:
    """The view, which answers guests of any hub: it signs them in, or knows secrets of its own."""
    view.serves_guests = True  # type: ignore[attr-defined]
    return view


class SignedIn(BasePermission):
    """A user, or a device with a token of its own, where guests are refused."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return (
            not are_refused()
            or request.user.is_authenticated
            or request.auth is not None
            or getattr(view, "serves_guests", False)
        )
