"""The words that the Hub protocol filters by beyond keywords: they become facts of documents."""

from __future__ import annotations

from typing import Any

GROUP = "tag"
LONGEST = 96
# Word of the prefix -> field of the card.
FIELDS = {
    "library": "library_name",
    "language": "language",
    "dataset": "datasets",
    "base_model": "base_model",
}
# Of these the protocol's tag is the value alone.
BARE = ("library", "language")


def of_card(front: Any) -> list[str]:
    """Each as `prefix:value`: library, languages, data sets and base models that a card names."""
    found: list[str] = []
    for prefix, field in FIELDS.items():
        value = front.get(field) if isinstance(front, dict) else None
        items = value if isinstance(value, list) else [value]
        said = [item.strip() for item in items if isinstance(item, str) and item.strip()]
        found += [f"{prefix}:{item}"[:LONGEST] for item in said]
    return list(dict.fromkeys(found))


def spellings(tag: str) -> list[str]:
    """Every word that a tag may be kept as."""
    return [tag, *(f"{prefix}:{tag}" for prefix in BARE)]
