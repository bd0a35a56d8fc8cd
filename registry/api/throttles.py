"""Rates of requests, counted in the cache; while the cache is away, requests go on uncounted."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Any

import structlog
from redis.exceptions import RedisError
from rest_framework import throttling

if TYPE_CHECKING:
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)

# One subscriber commonly holds this much of IPv6, and may send from any address in it.
_SUBSCRIBER_BITS = 64


class _Lenient(throttling.SimpleRateThrottle):
    """A hub without its cache is slower to protect, which is better than a hub that is away."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            log.warning("throttle_unavailable", error=type(error).__name__)
            return True

    def get_ident(self, request: Request) -> str:
        """The address that counts: of IPv6 the first 64 bits."""
        return _subscriber(str(super().get_ident(request)))


class UserThrottle(_Lenient, throttling.UserRateThrottle):
    """Counts a signed-in user's requests; guests are counted by address alone."""

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None


class AnonThrottle(_Lenient, throttling.AnonRateThrottle):
    """Counts a guest's requests by address."""


def address_of(request: HttpRequest) -> str:
    """The address that a request came from, as HUB_PROXIES lets it be believed.

    Of IPv6 it is the network of 64 bits.
    """
    asked: Any = request
    return AnonThrottle().get_ident(asked) or "unknown"


def _subscriber(address: str) -> str:
    try:
        six = IPv6Address(address.strip("[]"))
    except AddressValueError:
        return address
    if six.ipv4_mapped is not None:
        return str(six.ipv4_mapped)
    return str(IPv6Network((int(six), _SUBSCRIBER_BITS), strict=False))
