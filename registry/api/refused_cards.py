"""The REST API over refused cards: reading one to correct it, and deleting it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.cards import CardFindingOutput
from registry.api.names import PRIVATE
from registry.api.operations import ModelView, detail, operation, resource
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from registry.cards import refused_cards
from registry.models import RefusedCard


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

    def to_representation(self, instance: Any) -> Any:
        instance.text = refused_cards.text(instance)
        instance.findings = refused_cards.check(instance).findings
        return super().to_representation(instance)


class RefusedCardsOutput(serializers.Serializer[Any]):
    """The refused cards of a model, newest first."""

    items = RefusedCardOutput(many=True)


class RefusedCards(ModelView):
    """The refused cards of a model: the caller's own; maintainers see all."""

    card = resource(refused_cards.one, "model", "card_id")

    @asks()
    @operation("refused_cards_list", RefusedCardsOutput, headers=PRIVATE)
    def index(self) -> dict[str, Any]:
        """List refused cards, newest first."""
        return {"items": refused_cards.of_model(self.request.user, self.model)}

    read = detail(
        "refused_cards_read",
        RefusedCardDetailOutput,
        "Read a refused card with its findings.",
        targets=("card",),
        headers=PRIVATE,
    )

    @operation("refused_cards_delete")
    def destroy(self) -> None:
        """Delete a refused card."""
        self.card.delete()
