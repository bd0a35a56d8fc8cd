"""Pages that follow what they show: a page asks for the mark of its state, mostly answered by 304.

A page carries `Watch` on an element with ``data-watch``. `live.js` asks for the mark with
``If-None-Match``, less often the longer nothing changes, and never while the page is hidden. Only
when the mark differs it fetches the page again and replaces the parts that changed. The mark is
computed from a few rows, so that nothing is rendered for a 304.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from frontend.parts.caching import conditional


@dataclass(frozen=True, slots=True)
class Watch:
    """What a page follows: the address that answers with the mark, the mark, whether it is final.

    ``message`` is what a screen reader announces when it changes.
    """

    url: str
    mark: str
    is_over: bool
    message: str = ""


def mark(*parts: Any) -> str:
    """The mark of a state: equal for equal parts, as an ``ETag`` has it."""
    return f'"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'


def answer(request: Any, watch: Watch) -> HttpResponseBase:
    """Whether the state is final, or a 304 if the client has the current state."""
    response: HttpResponse = JsonResponse({"over": watch.is_over})
    response["ETag"] = watch.mark
    response["Cache-Control"] = "private, no-cache"
    return conditional(request, response)
