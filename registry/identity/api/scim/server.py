"""The protocol by scim2-server, for a client that has authenticated."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from scim2_models import Context, Resource, ResponseParameters, SCIMException
from scim2_server.handler import ScimHandler
from scim2_server.service import ScimService

from registry.identity.api.scim.resources import PROVIDER, User
from registry.identity.api.scim.storage import Storage
from registry.identity.models import ScimClient

if TYPE_CHECKING:
    from scim2_server.requests import ScimRequest
    from scim2_server.responses import ScimResponse


class Service(ScimService):
    """The service, which answers a PATCH of a user with the user, as Okta expects."""

    def patch_response(
        self,
        base_url: str,
        resource: Resource[Any],
        response_parameters: ResponseParameters[Any],
    ) -> ScimResponse:
        if not isinstance(resource, User):
            return super().patch_response(base_url, resource, response_parameters)
        return self.resource_response(
            self.publish(base_url, resource),
            Context.RESOURCE_REPLACEMENT_RESPONSE,
            response_parameters,
            HTTPStatus.OK,
        )


SERVICE = Service(PROVIDER)


def answer(client: ScimClient, request: ScimRequest) -> ScimResponse:
    """Answer a request of an identity provider; refusals are answers too."""
    try:
        return ScimHandler(SERVICE, Storage(client, writes=_writes(request))).handle(request)
    except SCIMException as error:
        return SERVICE.error_response(error)


def _writes(request: ScimRequest) -> bool:
    return request.method != "GET" and not request.path.endswith("/.search")
