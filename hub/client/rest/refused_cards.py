"""The REST operations of refused cards, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group, model_path, part
from hub.client.rest.shared import CardFinding


@dataclass(frozen=True, kw_only=True)
class RefusedCard:
    """A card that was refused."""

    id: int
    author: str
    # number of the draft
    number: int | None = None
    # bytes
    size: int
    sha256: str
    # why the card was rejected
    detail: str
    sent_at: datetime


@dataclass(frozen=True, kw_only=True)
class RefusedCardDetail(RefusedCard):
    """A refused card with its text and its findings under the current rules."""

    text: str
    findings: tuple[CardFinding, ...]


@dataclass(frozen=True, kw_only=True)
class RefusedCards:
    """The refused cards of a model, newest first."""

    items: tuple[RefusedCard, ...]


class RefusedCardsGroup(Group):
    """The operations of refused cards."""

    def delete(self, model: str, card_id: int) -> None:
        """Delete a refused card."""
        self._do("DELETE", f"models/{model_path(model)}/refused-cards/{part(card_id)}")

    def list(self, model: str) -> RefusedCards:
        """List refused cards, newest first."""
        return self._call(RefusedCards, "GET", f"models/{model_path(model)}/refused-cards")

    def read(self, model: str, card_id: int) -> RefusedCardDetail:
        """Read a refused card with its findings."""
        return self._call(
            RefusedCardDetail, "GET", f"models/{model_path(model)}/refused-cards/{part(card_id)}"
        )
