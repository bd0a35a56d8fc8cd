"""Ancestors and descendants of a version as a user may see them, read from cards.

A card names what it is based on by `ns/name@number`, by an address of this hub, or by `ns/name`,
which means the newest version that is older than its own, as in graphs: of a model of
the card's own namespace, or one that a maintainer confirmed (registry/cards/resolution.py).
What the actor may not see looks like what is missing; each version is followed once, so circles
end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, Subquery

from hub.protocol import problems, refs
from hub.protocol.cards import Card
from metadata.rdf.iris import Places
from registry.cards import mentions, resolution
from registry.core.permissions import Actor
from registry.models import Mention, NameConfirmation, RegisteredModel, RetiredName, Version
from registry.versions.dependents import VersionDependent

UP, DOWN = 6, 4
# Nodes on either side, bases of one card, and versions of one descendant that are followed.
MOST, BASES, TOGETHER = 60, 12, 20
# Bases in a graph; no real merge has more.
MOST_BASES = 50
_MENTIONS, _VERSIONS, _MODELS = 300, 4000, 200
_COLUMNS = (
    "number", "card", "created_at", "state", "reason", "ended_at",
    "model__name", "model__namespace",  "model__namespace__slug", "model__deleted_at",
    "model__deletion_reason",
)  # fmt: skip


class Target(NamedTuple):
    """Namespace and name in lower case, a number where one is given; whether the name is bare.

    A bare name, `ns/name` alone, may be one of another place too.
    """

    name: str
    number: int | None
    bare: bool


@dataclass(slots=True)
class LineageNode:
    """One ancestor or descendant.

    ``named`` is what a card calls it; ``version`` is None for what is not here, or not for the
    actor; ``address`` is that of something elsewhere. ``card`` says how the younger of the two was
    made. ``again`` is a version that stands elsewhere in the list. ``others`` counts more versions
    of the same model.
    """

    named: str
    version: Version | None = None
    address: str = ""
    card: Card = field(default_factory=Card)
    again: bool = False
    others: int = 0
    relatives: list[LineageNode] = field(default_factory=list)


@dataclass(slots=True)
class Descent:
    """One side of a version's family; ``cut`` where there is more."""

    relatives: list[LineageNode] = field(default_factory=list)
    cut: bool = False


def public_bases(version: Version) -> list[tuple[str, Version, bool]]:
    """The bases of a version's card that are public versions here: name, version, has a number."""
    names = [(version, text.strip()) for text in version.typed_card.base_models[:MOST_BASES]]
    targets = [_target(text) for _, text in names]
    return [
        (text, base, target.number is not None)
        for (_, text), target, base in zip(
            names, targets, _bases(AnonymousUser(), names), strict=True
        )
        if target is not None and base is not None
    ]


def ancestors(actor: Actor, version: Version, *, depth: int = UP) -> Descent:
    """What a version's card is based on, and so on upwards; two or three queries for a step."""
    side = Descent()
    level: list[tuple[list[LineageNode], Version]] = [(side.relatives, version)]
    visited, count = {version.pk}, 0
    for step in range(depth + 1):
        named = [
            (place, young, text.strip())
            for place, young in level
            for text in young.typed_card.base_models[:BASES]
        ]
        if named and (step == depth or count + len(named) > MOST):
            side.cut = True
            named = named[: MOST - count] if step < depth else []
        if not named:
            break
        names = [(young, text) for _, young, text in named]
        undecided = _undecided(names)
        level = []
        for (place, young, text), base in zip(named, _bases(actor, names), strict=True):
            address = "" if base else _elsewhere(text, young, undecided)
            node = LineageNode(text, base, address, card=young.typed_card)
            place.append(node)
            count += 1
            if base is not None:
                node.again = base.pk in visited
                visited.add(base.pk)
                if not node.again:
                    level.append((node.relatives, base))
    return side


def descendants(actor: Actor, version: Version, *, depth: int = DOWN) -> Descent:
    """The versions whose cards are based on this one, one row a model, and so on downwards."""
    side = Descent()
    level: list[tuple[list[LineageNode], list[Version]]] = [(side.relatives, [version])]
    visited, count = {version.pk}, 0
    for step in range(depth + 1):
        children, is_cut = _children(actor, [parent for _, parents in level for parent in parents])
        side.cut |= is_cut
        following: list[tuple[list[LineageNode], list[Version]]] = []
        for place, parents in level:
            for group in _by_model(children, {parent.pk for parent in parents}):
                if step == depth or count >= MOST:
                    side.cut = True
                    break
                new = [version for version in group if version.pk not in visited]
                first = (new or group)[0]
                card, others = first.typed_card, len(group) - 1
                node = LineageNode(first.ref, first, card=card, again=not new, others=others)
                place.append(node)
                count += 1
                visited.update(row.pk for row in group)
                if new:
                    following.append((node.relatives, new[:TOGETHER]))
        level = following
        if not level:
            break
    return side


def of_version(actor: Actor, version: Version) -> Iterator[VersionDependent]:
    """The versions whose cards are based on this one, the newest of each model."""
    for node in descendants(actor, version, depth=1).relatives:
        yield VersionDependent("descendant", node.named)


# --- upwards -------------------------------------------------------------------------------------


def _bases(actor: Actor, names: list[tuple[Version, str]]) -> list[Version | None]:
    """For each name in a card the version that it means, as far as the actor may see it."""
    targets = [_target(text) for _, text in names]
    visible = RegisteredModel.objects.known_to(actor)
    models = resolution.models_named(visible, {target.name for target in targets if target})
    confirmed = _confirmed({young.model_id for young, _ in names}, filter(None, targets))
    visible_pks = set(visible.filter(pk__in=confirmed.values()).values_list("pk", flat=True))
    bases = [
        _model_of(young, target, models, confirmed, visible_pks) if target else None
        for (young, _), target in zip(names, targets, strict=True)
    ]
    if not any(bases):
        return [None] * len(names)
    served = Version.objects.filter(model__in=visible, state__in=Version.VISIBLE)
    selection = Q(pk__in=())
    for (young, _), target, pk in zip(names, targets, bases, strict=True):
        if target is None or pk is None:
            continue
        if target.number is not None:
            selection |= Q(model=pk, number=target.number)
        else:
            before = served.filter(model=pk, created_at__lt=young.created_at).order_by("-number")
            selection |= Q(pk=Subquery(before.values("pk")[:1]))
    rows = list(served.filter(selection).select_related("model__namespace").only(*_COLUMNS))
    return [
        _choose(rows, pk, target.number, young) if target and pk else None
        for (young, _), target, pk in zip(names, targets, bases, strict=True)
    ]


def _model_of(
    young: Version,
    target: Target,
    models: dict[str, int],
    confirmed: dict[tuple[int, str], int],
    visible: set[int],
) -> int | None:
    """The model that a name in a card means; None where it means none here."""
    pk = confirmed.get((young.model_id, target.name)) if target.bare else None
    if pk is not None:
        return pk if pk in visible else None
    if target.bare and not resolution.is_own(young.model, target.name):
        return None
    return models.get(target.name)


def _confirmed(models: Iterable[int], targets: Iterable[Target]) -> dict[tuple[int, str], int]:
    return resolution.confirmed_models(models, {target.name for target in targets if target.bare})


def _choose(
    rows: Iterable[Version], model: int | None, number: int | None, young: Version
) -> Version | None:
    """Of some versions the one that a name means: by number, else the newest before.

    None for a name that means the very version it stands in.
    """
    candidates = [
        row
        for row in rows
        if row.model_id == model
        and row.pk != young.pk
        and (row.number == number if number is not None else row.created_at < young.created_at)
    ]
    return max(candidates, key=lambda row: row.number, default=None)


def _target(text: str) -> Target | None:
    """The model of this hub that a base is, with its number, by reference or by address."""
    ours = f"{settings.HUB_PUBLIC_URL}/models/"
    text = mentions.name(text)
    if text.startswith(ours):
        name, _, number = text.removeprefix(ours).partition("/v/")
        name = unquote(name).lower()
        if name.count("/") != 1 or (number and not (number.isascii() and number.isdigit())):
            return None
        return Target(name, int(number[:9]) if number else None, bare=False)
    try:
        ref = refs.parse(text)
    except problems.Problem:
        return None
    if ref.number is None and "@" in text:  # a label may move; graphs do not follow it either
        return None
    return Target(f"{ref.namespace}/{ref.model}".lower(), ref.number, bare=ref.number is None)


def _elsewhere(text: str, young: Version, undecided: set[tuple[int, str]]) -> str:
    """The web address of something elsewhere; none for what is, or says it is, of this hub."""
    address = Places(settings.HUB_PUBLIC_URL).elsewhere(mentions.name(text))
    if not address and (young.pk, mentions.key(text)) not in undecided:
        address = resolution.elsewhere(text)
    return address


def _undecided(names: Iterable[tuple[Version, str]]) -> set[tuple[int, str]]:
    """The names that may mean a model of this hub or of elsewhere, by version."""
    by_version: dict[Version, list[str]] = {}
    for young, text in names:
        key = mentions.key(text)
        if resolution.elsewhere(key):
            by_version.setdefault(young, []).append(key)
    return {
        (young.pk, name)
        for young, keys in by_version.items()
        for name in resolution.undecided(young, keys)
    }


# --- downwards -----------------------------------------------------------------------------------


class _Child(NamedTuple):
    """A version whose card is based on one of some others."""

    version: Version
    parent: int


def _children(actor: Actor, parents: list[Version]) -> tuple[list[_Child], bool]:
    """The visible versions that are based on these, newest first; whether there were too many."""
    by_name = _names_of(parents)
    models = {parent.model_id for parent in parents}
    confirmed = {
        (row.model_id, row.name): row.base_id
        for row in NameConfirmation.objects.filter(base__in=models)[:_MENTIONS]
        if row.base_id is not None
    }
    names = {*(mentions.key(name) for name in by_name), *(name for _, name in confirmed)}
    visible = Version.objects.visible_to(actor).filter(state__in=Version.VISIBLE)
    mentioning = Mention.objects.filter(kind=Mention.Kind.MODEL, name__in=names).values("version")
    rows = visible.filter(pk__in=mentioning).select_related("model__namespace").only(*_COLUMNS)
    young = list(rows.order_by("-pk")[: _MENTIONS + 1])
    if not young:
        return [], False
    targets = [
        (child, target)
        for child in young[:_MENTIONS]
        for text in child.typed_card.base_models[:BASES]
        if (target := _target(text.strip())) is not None
    ]
    # What else a name was confirmed to mean goes before the model that has the name.
    confirmed |= _confirmed(
        {child.model_id for child, _ in targets}, (target for _, target in targets)
    )
    numbers = _numbers(models)
    members = {(parent.model_id, parent.number): parent.pk for parent in parents}
    children = []
    for child, target in targets:
        model = _model_of(child, target, by_name, confirmed, models)
        if model is not None:
            before = (number for number, at in numbers.get(model, []) if at < child.created_at)
            parent = members.get((model, target.number or next(before, 0)))
            if parent is not None and parent != child.pk:
                children.append(_Child(child, parent))
    return children, len(young) > _MENTIONS


def _names_of(versions: list[Version]) -> dict[str, int]:
    """Every name and address, in lower case, that leads to the models of these versions."""
    by_name: dict[str, int] = {}
    home = settings.HUB_PUBLIC_URL.lower()
    models = {version.model_id: version.model.ref.lower() for version in versions}
    former = RetiredName.objects.filter(moved_to__in=models).values_list("name", "moved_to")
    for name, pk in (*((ref, pk) for pk, ref in models.items()), *former[:_MODELS]):
        address = f"{home}/models/{name}"
        by_name |= {name: pk, address: pk}
        numbers = (version.number for version in versions if version.model_id == pk)
        by_name |= {f"{address}/v/{number}": pk for number in numbers}
    return by_name


def _numbers(models: set[int]) -> dict[int, list[tuple[int, datetime]]]:
    """Number and creation of each served version of some models, the newest first."""
    rows = Version.objects.filter(model__in=models, state__in=Version.VISIBLE).order_by("-number")
    numbers: dict[int, list[tuple[int, datetime]]] = {}
    for model, number, at in rows.values_list("model", "number", "created_at")[:_VERSIONS]:
        numbers.setdefault(model, []).append((number, at))
    return numbers


def _by_model(children: Iterable[_Child], parents: set[int]) -> list[list[Version]]:
    """The children of some versions by their model, the newest version of each first."""
    groups: dict[int, dict[int, Version]] = {}
    for child in children:
        if child.parent in parents:
            groups.setdefault(child.version.model_id, {})[child.version.pk] = child.version
    return [
        sorted(rows.values(), key=lambda row: -row.number)
        for rows in sorted(groups.values(), key=lambda rows: next(iter(rows.values())).model.ref)
    ]
