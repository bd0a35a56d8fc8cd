"""Caching of pages: each request is validated, and an unchanged page costs a 304.

A page for a signed-in user carries fresh form tokens, so only guests' pages repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import get_conditional_response, set_response_etag

# What a 304 repeats, as middleware would give it another value.
HEADERS = (
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Embedder-Policy",
    "Cross-Origin-Resource-Policy",
)


def page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Give a view's answers an ``ETag``, and keep them out of shared caches.

    A HEAD answers as a GET would, ``ETag`` and 304 included (RFC 9110, section 9.3.2). Each
    representation has an ``ETag`` of its own: one that Accept chose never stands for another.
    """

    @wraps(view)
    def cached(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if request.method not in ("GET", "HEAD") or "no-store" in response["Cache-Control"]:
            return response
        if not response.has_header("ETag"):
            set_response_etag(response)  # it leaves streams alone
        if not response.has_header("ETag"):
            return response
        return conditional(request, response)

    return cached


def conditional(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The answer, or a 304 where the reader has it; with the policy that the answer has.

    A browser takes the headers of a 304 over into what it kept: one with another policy would
    leave a page without its own.
    """
    answer = get_conditional_response(
        request,
        etag=response["ETag"],
        response=response,  # type: ignore[arg-type]
    )
    if answer is None or answer is response:
        return response
    for name in HEADERS:
        if name in response:
            answer[name] = response[name]
    return answer
