"""Pages may be kept but are asked for anew each time: an unchanged one costs a 304.

A page for somebody who is signed in carries fresh form tokens, so only guests' pages repeat.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from django.views.decorators.http import conditional_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponseBase


def page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Give a view's answers an ``ETag``, and keep them out of shared caches."""

    @wraps(view)
    def kept(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    conditional: Callable[..., HttpResponseBase] = conditional_page(kept)
    return conditional
