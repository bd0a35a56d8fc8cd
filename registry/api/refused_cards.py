"""The REST API over refused cards: reading one to correct it, and deleting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api.cards import CardFindingOutput, findings_data
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from registry.cards import refused_cards
from registry.models import RefusedCard
from registry.versions import selectors

if TYPE_CHECKING:
    from rest_framework.request import Request


class RefusedCardOutput(Output[RefusedCard]):
    """A card that was refused."""

    columns = Columns(
        "id",
        Column("author", "author.username"),
        Column("number", "version.number", help_text="number of the draft"),
        Column("size", help_text="bytes"),
        "sha256",
        Column("detail", help_text="why the card was rejected"),
        "sent_at",
    )


class RefusedCardDetailOutput(RefusedCardOutput):
    """A refused card with its text and its findings under the current rules."""

    text = serializers.CharField()
    findings = CardFindingOutput(many=True)


class RefusedCardsOutput(serializers.Serializer[Any]):
    """The refused cards of a model, newest first."""

    items = RefusedCardOutput(many=True)


class RefusedCardList(APIView):
    """The refused cards of a model: the caller's own; maintainers see all."""

    @asks()
    @extend_schema(operation_id="refused_cards_list", responses=RefusedCardsOutput)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List refused cards, newest first."""
        model = selectors.model(request.user, namespace, name)
        rows = refused_cards.of_model(request.user, model)
        return _private(Response({"items": [RefusedCardOutput(row).data for row in rows]}))


class RefusedCardDetail(APIView):
    """One refused card."""

    @extend_schema(operation_id="refused_cards_read", responses=RefusedCardDetailOutput)
    def get(self, request: Request, namespace: str, name: str, card_id: int) -> Response:
        """Read a refused card with its findings."""
        model = selectors.model(request.user, namespace, name)
        row = refused_cards.one(request.user, model, card_id)
        data = dict(RefusedCardOutput(row).data)
        data["text"] = refused_cards.text(row)
        data["findings"] = findings_data(refused_cards.check(row).findings)
        return _private(Response(data))

    @extend_schema(operation_id="refused_cards_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str, card_id: int) -> Response:
        """Delete a refused card."""
        model = selectors.model(request.user, namespace, name)
        refused_cards.one(request.user, model, card_id).delete()
        return Response(status=204)


def _private(response: Response) -> Response:
    response["Cache-Control"] = "private, no-store"
    return response
