"""Moves of a model, and access to the files of a gated one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import etags
from registry.api import serializers as shapes
from registry.api.addresses import api_url
from registry.api.inputs import Input, parse
from registry.api.models import fresh_model_data
from registry.api.operations import ModelView, listing, operation
from registry.api.outputs import Column, Columns, Output
from registry.models import AccessRequest, RegisteredModel
from registry.people import selectors as people_selectors
from registry.versions import selectors
from registry.versions.services import access, registered_models

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from rest_framework.request import Request
    from rest_framework.response import Response


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


class OwnAccess(ModelView):
    """The caller's access to a model's files."""

    def own(self) -> dict[str, Any]:
        return {
            "gate": self.model.gate,
            "may_download": selectors.may_have_files(self.request.user, self.model),
            "request": selectors.own_access_request(self.request.user, self.model),
        }

    @operation("access_read", OwnAccessOutput)
    def get(self) -> dict[str, Any]:
        """Read whether you can download files, and the status of your access request."""
        return self.own()

    @operation("access_ask", OwnAccessOutput, reads=AccessInput, body_optional=True)
    def post(self, message: str) -> dict[str, Any]:
        """Request access to the files of a gated model."""
        access.ask(self.request.user, model=self.model, message=message)
        return self.own()

    @operation("access_withdraw")
    def delete(self) -> None:
        """Withdraw your access request and any access granted by it."""
        access.withdraw(self.request.user, model=self.model)


class AccessList(ModelView):
    """Everyone who requested access to a model's files."""

    @listing(
        "access_requests_list",
        AccessRequestOutput,
        OpenApiParameter("status", str, enum=AccessRequest.Status.values),
        by="id",
    )
    def get(self) -> QuerySet[AccessRequest]:
        """List access requests, newest first; for maintainers."""
        status = self.request.query_params.get("status", "")
        if status and status not in AccessRequest.Status.values:
            statuses = ", ".join(AccessRequest.Status.values)
            raise problems.InvalidRequest.at("/status", f"status must be one of {statuses}.")
        return selectors.access_requests(self.request.user, self.model, status)


class AccessDetail(ModelView):
    """One person's access to a model's files."""

    @operation("access_requests_decide", AccessRequestOutput, reads=DecisionInput)
    def put(self, **decision: str) -> AccessRequest:
        """Accept or reject a request; accepting a user without a request also grants access."""
        actor, username = self.request.user, self.kwargs["username"]
        requests = selectors.access_requests(actor, self.model)
        is_asked = requests.filter(user__username__iexact=username).exists()
        if decision["status"] == AccessRequest.Status.ACCEPTED and not is_asked:
            return access.grant(actor, model=self.model, username=username)
        return access.decide(actor, model=self.model, username=username, **decision)
