"""The endpoint of SPARQL 1.1 Protocol: any program of any origin may query, none may update.

It ignores cookies, so no page can query in a user's name; a token allows more time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.urls import NoReverseMatch, reverse
from django.views.decorators.csrf import csrf_exempt

from hub.protocol import problems
from metadata.sparql import description, protocol, service
from registry.api import throttles
from registry.api.authentication import TokenAuthentication
from registry.api.problems import respond, translate

METHODS = ("GET", "HEAD", "POST", "OPTIONS")
_IN_ONE_PIECE = 1 << 17
_DAY = "86400"


@csrf_exempt
def endpoint(request: HttpRequest) -> HttpResponseBase:
    """Answer a question, or describe the service where none is asked."""
    request.COOKIES.clear()
    try:
        response = _answer(request)
    except Exception as error:  # noqa: BLE001 - every answer here speaks to programs
        response = respond(translate(error), request)
        if response.status_code == 405:
            response["Allow"] = ", ".join(METHODS)
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Expose-Headers"] = "Content-Length, Retry-After, X-Request-Id"
    response["Vary"] = "Accept"
    response.headers.setdefault("Cache-Control", "no-cache")
    return response


endpoint.ignores_cookies = True  # type: ignore[attr-defined]  # read by middleware


def _answer(request: HttpRequest) -> HttpResponseBase:
    if request.method == "OPTIONS":
        return _preflight()
    if request.method not in METHODS:
        raise problems.MethodNotAllowed(f"Send the query with GET or POST, not {request.method}.")
    question = _query_request(request)
    if question.text is None:
        return _describe(request)
    client, signed_in = _client(request)
    answer = service.ask(
        question.text,
        client=client,
        signed_in=signed_in,
        accept=request.headers.get("Accept", ""),
        default_graphs=question.default_graphs,
        named_graphs=question.named_graphs,
        is_gone=watch(request),
    )
    return _send(request, answer)


def _query_request(request: HttpRequest) -> protocol.QueryRequest:
    query_string = request.META.get("QUERY_STRING", "")
    if request.method != "POST":
        return protocol.from_get(query_string)
    if int(request.META.get("CONTENT_LENGTH") or 0) > protocol.LONGEST_BODY:
        raise problems.TooLarge(
            f"The request has more than {protocol.LONGEST_BODY} bytes. Split it into smaller "
            "queries."
        )
    kind = request.META.get("CONTENT_TYPE", "")
    return protocol.from_post(query_string, kind, request.body)


def _client(request: HttpRequest) -> tuple[str, bool]:
    """The client whose budget pays, and whether it has a token. Raises NotAuthenticated."""
    checked: Any = TokenAuthentication().authenticate(request)  # type: ignore[arg-type]
    if checked is None:
        return f"address-{throttles.address_of(request)}", False
    return f"user-{checked[0].pk}", True


def watch(request: HttpRequest) -> Callable[[], bool]:
    """A look at whether the client still waits, where the server shows its connection."""
    connection = request.META.get("gunicorn.socket")
    is_gone: Callable[[], bool] = getattr(connection, "is_gone", lambda: False)
    return is_gone


def _send(request: HttpRequest, answer: service.Answer) -> HttpResponseBase:
    response: HttpResponseBase
    kind = answer.media_type
    kind += "; charset=utf-8" if kind.startswith("text/") else ""
    if request.method == "HEAD":
        answer.close()
        response = HttpResponse(content_type=kind)
    elif answer.size <= _IN_ONE_PIECE:
        response = HttpResponse(b"".join(answer.chunks), content_type=kind)
        answer.close()
        return response
    else:
        response = StreamingHttpResponse(answer.chunks, content_type=kind)
    # A connection that is cut shows itself by this.
    response["Content-Length"] = str(answer.size)
    return response


def _preflight() -> HttpResponse:
    response = HttpResponse(status=204)
    response["Allow"] = ", ".join(METHODS)
    response["Access-Control-Allow-Methods"] = ", ".join(METHODS)
    response["Access-Control-Allow-Headers"] = "Accept, Authorization, Content-Type"
    response["Access-Control-Max-Age"] = _DAY
    return response


def _describe(request: HttpRequest) -> HttpResponse:
    accept = request.headers.get("Accept", "")
    if protocol.prefers_html(accept):
        try:
            return HttpResponseRedirect(reverse("query"))
        except NoReverseMatch:
            accept = "*/*"
    form = protocol.choose(accept, protocol.GRAPHS)
    return HttpResponse(description.write(form), content_type=f"{form.media_type}; charset=utf-8")
