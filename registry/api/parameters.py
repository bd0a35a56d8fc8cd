"""Which parameters an address may have: what a list does not know is refused, never ignored.

A handler of the API declares its parameters with `asks`, which also puts them into the OpenAPI
document; a page declares them with `accepts`. One check holds requests against what is declared:
`hub.server.middleware` calls it for pages and for the API, the Hub protocol for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

from django.http import HttpRequest
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from hub.protocol import problems

_View = TypeVar("_View", bound="Callable[..., Any]")
_NAMES = "accepted_parameters"
# Of a list that comes in pages.
PAGED = (
    OpenApiParameter("limit", int, description="maximum number of results per page, 1 to 100"),
    OpenApiParameter("cursor", str, description="cursor of the next page, taken from `next`"),
)
_MOST_NAMES = 20
_LONGEST = 60


def asks(*parameters: OpenApiParameter | type[serializers.Serializer[Any]]) -> Callable[..., Any]:
    """Declare the parameters of a handler of the API, in its address and its headers."""

    def declare(handler: _View) -> _View:
        names: set[str] = set()
        for parameter in parameters:
            if not isinstance(parameter, OpenApiParameter):
                names |= parameter().fields.keys()
            elif parameter.location == OpenApiParameter.QUERY:
                names.add(parameter.name)
        setattr(handler, _NAMES, frozenset(names))
        documented: _View = extend_schema(parameters=list(parameters))(handler)
        return documented

    return declare


def accepts(*names: str) -> Callable[[_View], _View]:
    """Declare the parameters that the address of a page, or of the Hub protocol, may have."""

    def declare(view: _View) -> _View:
        setattr(view, _NAMES, frozenset(names))
        return view

    return declare


def expect(request: HttpRequest, view: Callable[..., Any]) -> None:
    """Raise InvalidRequest where an address has a parameter that its view does not know.

    ``view`` is what the address leads to. Only what is read is checked, and only where something is
    declared, as every list does: a file may be asked for with whatever its client adds.
    """
    if request.method not in ("GET", "HEAD"):
        return
    cls = getattr(view, "cls", None)
    if cls is None:
        accepted = getattr(view, _NAMES, None)
    elif cls.schema is None:  # the Hub protocol checks for itself, and answers in its own form
        return
    else:
        handler = getattr(view, "actions", {}).get("get", "get")
        accepted = getattr(getattr(cls, handler, None), _NAMES, None)
    if accepted is not None:
        check(request.GET, accepted)


def expect_storable(request: HttpRequest) -> None:
    """Raise NotFound or InvalidRequest for an address with a null character.

    PostgreSQL takes none in a text, not even to look for it.
    """
    if "\0" in request.path:
        raise problems.NotFound("There is nothing at this address, which has a null character.")
    if "%00" in request.META["QUERY_STRING"]:
        for name, values in request.GET.lists():
            if "\0" in name or any("\0" in value for value in values):
                raise problems.InvalidRequest.at(
                    f"/{name}", "Remove the null character (%00) from the address."
                )


def check(names: Iterable[str], accepted: frozenset[str]) -> None:
    """Raise InvalidRequest for names that are not known, with those that are near."""
    unknown = [name for name in names if name not in accepted]
    if not unknown:
        return
    near = {name[:_LONGEST]: _near(name, accepted) for name in unknown[:_MOST_NAMES]}
    all_of = (
        f"Known: {', '.join(sorted(accepted))}." if accepted else "This endpoint has no parameters."
    )
    words = [
        f"Unknown parameter {name!r}. "
        + (f"Did you mean {' or '.join(close)}?" if close else all_of)
        for name, close in near.items()
    ]
    raise problems.InvalidRequest(
        " ".join(words),
        errors=[
            {"pointer": f"/{name}", "detail": text} for name, text in zip(near, words, strict=True)
        ],
        near=near,
    )


def expect_of(request: HttpRequest | Request, handler: Callable[..., Any] | None) -> None:
    """The same for a handler of the Hub protocol, where that declares its parameters.

    There a name may end in ``[]``, as some clients write lists.
    """
    accepted: frozenset[str] | None = getattr(handler, _NAMES, None)
    if accepted is not None:
        check([name.removesuffix("[]") for name in request.GET], accepted)


def _near(name: str, candidates: Iterable[str]) -> list[str]:
    """The known names that look most like this one, best first."""
    plain = name.lower()
    holding = [
        name for name in sorted(candidates) if len(plain) > 2 and (plain in name or name in plain)
    ]
    close = get_close_matches(plain, sorted(candidates), n=3, cutoff=0.6)
    return list(dict.fromkeys([*close, *holding]))[:3]
