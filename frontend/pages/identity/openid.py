"""Sign-in with an OpenID provider, with the checks that django-allauth leaves to TLS.

OpenID Connect Discovery 1.0, 4.3 (the issuer); Core 1.0, 3.1.3.7 (signature and nonce of the ID
token) and 5.3.2 (the subject of the user info).
"""

from __future__ import annotations

import secrets
from hmac import compare_digest
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from frontend.pages.identity.providers import NONCE, OIDC
from hub.protocol import problems

# Of public keys alone: a secret that both sides know would let either sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
LEEWAY_SECONDS = 30


class OpenIDAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Accepts what the provider of the settings has signed for this browser."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """The metadata of the provider; raises Unavailable for that of another issuer."""
        config: dict[str, Any] = super().openid_config
        issuer = str(config.get("issuer", ""))
        if issuer.rstrip("/") != settings.HUB_OIDC_ISSUER:
            raise problems.Unavailable(
                f"The sign-in service calls itself {issuer or 'nothing'}. An administrator must "
                "set HUB_OIDC_ISSUER to the issuer that it names."
            )
        return config

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """The user of an ID token; raises OAuth2Error without a valid one."""
        if not kwargs["response"].get("id_token"):
            raise OAuth2Error("The provider sent no ID token.")
        login = super().complete_login(request, app, token, **kwargs)
        claims = login.account.extra_data
        id_token, userinfo = claims["id_token"], claims["userinfo"]
        nonce = request.session.get(NONCE, "")
        if not (nonce and compare_digest(str(id_token.get("nonce", "")), nonce)):
            raise OAuth2Error("The ID token was not made for this browser.")
        if userinfo.get("sub") != id_token.get("sub"):
            raise OAuth2Error("The provider describes another user than its ID token names.")
        return login

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                id_token,
                self._key(jwt.get_unverified_header(id_token).get("kid")),
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "aud", "iss", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"The ID token is not valid: {error}.") from error
        return claims

    def _key(self, kid: str | None) -> jwt.PyJWK:
        """The key of the provider that a token names; a token may name none where there is one."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
            keys = jwt.PyJWKSet.from_dict(answer.json()).keys
        named = [key for key in keys if kid is None or key.key_id == kid]
        if len(named) != 1:
            raise OAuth2Error("The provider has no such key.")
        return named[0]


def login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Begin a sign-in, whose ID token must name its nonce; providers refuse one a second time."""
    _expect_provider(provider_id)
    request.session[NONCE] = secrets.token_urlsafe(32)
    return _answer(OAuth2LoginView, request)


def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in the user that the provider names."""
    _expect_provider(provider_id)
    return _answer(OAuth2CallbackView, request)


def _expect_provider(provider_id: str) -> None:
    if not settings.HUB_OIDC_ISSUER or provider_id != OIDC:
        raise problems.NotFound("This hub has no such provider.")


def _answer(view: Any, request: HttpRequest) -> HttpResponse:
    answer: HttpResponse = view.adapter_view(OpenIDAdapter(request, OIDC))(request)
    return answer
