"""Devices sign in by their own token, `Authorization: Bearer fp_…`; it opens one training.

Those of fleets have `fd_…`; it opens one fleet.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import throttles
from registry.api.authentication import TokenAuthentication
from registry.core.security_log import Kind
from registry.federated.api import certificates
from registry.federated.models import EnrolledDevice, Participant
from registry.federated.selectors import Seeker
from registry.federated.services import enrolments, fleets
from registry.federated.services.participants import TOKEN_PREFIX
from registry.people.services.tokens import digest


class ParticipantAuthentication(BaseAuthentication):
    """Finds a participant by its token's digest. Nothing is written."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Participant] | None:
        """A guest of the hub who is a participant.

        Raises NotAuthenticated, NotAllowed, CertificateWrong, CertificateNeeded.
        """
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.startswith(TOKEN_PREFIX):
            return None
        device = (
            Participant.objects.select_related("training__model__namespace")
            .filter(token_digest=digest(secret.strip()))
            .first()
        )
        if device is None or device.state == Participant.State.REVOKED:
            raise problems.NotAuthenticated(
                "Unknown or revoked participant token. Join again with an invitation."
            )
        if device.state == Participant.State.SUSPENDED:
            raise problems.NotAllowed(
                "This participant is suspended. Contact the maintainers of the training; the "
                "token stays valid."
            )
        certificates.expect(request, device)
        return AnonymousUser(), device

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="hub"'


class ParticipantScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token of a device."""

    target_class = "registry.federated.api.authentication.ParticipantAuthentication"
    name = "participant"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "fp_…"}


class FleetAuthentication(TokenAuthentication):
    """Finds a device of a fleet by its token; leaves the token that a fleet shares to the view."""

    def authenticate(self, request: Request) -> Any:
        """A guest of the hub who is a device, or a user; raises NotAuthenticated."""
        secret = request.headers.get("Authorization", "").partition(" ")[2].strip()
        if secret.startswith(fleets.TOKEN_PREFIX):
            return None
        if not secret.startswith(enrolments.TOKEN_PREFIX):
            return super().authenticate(request)
        try:
            return AnonymousUser(), enrolments.of_token(secret)
        except problems.NotAuthenticated:
            throttles.report_refusal(Kind.TOKEN_REFUSED, throttles.address_of(request))
            raise


class FleetScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token of a device, of a fleet's devices, or of a user of the hub."""

    target_class = "registry.federated.api.authentication.FleetAuthentication"
    name = "fleet"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "fd_…"}


class GuestThrottle(throttles.AnonThrottle):
    """Counts guests by address, but not devices: many may share one."""

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if isinstance(request.auth, Participant | EnrolledDevice):
            return None
        return super().get_cache_key(request, view)


class DeviceThrottle(throttles.UserThrottle):
    """Counts a device's requests, as a user's are."""

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if not isinstance(request.auth, Participant | EnrolledDevice):
            return None
        kind = type(request.auth).__name__.lower()
        return self.cache_format % {"scope": kind, "ident": request.auth.pk}


def seeker(request: Request) -> Seeker:
    """Who asks."""
    device = request.auth if isinstance(request.auth, Participant) else None
    return Seeker(request.user, device)


def participant(request: Request) -> Participant:
    """The device that asks; raises NotAuthenticated for anyone else."""
    if not isinstance(request.auth, Participant):
        raise problems.NotAuthenticated(
            "This requires a participant token: send it as `Authorization: Bearer fp_…`."
        )
    return request.auth
