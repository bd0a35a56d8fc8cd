"""Pages that go on from a key: `{"items": [...], "next": address or null}` and a Link header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api.outputs import answers_of

LONGEST = 100


@cache
def paged(
    output: type[serializers.Serializer[Any]], **more: serializers.Field[Any, Any, Any, Any]
) -> Any:
    """The serializer of a page of ``output``, for the schema."""
    fields: dict[str, Any] = {
        "items": output(many=True),
        "next": serializers.URLField(allow_null=True),
        **more,
    }
    return type(f"{output.__name__.removesuffix('Output')}Page", (serializers.Serializer,), fields)


def whole(rows: Sequence[Any]) -> dict[str, Any]:
    """Rows as the only page."""
    return {"items": rows, "next": None}


def limit_of(request: Request) -> int:
    """The page length that a request asks for, 1 to 100."""
    text = request.query_params.get("limit", "20")
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= LONGEST:
        raise problems.InvalidRequest.at("/limit", f"limit must be between 1 and {LONGEST}.")
    return int(text)


def respond(
    request: Request,
    output: type[serializers.Serializer[Any]],
    rows: list[Any],
    cursor: str | None,
    **more: Any,
) -> Response:
    """A page of ``rows`` as an answer."""
    return answer(request, answers_of(output, rows, {"request": request}), cursor, **more)


def answer(request: Request, items: list[Any], cursor: str | None, **more: Any) -> Response:
    """A page of items as they are to be shown."""
    following = None
    if cursor:
        query = request.query_params.copy()
        query["cursor"] = cursor
        following = f"{settings.HUB_PUBLIC_URL}{request.path}?{query.urlencode()}"
    response = Response({"items": items, "next": following, **more})
    if following:
        response["Link"] = f'<{following}>; rel="next"'
    return response


def by_number(
    request: Request, rows: QuerySet[Any], column: str, *, rising: bool = False
) -> tuple[list[Any], str | None]:
    """The page of rows that a request asks for; the cursor is the last value shown.

    It goes from the highest ``column`` down or, if ``rising``, from the lowest up.
    """
    limit, last = limit_of(request), _whole(request)
    if last is not None:
        rows = rows.filter(**{f"{column}__{'gt' if rising else 'lt'}": last})
    page = list(rows.order_by(column if rising else f"-{column}")[: limit + 1])
    more = len(page) > limit
    return page[:limit], str(getattr(page[limit - 1], column)) if more else None


def by_time(
    request: Request, rows: QuerySet[Any], column: str, limit: int
) -> tuple[list[Any], str | None]:
    """A page of rows from the newest ``column`` down; ties are broken by the primary key."""
    cursor = request.query_params.get("cursor", "")
    if cursor:
        text, _, key = cursor.partition("~")
        at = parse_datetime(text)
        if at is None or not key:
            raise problems.InvalidRequest.at("/cursor", "This page address is broken; begin again.")
        rows = rows.filter(Q(**{f"{column}__lt": at}) | Q(**{column: at, "pk__lt": key}))
    page = list(rows.order_by(f"-{column}", "-pk")[: limit + 1])
    if len(page) <= limit:
        return page, None
    last = page[limit - 1]
    return page[:limit], f"{getattr(last, column).isoformat()}~{last.pk}"


def _whole(request: Request) -> int | None:
    """The cursor of a page that goes on from a whole number; None on the first page."""
    cursor = request.query_params.get("cursor", "")
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 18:
        raise problems.InvalidRequest.at("/cursor", "This page address is broken; begin again.")
    return int(cursor)
