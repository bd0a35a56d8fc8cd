"""Rates of requests, counted in the cache; while the cache is away, requests go on uncounted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from redis.exceptions import RedisError
from rest_framework import throttling

if TYPE_CHECKING:
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
    """Counts a signed-in user's requests."""


class AnonThrottle(_Lenient, throttling.AnonRateThrottle):
    """Counts a guest's requests by address."""
