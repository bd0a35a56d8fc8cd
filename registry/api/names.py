"""The REST API over names in cards: what they mean, and confirming it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api.inputs import Input, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from registry.cards import names
from registry.models import Mention
from registry.models.mentions import NAME_CHARACTERS
from registry.versions import selectors
from registry.versions.services import names as services

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.models import RegisteredModel


class NameOutput(Output[names.Name]):
    """A name in the cards of a model, and the entry of this hub that it refers to."""

    columns = Columns(
        "kind",
        Column("name", help_text="in lower case"),
        Column("by", help_text="how the name was resolved; empty if it does not resolve"),
        Column("target", help_text="slug of a data set, or namespace/name of a model"),
        Column("suggestions", help_text="other entries with that name, for you to confirm"),
    )


class NamesOutput(serializers.Serializer[Any]):
    """Every name in the cards of a model."""

    items = NameOutput(many=True)


class NameQuery(Input):
    """Which name."""

    kind = serializers.ChoiceField(Mention.Kind.choices)
    name = serializers.CharField(max_length=NAME_CHARACTERS)


class NameInput(NameQuery):
    """The meaning of a name."""

    target = serializers.CharField(
        max_length=200, help_text="slug of a data set, or namespace/name of a model"
    )


class NameList(APIView):
    """The names in the cards of a model, for its maintainers."""

    @asks()
    @extend_schema(operation_id="names_list", responses=NamesOutput)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the data sets and base models that the cards name, and the entries they may mean."""
        return _respond(request, selectors.model(request.user, namespace, name))

    @extend_schema(operation_id="names_confirm", request=NameInput, responses=NamesOutput)
    def put(self, request: Request, namespace: str, name: str) -> Response:
        """Confirm the entry that a name refers to."""
        model = selectors.model(request.user, namespace, name)
        data = parse(NameInput, request.data)
        data["kind"] = Mention.Kind(data["kind"])
        services.confirm(request.user, model=model, **data)
        return _respond(request, model)

    @extend_schema(operation_id="names_withdraw", parameters=[NameQuery], responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Remove the confirmation of a name."""
        model = selectors.model(request.user, namespace, name)
        data = parse(NameQuery, request.query_params.dict())
        services.withdraw(
            request.user, model=model, kind=Mention.Kind(data["kind"]), name=data["name"]
        )
        return Response(status=204)


def _respond(request: Request, model: RegisteredModel) -> Response:
    rows = [asdict(one) for one in names.of_model(request.user, model)]
    return Response({"items": rows}, headers={"Cache-Control": "private, no-store"})
