"""Moves of a model, and access to the files of a gated one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import etags, pagination
from registry.api import serializers as shapes
from registry.api.addresses import api_url
from registry.api.inputs import Input, parse
from registry.api.models import fresh_model_data
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.models import AccessRequest, RegisteredModel
from registry.people import selectors as people_selectors
from registry.versions import selectors
from registry.versions.services import access, registered_models

if TYPE_CHECKING:
    from rest_framework.request import Request


class MoveInput(Input):
    """The new name of a model; without a namespace, the model stays in its own."""

    namespace = serializers.CharField(required=False)
    name = serializers.CharField()


class AccessInput(Input):
    """Message to the maintainers."""

    message = serializers.CharField(max_length=access.LONGEST_MESSAGE, allow_blank=True, default="")


class DecisionInput(Input):
    """The decision on a request; `pending` revokes an earlier decision."""

    status = serializers.ChoiceField(AccessRequest.Status.choices)
    reason = serializers.CharField(
        max_length=access.LONGEST_REASON,
        allow_blank=True,
        default="",
        help_text="reason for a rejection",
    )


class AccessRequestOutput(Output[AccessRequest]):
    """A request for access to a model's files, and its status."""

    columns = Columns(
        Column("user", "user.username"),
        "status",
        "message",
        "reason",
        "asked_at",
        "decided_at",
        Column("decided_by", "decided_by.username"),
    )


class OwnAccessOutput(serializers.Serializer[Any]):
    """Your access to the files of a model, and your request."""

    gate = serializers.ChoiceField(RegisteredModel.Gate.choices)
    may_download = serializers.BooleanField()
    request = AccessRequestOutput(allow_null=True)


class ModelMove(APIView):
    """A model's name."""

    @extend_schema(operation_id="models_move", request=MoveInput, responses=shapes.ModelOutput)
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Rename or move a model; the old name redirects."""
        model = selectors.model(request.user, namespace, name)
        data = parse(MoveInput, request.data)
        space = people_selectors.namespace(data.get("namespace") or model.namespace.slug)
        model = registered_models.move(
            request.user, model=model, namespace=space, name=data["name"]
        )
        response = etags.respond(request, fresh_model_data(request.user, model))
        response["Location"] = api_url("models", model.ref)
        return response


class OwnAccess(APIView):
    """The caller's access to a model's files."""

    @extend_schema(operation_id="access_read", responses=OwnAccessOutput)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Read whether you can download files, and the status of your access request."""
        model = selectors.model(request.user, namespace, name)
        return Response(_own(request, model))

    @extend_schema(operation_id="access_ask", request=AccessInput, responses=OwnAccessOutput)
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Request access to the files of a gated model."""
        model = selectors.model(request.user, namespace, name)
        access.ask(request.user, model=model, **parse(AccessInput, request.data or {}))
        return Response(_own(request, model))

    @extend_schema(operation_id="access_withdraw", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Withdraw your access request and any access granted by it."""
        access.withdraw(request.user, model=selectors.model(request.user, namespace, name))
        return Response(status=204)


class AccessList(APIView):
    """Everyone who requested access to a model's files."""

    @extend_schema(
        operation_id="access_requests_list",
        responses=pagination.paged(AccessRequestOutput),
    )
    @asks(OpenApiParameter("status", str, enum=AccessRequest.Status.values), *PAGED)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List access requests, newest first; for maintainers."""
        model = selectors.model(request.user, namespace, name)
        status = request.query_params.get("status", "")
        if status and status not in AccessRequest.Status.values:
            statuses = ", ".join(AccessRequest.Status.values)
            raise problems.InvalidRequest.at("/status", f"status must be one of {statuses}.")
        rows = selectors.access_requests(request.user, model, status)
        return pagination.highest_first(request, AccessRequestOutput, rows, "id")


class AccessDetail(APIView):
    """One person's access to a model's files."""

    @extend_schema(
        operation_id="access_requests_decide",
        request=DecisionInput,
        responses=AccessRequestOutput,
    )
    def put(self, request: Request, namespace: str, name: str, username: str) -> Response:
        """Accept or reject a request; accepting a user without a request also grants access."""
        model = selectors.model(request.user, namespace, name)
        data = parse(DecisionInput, request.data)
        requests = selectors.access_requests(request.user, model).filter(
            user__username__iexact=username
        )
        if data["status"] == AccessRequest.Status.ACCEPTED and not requests.exists():
            row = access.grant(request.user, model=model, username=username)
        else:
            row = access.decide(request.user, model=model, username=username, **data)
        return Response(AccessRequestOutput(row).data)


def _own(request: Request, model: RegisteredModel) -> dict[str, Any]:
    own = selectors.own_access_request(request.user, model)
    return {
        "gate": model.gate,
        "may_download": selectors.may_have_files(request.user, model),
        "request": AccessRequestOutput(own).data if own else None,
    }
