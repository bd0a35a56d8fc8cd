"""Signing in with a token: `Authorization: Bearer hf_…`."""

from __future__ import annotations

import base64
import binascii
from datetime import timedelta

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from hub.protocol import problems
from registry.api import throttles
from registry.core import security_log, usage
from registry.core.permissions import PROVISION
from registry.core.security_log import Kind
from registry.models import AccessToken, User
from registry.people.services.tokens import digest

USED_EVERY = timedelta(minutes=1)


class TokenAuthentication(BaseAuthentication):
    """Finds the token's row by digest; a token narrows what its user may do."""

    # Whether it takes tokens that provision accounts, and no others.
    provisions = False

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        """The user of the token; raises NotAuthenticated for a token that is wrong or over."""
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            return None
        return self.sign_in(secret, request)

    def sign_in(self, secret: str, request: Request) -> tuple[User, AccessToken]:
        """The user of a token; raises NotAuthenticated, and logs the address then."""
        now = timezone.now()
        token = (
            AccessToken.objects.select_related("user", "namespace")
            .filter(digest=digest(secret.strip()), expires_at__gt=now, user__is_active=True)
            .first()
        )
        if token is None or (PROVISION in token.scopes) is not self.provisions:
            throttles.report_refusal(Kind.TOKEN_REFUSED, throttles.address_of(request))
            raise problems.NotAuthenticated(
                "Unknown, revoked or expired token. Create a new one under Account, Tokens, and "
                "run `hub login`."
            )
        if token.last_used_at is None or now - token.last_used_at > USED_EVERY:
            if token.last_used_at is None and not usage.notes.has_use(usage.TOKEN, token.pk):
                security_log.report(Kind.TOKEN_FIRST_USED, actor=token.user, token=token)
            usage.notes.add_use(usage.TOKEN, token.pk, now)
        user = token.user
        user.access_token = token
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="hub"'


class BasicTokenAuthentication(TokenAuthentication):
    """A token as the password of any user, as git and git-lfs send it (RFC 7617)."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        """The user of the token; raises NotAuthenticated for a token that is wrong or over."""
        secret = password(request)
        return None if secret is None else self.sign_in(secret, request)

    def authenticate_header(self, request: Request) -> str:
        return 'Basic realm="hub"'


def password(request: Request) -> str | None:
    """The password of Basic credentials; None without any, raises NotAuthenticated."""
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(credentials, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError) as error:
        raise problems.NotAuthenticated("The Basic credentials are not valid base64.") from error
