"""Ancestors and descendants of a version as somebody may see them, read from cards.

A card names what it is based on by `ns/name@number`, by an address of this hub, or by `ns/name`,
which means the newest version that was there before its own was begun, as in graphs: of a model of
the card's own namespace, or one that a maintainer confirmed (registry/cards/resolution.py).
Whatever the actor may not see is told as if nobody had it; each version is followed once, so
circles end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.db.models import Q, Subquery
from django.db.models.functions import Lower

from hub.protocol import problems, refs, stored
from metadata.graphs.card_statements import texts
from metadata.rdf import quads
from registry.cards import mentions, resolution
from registry.models import Mention, NameConfirmation, RegisteredModel, RetiredName, Version

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from django.db.models import QuerySet

    from registry.core.permissions import Actor

UP, DOWN = 6, 4
# Nodes on either side, bases of one card, and versions of one descendant that are followed.
MOST, BASES, TOGETHER = 60, 12, 20
_MENTIONS, _LISTED, _MODELS = 300, 4000, 200
_NEEDED = ("number", "card", "created_at", "state", "model__name", "model__namespace__slug")


class Target(NamedTuple):
    """Namespace and name in lower case, a number where one is given; whether the name is bare.

    A bare name, `ns/name` alone, may be one of another place too.
    """

    name: str
    number: int | None
    bare: bool


@dataclass(slots=True)
class Relative:
    """One ancestor or descendant.

    ``named`` is what a card calls it; ``version`` is None for what is not here, or not for the
    actor; ``address`` is that of something elsewhere. ``card`` says how the younger of the two was
    made. ``again`` is a version that stands elsewhere in the list. ``others`` counts more versions
    of the same model.
    """

    named: str
    version: Version | None = None
    address: str = ""
    card: dict[str, Any] = field(default_factory=dict)
    again: bool = False
    others: int = 0
    relatives: list[Relative] = field(default_factory=list)


@dataclass(slots=True)
class Descent:
    """One side of a version's family; ``cut`` where there is more than is told."""

    relatives: list[Relative] = field(default_factory=list)
    cut: bool = False


def ancestors(actor: Actor, version: Version, *, depth: int = UP) -> Descent:
    """What a version's card is based on, and so on upwards; two or three queries for a step."""
    found = Descent()
    level: list[tuple[list[Relative], Version]] = [(found.relatives, version)]
    seen, told = {version.pk}, 0
    for step in range(depth + 1):
        asked = [
            (place, young, text.strip())
            for place, young in level
            for text in texts(stored.mapping(young.card).get("base_model"))[:BASES]
        ]
        if asked and (step == depth or told + len(asked) > MOST):
            found.cut = True
            asked = asked[: MOST - told] if step < depth else []
        if not asked:
            break
        meant = _meant(actor, [(young, text) for _, young, text in asked])
        undecided = _undecided((young, text) for _, young, text in asked)
        level = []
        for (place, young, text), base in zip(asked, meant, strict=True):
            one = Relative(text, base, card=stored.mapping(young.card))
            one.address = "" if base else _elsewhere(text, young, undecided)
            place.append(one)
            told += 1
            if base is not None:
                one.again = base.pk in seen
                seen.add(base.pk)
                if not one.again:
                    level.append((one.relatives, base))
    return found


def descendants(actor: Actor, version: Version, *, depth: int = DOWN) -> Descent:
    """The versions whose cards are based on this one, one row a model, and so on downwards."""
    found = Descent()
    level: list[tuple[list[Relative], list[Version]]] = [(found.relatives, [version])]
    seen, told = {version.pk}, 0
    for step in range(depth + 1):
        children, more = _children(actor, [one for _, old in level for one in old])
        found.cut |= more
        following: list[tuple[list[Relative], list[Version]]] = []
        for place, old in level:
            parents = {one.pk for one in old}
            for group in _by_model(children, parents):
                if step == depth or told >= MOST:
                    found.cut = True
                    break
                new = [one for one in group if one.pk not in seen]
                shown = (new or group)[0]
                one = Relative(
                    shown.ref,
                    shown,
                    card=stored.mapping(shown.card),
                    again=not new,
                    others=len(group) - 1,
                )
                place.append(one)
                told += 1
                seen.update(row.pk for row in group)
                if new:
                    following.append((one.relatives, new[:TOGETHER]))
        level = following
        if not level:
            break
    return found


# --- upwards -------------------------------------------------------------------------------------


def _meant(actor: Actor, asked: list[tuple[Version, str]]) -> list[Version | None]:
    """For each name in a card the version that it means, as far as the actor may see it."""
    targets = [_target(text) for _, text in asked]
    visible = RegisteredModel.objects.visible_to(actor)
    models = _models(visible, {target.name for target in targets if target})
    confirmed = _confirmed({young.model_id for young, _ in asked}, filter(None, targets))
    seen = set(visible.filter(pk__in=confirmed.values()).values_list("pk", flat=True))
    meant = [
        _model_of(young, target, models, confirmed, seen)
        for (young, _), target in zip(asked, targets, strict=True)
    ]
    if not any(meant):
        return [None] * len(asked)
    shown = Version.objects.visible_to(actor).filter(state__in=Version.SERVED)
    wanted = Q(pk__in=())
    for (young, _), target, pk in zip(asked, targets, meant, strict=True):
        if target is None or pk is None:
            continue
        if target.number is not None:
            wanted |= Q(model=pk, number=target.number)
        else:
            before = shown.filter(model=pk, created_at__lt=young.created_at).order_by("-number")
            wanted |= Q(pk=Subquery(before.values("pk")[:1]))
    rows = list(shown.filter(wanted).select_related("model__namespace").only(*_NEEDED))
    return [
        _choose(rows, pk, target.number, young) if target and pk else None
        for (young, _), target, pk in zip(asked, targets, meant, strict=True)
    ]


def _model_of(
    young: Version,
    target: Target | None,
    models: dict[str, int],
    confirmed: dict[tuple[int, str], int],
    seen: set[int],
) -> int | None:
    """The model that a name in a card means; None where it means none here."""
    if target is None:
        return None
    pk = confirmed.get((young.model_id, target.name)) if target.bare else None
    if pk is not None:
        return pk if pk in seen else None
    if target.bare and not resolution.is_own(young.model, target.name):
        return None
    return models.get(target.name)


def _confirmed(models: Iterable[int], targets: Iterable[Target]) -> dict[tuple[int, str], int]:
    return resolution.confirmed_models(models, {one.name for one in targets if one.bare})


def _choose(
    rows: Iterable[Version], model: int | None, number: int | None, young: Version
) -> Version | None:
    """Of the versions that were fetched the one that is meant: by number, else the newest before.

    None for a name that means the very version it stands in.
    """
    fitting = [
        row
        for row in rows
        if row.model_id == model
        and row.pk != young.pk
        and (row.number == number if number is not None else row.created_at < young.created_at)
    ]
    return max(fitting, key=lambda row: row.number, default=None)


def _models(visible: QuerySet[RegisteredModel], names: set[str]) -> dict[str, int]:
    """Keys of the visible models with these names (in lower case), those they had included."""
    if not names:
        return {}
    spaces, own = zip(*(name.split("/", 1) for name in names), strict=True)
    rows = (
        visible.alias(space=Lower("namespace__slug"), own=Lower("name"))
        .filter(space__in=set(spaces), own__in=set(own))
        .values_list("namespace__slug", "name", "pk")[:_MODELS]
    )
    found = {f"{space}/{name}".lower(): pk for space, name, pk in rows}
    if lacking := names - found.keys():
        former = visible.filter(former_names__name__in=lacking)
        found |= dict(former.values_list("former_names__name", "pk")[:_MODELS])
    return {name: pk for name, pk in found.items() if name in names}


def _target(text: str) -> Target | None:
    """The model of this hub that a base is, with its number, by reference or by address."""
    ours = f"{settings.HUB_PUBLIC_URL}/models/"
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
    address = quads.foreign(text)
    if not address and (young.pk, mentions.key(text)) not in undecided:
        address = resolution.elsewhere(text)
    return "" if address.startswith(f"{settings.HUB_PUBLIC_URL}/") else address


def _undecided(asked: Iterable[tuple[Version, str]]) -> set[tuple[int, str]]:
    """The names that may mean a model of this hub or of elsewhere, by version."""
    by_version: dict[int, tuple[Version, list[str]]] = {}
    for young, text in asked:
        key = mentions.key(text)
        if resolution.elsewhere(key):
            by_version.setdefault(young.pk, (young, []))[1].append(key)
    return {
        (pk, name)
        for pk, (young, names) in by_version.items()
        for name in resolution.undecided(young, names)
    }


# --- downwards -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Child:
    """A version whose card is based on one of some others."""

    version: Version
    parent: int


def _children(actor: Actor, old: list[Version]) -> tuple[list[_Child], bool]:
    """The visible versions that are based on these, newest first; whether there were too many."""
    by_name = _names_of(old)
    own = {one.model_id for one in old}
    confirmed = {
        (row.model_id, row.name): row.base_id
        for row in NameConfirmation.objects.filter(base__in=own)[:_MENTIONS]
        if row.base_id is not None
    }
    names = {*(mentions.key(name) for name in by_name), *(name for _, name in confirmed)}
    visible = Version.objects.visible_to(actor).filter(state__in=Version.SERVED)
    rows = (
        visible.filter(
            pk__in=Mention.objects.filter(kind=Mention.Kind.MODEL, name__in=names).values("version")
        )
        .select_related("model__namespace")
        .only(*_NEEDED)
        .order_by("-pk")
    )
    young = list(rows[: _MENTIONS + 1])
    if not young:
        return [], False
    lists = _listed(own)
    members = {(one.model_id, one.number): one.pk for one in old}
    found = []
    told = [
        (child, target)
        for child in young[:_MENTIONS]
        for text in texts(stored.mapping(child.card).get("base_model"))[:BASES]
        if (target := _target(text.strip())) is not None
    ]
    # What else a name was confirmed to mean goes before the model that has the name.
    confirmed |= _confirmed({child.model_id for child, _ in told}, (one for _, one in told))
    for child, target in told:
        model = _model_of(child, target, by_name, confirmed, own)
        if model is not None:
            number = target.number or _newest_before(lists.get(model, []), child.created_at)
            parent = members.get((model, number or 0))
            if parent is not None and parent != child.pk:
                found.append(_Child(child, parent))
    return found, len(young) > _MENTIONS


def _names_of(old: Iterable[Version]) -> dict[str, int]:
    """Every name and address, in lower case, that leads to the models of these versions."""
    found: dict[str, int] = {}
    home = settings.HUB_PUBLIC_URL.lower()
    models = {one.model_id: one.model.ref.lower() for one in old}
    former = RetiredName.objects.filter(moved_to__in=models).values_list("name", "moved_to")
    for name, pk in (*((ref, pk) for pk, ref in models.items()), *former[:_MODELS]):
        found[name] = pk
        found[f"{home}/models/{name}"] = pk
    for one in old:
        for name in [name for name, pk in found.items() if pk == one.model_id]:
            if name.startswith(f"{home}/") and "/v/" not in name:
                found[f"{name}/v/{one.number}"] = one.model_id
    return found


def _listed(models: set[int]) -> dict[int, list[tuple[int, datetime]]]:
    """Number and beginning of each shown version of some models, the newest first."""
    rows = Version.objects.filter(model__in=models, state__in=Version.SERVED).order_by("-number")
    found: dict[int, list[tuple[int, datetime]]] = {}
    for model, number, at in rows.values_list("model", "number", "created_at")[:_LISTED]:
        found.setdefault(model, []).append((number, at))
    return found


def _newest_before(listed: Iterable[tuple[int, datetime]], at: datetime) -> int | None:
    return next((number for number, begun in listed if begun < at), None)


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
