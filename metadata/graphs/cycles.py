"""Whether a version would be its own ancestor: read from rows, as SHACL cannot follow paths far."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.db.models import Q

from hub.protocol import problems, refs
from metadata.graphs import selectors
from registry.cards import mentions
from registry.models import Version

# Ancestors that are followed: no real model has more.
MOST = 1000
_AT_ONCE = 50
Key = tuple[str, str, int]


def find_cycle(version: Version) -> list[str]:
    """References along which a version derives from itself, starting with its base; usually none.

    Only public versions are followed, and versions of the same model.
    """
    own = (version.model.namespace.slug, version.model.name, version.number)
    # Each ancestor and its descendant.
    descendant_of: dict[Key, Key] = {}
    waiting = [own]
    cards: dict[Key, Any] = {own: version.card}
    while waiting and len(descendant_of) < MOST:
        bases: list[Key] = []
        for key in waiting:
            for base in _bases(cards[key]):
                if base == own:
                    return _path(descendant_of, key) or [_reference(own)]
                if base not in descendant_of:
                    descendant_of[base] = key
                    bases.append(base)
        cards = _cards(bases, version)
        waiting = list(cards)
    return []


def _path(descendant_of: dict[Key, Key], key: Key) -> list[str]:
    path = []
    while key in descendant_of:
        path.append(_reference(key))
        key = descendant_of[key]
    return path[::-1]


def _reference(key: Key) -> str:
    return "{}/{}@{}".format(*key)


def _cards(keys: list[Key], version: Version) -> dict[Key, Any]:
    """The cards of those versions that may be followed."""
    cards: dict[Key, Any] = {}
    for first in range(0, len(keys), _AT_ONCE):
        named = Q(pk__in=())
        for slug, name, number in keys[first : first + _AT_ONCE]:
            named |= Q(model__namespace__slug=slug, model__name=name, number=number)
        for row in Version.objects.filter(named).select_related("model__namespace"):
            if selectors.is_public(row) or row.model_id == version.model_id:
                cards[row.model.namespace.slug, row.model.name, row.number] = row.card
    return cards


def _bases(card: Any) -> Iterator[Key]:
    names = card.get("base_model") if isinstance(card, dict) else None
    for text in names if isinstance(names, list) else [names]:
        if isinstance(text, str) and (key := _key(text.strip())):
            yield key


def _key(text: str) -> Key | None:
    """The version of this hub that a base model is, by reference or by address."""
    ours = f"{settings.HUB_PUBLIC_URL}/models/"
    text = mentions.name(text)
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
