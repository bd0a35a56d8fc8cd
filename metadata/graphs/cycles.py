"""Whether a version would be its own ancestor: read from rows, as SHACL cannot follow paths far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from django.conf import settings
from django.db.models import Q

from hub.protocol import problems, refs
from metadata.graphs import subjects
from registry.models import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ancestors that are looked at: nobody derives from more in earnest.
MOST = 1000
_AT_ONCE = 50
Key = tuple[str, str, int]


def circle(version: Version) -> list[str]:
    """The references by which a version derives from itself, from its base on; mostly none.

    Only what everybody may see is followed, and versions of the same model.
    """
    own = (version.model.namespace.slug, version.model.name, version.number)
    # Each ancestor and the one by which it was found.
    came_from: dict[Key, Key] = {}
    waiting = [own]
    cards: dict[Key, Any] = {own: version.card}
    while waiting and len(came_from) < MOST:
        found: list[Key] = []
        for key in waiting:
            for base in _bases(cards[key]):
                if base == own:
                    return _way(came_from, key)
                if base not in came_from:
                    came_from[base] = key
                    found.append(base)
        cards = _cards(found, version)
        waiting = list(cards)
    return []


def _way(came_from: dict[Key, Key], key: Key) -> list[str]:
    way = []
    while key in came_from:
        way.append("{}/{}@{}".format(*key))
        key = came_from[key]
    return way[::-1]


def _cards(keys: list[Key], asking: Version) -> dict[Key, Any]:
    """The cards of those versions that may be followed."""
    cards: dict[Key, Any] = {}
    for first in range(0, len(keys), _AT_ONCE):
        named = Q(pk__in=())
        for slug, name, number in keys[first : first + _AT_ONCE]:
            named |= Q(model__namespace__slug=slug, model__name=name, number=number)
        for row in Version.objects.filter(named).select_related("model__namespace"):
            if subjects.is_public(row) or row.model_id == asking.model_id:
                cards[row.model.namespace.slug, row.model.name, row.number] = row.card
    return cards


def _bases(card: Any) -> Iterator[Key]:
    said = card.get("base_model") if isinstance(card, dict) else None
    for text in said if isinstance(said, list) else [said]:
        if isinstance(text, str) and (key := _key(text.strip())):
            yield key


def _key(text: str) -> Key | None:
    """The version of this hub that a base model is, by reference or by address."""
    ours = f"{settings.HUB_PUBLIC_URL}/models/"
    if text.startswith(ours):
        slug, _, rest = text.removeprefix(ours).partition("/")
        name, _, number = rest.partition("/v/")
        return (
            (unquote(slug), unquote(name), int(number))
            if re.fullmatch(r"[0-9]{1,9}", number)
            else None
        )
    try:
        ref = refs.parse(text)
    except problems.Problem:
        return None
    return (ref.namespace, ref.model, ref.number) if ref.number else None
