"""Rates of requests, by user and by address."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Any

from django.core.cache import caches
from rest_framework import throttling

from registry.core import rates, security_log

if TYPE_CHECKING:
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

    from registry.models import User

# One subscriber commonly holds this much of IPv6, and may send from any address in it.
_SUBSCRIBER_BITS = 64
# More than any address has; without its proxy, a client can send any text as one.
_ADDRESS_CHARACTERS = 64


class _Throttle(throttling.SimpleRateThrottle):
    """DRF keeps request times in one list; here they are counted (registry.core.rates)."""

    num_requests: int
    duration: int

    def allow_request(self, request: Request, view: APIView) -> bool:
        key = self.get_cache_key(request, view) if self.rate is not None else None
        if key is None:
            return True
        try:
            rates.reserve([rates.Limit(key, rates.Rate(self.num_requests, self.duration))])
        except rates.RateExceededError as error:
            self._seconds = error.seconds
            return False
        return True

    def wait(self) -> float | None:
        """Seconds until a refused request would be allowed."""
        return self._seconds

    def get_ident(self, request: Request) -> str:
        """The address that counts: of IPv6 the first 64 bits."""
        return _subscriber(str(super().get_ident(request)))


class UserThrottle(_Throttle, throttling.UserRateThrottle):
    """Counts a signed-in user's requests; guests are counted by address alone."""

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None


class AnonThrottle(_Throttle, throttling.AnonRateThrottle):
    """Counts a guest's requests by address."""


def client_address(request: HttpRequest) -> str:
    """The whole address that a request came from, as HUB_PROXIES lets it be believed."""
    plain: Any = request
    return str(throttling.BaseThrottle().get_ident(plain) or "unknown")[:_ADDRESS_CHARACTERS]


def address_of(request: HttpRequest) -> str:
    """The address that a request came from, as HUB_PROXIES lets it be believed.

    Of IPv6 it is the network of 64 bits.
    """
    plain: Any = request
    return AnonThrottle().get_ident(plain) or "unknown"


def report_refusal(
    kind: security_log.Kind, address: str, actor: User | None = None, **details: int | str
) -> None:
    """Log a refusal: once a minute for each address and account, which may ask often."""
    if caches["process"].add(f"{kind}:{address}:{actor.pk if actor else ''}", 1, 60):
        security_log.report(kind, actor=actor, data=details)


def _subscriber(address: str) -> str:
    try:
        six = IPv6Address(address.strip("[]"))
    except AddressValueError:
        return address
    if six.ipv4_mapped is not None:
        return str(six.ipv4_mapped)
    return str(IPv6Network((int(six), _SUBSCRIBER_BITS), strict=False))
