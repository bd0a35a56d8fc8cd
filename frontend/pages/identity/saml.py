"""Sign-in with the SAML identity provider: the request, its answer, and the hub's metadata."""

from __future__ import annotations

from typing import Any

import structlog
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login, render_authentication_error
from allauth.socialaccount.internal.statekit import get_states
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.identity.providers import SAML
from hub.protocol import problems
from registry.api import throttles
from registry.core.security_log import Kind

log = structlog.get_logger(__name__)

# What the hub's own page adds to an answer that it sends once more.
_AGAIN = "again"


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider; the session keeps which request it must answer."""
    address, request_id = _saml().begin()
    provider = _provider(request)
    state = provider.get_redirect_from_request_kwargs(request)
    provider.stash_redirect_state(request, **state, state_id=request_id)
    return HttpResponseRedirect(address)


@csrf_exempt
@never_cache
@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Sign in the subject of an answer, in the session that asked.

    The provider's page sends the answer without the cookie of the session (SameSite=Lax). Then a
    page of the hub sends it once more, with the cookie. The ID of the request, which that session
    alone has and gives once, stands in for the token of a form.
    """
    provider = _provider(request)
    text = request.POST.get("SAMLResponse", "")
    if not any(state[-1] == SAML for state in get_states(request).values()):
        if _AGAIN in request.POST or not 0 < len(text) <= _saml().LONGEST_ANSWER:
            return _refuse(request, provider, "The session asked for no answer.")
        return render(request, "identity/continue.html", {"answer": text, "again": _AGAIN})
    try:
        verified = _saml().verify(text)
        login = provider.sociallogin_from_response(request, verified)
        login.state = provider.unstash_redirect_state(request, verified.request_id)
    except _saml().RefusedAnswerError as error:
        return _refuse(request, provider, str(error))
    except PermissionDenied:
        return _refuse(request, provider, "The session did not ask for this answer.")
    for email in login.email_addresses:
        email.verified = True  # the provider vouches for it
    response: HttpResponse = complete_social_login(request, login)
    return response


@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    """The hub's metadata, which the provider reads once."""
    _provider(request)
    return HttpResponse(_saml().metadata(), content_type="application/samlmetadata+xml")


def _refuse(request: HttpRequest, provider: Any, reason: str) -> HttpResponse:
    log.warning("saml_answer_refused", reason=reason[:300])
    throttles.report_refusal(Kind.SIGN_IN_REFUSED, throttles.address_of(request))
    response: HttpResponse = render_authentication_error(request, provider)
    return response


def _provider(request: HttpRequest) -> Any:
    if not settings.HUB_SAML_ISSUER:
        raise problems.NotFound("This hub has no SAML provider. Ask an administrator.")
    return get_adapter().get_provider(request, SAML)


def _saml() -> Any:
    """What speaks SAML: its library is an extra, which only a hub with a provider has."""
    if not settings.HUB_SAML_ISSUER:
        raise problems.NotFound("This hub has no SAML provider. Ask an administrator.")
    from registry.identity import saml  # noqa: PLC0415

    return saml
