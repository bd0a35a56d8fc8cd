"""Absolute addresses, on the host that the client used: clients refuse foreign ones.

The host is checked by `ALLOWED_HOSTS`; behind a proxy it is the one the proxy passes on.
"""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request


def absolute(request: Request, path: str) -> str:
    """The address of a path of this hub, which begins with a slash."""
    return request.build_absolute_uri(path)


def link_next(request: Request, response: HttpResponseBase, **parameters: str | int) -> None:
    """Name the page that follows: this address, with ``parameters`` set."""
    query = request.query_params.copy()
    for name, value in parameters.items():
        query[name] = str(value)
    address = absolute(request, f"{request.path}?{query.urlencode()}")
    # Scripts look for exactly one space after the semicolon.
    response["Link"] = f'<{address}>; rel="next"'


def words(request: Request, name: str) -> list[str]:
    """A list in a query: the key repeated, with or without `[]`, or one value with commas."""
    values = [*request.query_params.getlist(name), *request.query_params.getlist(f"{name}[]")]
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def flag(request: Request, name: str) -> bool:
    """A boolean in a query: `true`, `True` or `1`."""
    return request.query_params.get(name, "").lower() in ("true", "1")


def count(request: Request, name: str, preset: int, most: int) -> int:
    """A count in a query, from 0 to ``most``; ``preset`` where none is given or it is no number."""
    text = request.query_params.get(name, "")
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else preset
