"""The words that the Hub protocol filters by beyond keywords: they become facts of documents."""

from __future__ import annotations

from hub.protocol.cards import Card

GROUP = "tag"
LONGEST = 96
# Of these the protocol's tag is the value alone.
BARE = ("library", "language")


def of_card(card: Card) -> list[str]:
    """Each as `prefix:value`: library, languages, data sets and base models that a card names."""
    words = [
        *(f"library:{name}" for name in filter(None, [card.library])),
        *(f"language:{code}" for code in card.languages),
        *(f"dataset:{dataset.name}" for dataset in card.datasets if dataset.name),
        *(f"base_model:{name}" for name in card.base_models),
    ]
    return list(dict.fromkeys(word[:LONGEST] for word in words))


def spellings(tag: str) -> list[str]:
    """Every word that a tag may be kept as."""
    return [tag, *(f"{prefix}:{tag}" for prefix in BARE)]
