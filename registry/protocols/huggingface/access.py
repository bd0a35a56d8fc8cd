"""Gated models as clients of the Hub protocol manage them: who asked, and the answers."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.models import AccessRequest, RegisteredModel
from registry.protocols.huggingface import addresses, errors, shapes, writing
from registry.protocols.huggingface.views import HubView
from registry.versions import selectors
from registry.versions.services import access

PAGE = 100
LONGEST_PAGE = 1_000


class AccessRequests(HubView):
    """Who asked for a model's files, by what was answered."""

    def get(self, request: Request, namespace: str, name: str, status: str) -> Response:
        """The requests in one state, oldest first; `Link` names the next page."""
        if status not in AccessRequest.Status.values:
            raise errors.Refused(f"Unknown state {status[:40]} of an access request.", status=404)
        rows = selectors.access_requests(request.user, self.model, status)
        limit = addresses.count(request, "limit", PAGE, LONGEST_PAGE) or PAGE
        page = addresses.count(request, "p", 0, rows.count())
        page_rows = rows[page * limit : (page + 1) * limit + 1]
        response = Response([_request_json(row) for row in page_rows[:limit]])
        if len(page_rows) > limit:
            addresses.link_next(request, response, p=page + 1)
        return response


class Handle(HubView):
    """Where requests are answered."""

    parser_classes = [writing.AnyJson]

    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Accept or reject a request, or set it back to pending; 404 for a user without one."""
        body = writing.body(request)
        row = access.decide(
            request.user,
            model=self.model,
            username=_username(request, self.model, body),
            status=writing.text(body, "status"),
            reason=writing.text(body, "rejectionReason"),
        )
        return Response(_request_json(row))


class Grant(HubView):
    """Granting access without a request."""

    parser_classes = [writing.AnyJson]

    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Grant access; 404 for an unknown user."""
        body = writing.body(request)
        username = _username(request, self.model, body)
        return Response(
            _request_json(access.grant(request.user, model=self.model, username=username))
        )


class Ask(HubView):
    """Where access is asked for."""

    parser_classes = [writing.AnyJson]

    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Ask for a model's files; the answer says whether they are there at once."""
        message = writing.text(writing.body(request), "message")
        return Response(_request_json(access.ask(request.user, model=self.model, message=message)))


def _username(request: Request, model: RegisteredModel, body: dict[str, Any]) -> str:
    """The user that a body names, by name or by the id of their request; raises Refused."""
    if username := writing.text(body, "user"):
        return username
    request_id = writing.text(body, "requestId")
    rows = selectors.access_requests(request.user, model)
    for row in rows if request_id else ():
        if _request_id(row) == request_id:
            return row.user.username
    if not request_id:
        raise problems.InvalidRequest("Send `user`, the name of an account on this hub.")
    raise errors.Refused("Access request not found.", status=404)


def _request_id(row: AccessRequest) -> str:
    return shapes.opaque_id(row.pk, "access")


def _request_json(row: AccessRequest) -> dict[str, Any]:
    """A request as clients read it; mail addresses are not included."""
    user = row.user
    data: dict[str, Any] = {
        "requestId": _request_id(row),
        "status": row.status,
        "timestamp": shapes.moment(row.asked_at),
        "user": {"user": user.username, "fullname": user.get_full_name() or user.username},
    }
    if row.message:
        data["fields"] = {"message": row.message}
    return data
