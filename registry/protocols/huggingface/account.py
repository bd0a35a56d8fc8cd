"""Who a token belongs to."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from registry.core.permissions import require_user
from registry.models import Namespace, User
from registry.people import selectors as people_selectors
from registry.protocols.huggingface import shapes
from registry.protocols.huggingface.views import HubView


class Whoami(HubView):
    """The caller."""

    def get(self, request: Request) -> Response:
        """Name, organisations and token of the caller; 401 for a guest."""
        user = require_user(request.user, any_namespace=True)
        orgs = [
            {
                "type": "org",
                "id": space.slug,
                "name": space.slug,
                "fullname": space.display_name or space.slug,
                "roleInOrg": role,
            }
            for space, role in people_selectors.namespaces_of(user)
            if space.kind == Namespace.Kind.ORG
        ]
        return Response(
            {
                "type": "user",
                "id": str(user.pk),
                "name": user.username,
                "fullname": user.get_full_name() or user.username,
                "email": (user.email or None) if user.reach is None else None,
                "emailVerified": False,
                "canPay": False,
                "isPro": False,
                "orgs": orgs,
                "auth": _auth(user),
            }
        )


def _auth(user: User) -> dict[str, Any]:
    """How the caller signed in; clients name the stored token by its display name."""
    token = user.access_token
    if token is None:
        return {"type": "session"}
    return {
        "type": "access_token",
        "accessToken": {
            "displayName": token.name,
            "role": "read" if token.scopes == ["read"] else "write",
            "createdAt": shapes.moment(token.created_at),
        },
    }
