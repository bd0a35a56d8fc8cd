"""The addresses below `/scim/v2`, for identity providers with a token of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, JsonResponse
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api.authentication import TokenAuthentication
from registry.identity.api.scim import addresses, errors
from registry.models import User

LONGEST_FILTER = 1_000


class ProvisioningAuthentication(TokenAuthentication):
    """A token that an administrator made for an identity provider; never a session."""

    provisions = True

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="scim"'


class Scim(APIView):
    """Every address of the protocol, which the library tells apart."""

    schema = None  # the protocol is described elsewhere, not by our OpenAPI document
    authentication_classes = [ProvisioningAuthentication]
    permission_classes = [IsAuthenticated]
    http_method_names = ["get", "post", "put", "patch", "delete"]

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        """Errors in the protocol's own form."""
        return errors.handle

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - DRF's signature
        """JSON, whatever is accepted."""
        return JSONRenderer(), errors.MEDIA_TYPE

    def get(self, request: Request, path: str) -> HttpResponse:
        """Read, list or search."""
        return _answer(request, path)

    post = put = patch = delete = get


def _answer(request: Request, path: str) -> HttpResponse:
    # The library and its models take tens of MB, which hubs without a provider do without.
    from scim2_server.requests import ScimRequest  # noqa: PLC0415

    from registry.identity.api.scim import server  # noqa: PLC0415

    if len(request.query_params.get("filter", "")) > LONGEST_FILTER:
        raise problems.InvalidRequest(f"A filter has at most {LONGEST_FILTER} characters.")
    message = ScimRequest(
        method=str(request.method),
        base_url=addresses.base_url(),
        path=f"/{path}",
        query=request.query_params.dict(),
        headers=dict(request.headers),
        body=request._request.body,  # noqa: SLF001 - DRF's own; the library parses
    )
    assert isinstance(request.user, User)  # noqa: S101 - the permission has seen to it
    answer = server.answer(request.user.scim_client, message)
    response = (
        HttpResponse(status=answer.status)
        if answer.body is None
        else JsonResponse(answer.body, status=answer.status)
    )
    for name, value in answer.headers.items():
        response[name] = value
    response["Cache-Control"] = "no-store"
    return response
