"""Rates of requests, counted in the cache; while the cache is away, requests go on uncounted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from redis.exceptions import RedisError
from rest_framework import throttling

if TYPE_CHECKING:
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)


class _Lenient(throttling.SimpleRateThrottle):
    """A hub without its cache is slower to protect, which is better than a hub that is away."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            log.warning("throttle_unavailable", error=type(error).__name__)
            return True


class UserThrottle(_Lenient, throttling.UserRateThrottle):
    """Counts a signed-in user's requests; guests are counted by address alone."""

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None


class AnonThrottle(_Lenient, throttling.AnonRateThrottle):
    """Counts a guest's requests by address."""


class SignInThrottle(_Lenient):
    """Counts tries to sign in, by address and name, so that passwords cannot be guessed in bulk."""

    scope = "sign-in"

    def get_cache_key(self, request: Any, view: Any) -> str:
        name = str(request.POST.get("username", "")).lower()[:150]
        return self.cache_format % {
            "scope": self.scope,
            "ident": f"{self.get_ident(request)}/{name.encode().hex()}",
        }

    def allows(self, request: HttpRequest) -> bool:
        """Count one try; False when there have been too many of late."""
        allow: Any = self.allow_request
        return bool(allow(request, None))


def address_of(request: HttpRequest) -> str:
    """The address that a request came from, as HUB_PROXIES lets it be believed."""
    asked: Any = request
    return str(AnonThrottle().get_ident(asked) or "unknown")
