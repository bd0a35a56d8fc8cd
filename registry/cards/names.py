"""The names in a model's cards, what each means here, and what a maintainer may confirm it to mean.

Suggestions contain only what the maintainer may see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.db.models import Q
from django.db.models.functions import Lower

from hub.protocol.cards import Card
from registry.cards import mentions, resolution
from registry.core.permissions import Actor, require
from registry.models import Dataset, Mention, NameConfirmation, RegisteredModel, Version
from registry.models.mentions import MentionKind

MOST = mentions.MOST
_SUGGESTED = 5
By = Literal["address", "confirmation", "namespace", ""]


@dataclass(frozen=True, slots=True)
class Name:
    """A name in lower case, and the entry that it means: a data set's slug or a model's name.

    ``by`` says why it means that entry; it is empty where the name means nothing here.
    ``suggestions`` are other entries of that name. A confirmed entry that the reader may not see
    has no ``target``.
    """

    kind: MentionKind
    name: str
    by: By = ""
    target: str = ""
    suggestions: tuple[str, ...] = ()


def of_model(actor: Actor, model: RegisteredModel) -> list[Name]:
    """Every name in the cards of a model, drafts included, for maintainers; raises NotAllowed.

    Base models that are named with a version or by address need no confirmation and are left out.
    """
    require(actor, "model.edit", model)
    keys = named(model)
    models = _models(actor, model, keys[MentionKind.MODEL])
    return [*_datasets(model, keys[MentionKind.DATASET]), *models]


def named(model: RegisteredModel) -> dict[MentionKind, list[str]]:
    """The keys of the names in a model's cards, by kind: at most MOST of each."""
    keys: dict[MentionKind, set[str]] = {kind: set() for kind in MentionKind}
    rows = Mention.objects.filter(version__model=model).order_by("-version")
    for kind, name in rows.values_list("kind", "name").distinct()[: 10 * MOST]:
        keys[MentionKind(kind)].add(name)
    drafts = Version.objects.filter(model=model, state=Version.State.DRAFT)
    for card in map(Card.read, drafts.values_list("card", flat=True)[:_SUGGESTED]):
        keys[MentionKind.DATASET] |= mentions.datasets_in(card)
        keys[MentionKind.MODEL] |= mentions.models_in(card)
    # Named as `namespace/name`, which may be one here or elsewhere.
    keys[MentionKind.MODEL] = {
        name for name in keys[MentionKind.MODEL] if name.count("/") == 1 and ":" not in name
    }
    return {kind: sorted(names)[:MOST] for kind, names in keys.items()}


def _datasets(model: RegisteredModel, keys: list[str]) -> list[Name]:
    meant = resolution.datasets_of(model, keys)
    confirmations = NameConfirmation.objects.filter(model=model, kind=MentionKind.DATASET)
    confirmed = dict(confirmations.values_list("name", "dataset__slug"))
    same = Dataset.objects.filter(withdrawn_at=None).alias(same=Lower("iri"))
    others: dict[str, list[str]] = {}
    for entry in same.filter(Q(slug__in=keys) | Q(same__in=keys)).order_by("slug"):
        for key in mentions.keys_of(entry):
            others.setdefault(key, []).append(entry.slug)
    names = []
    for key in keys:
        entry_meant = meant.get(key)
        target = confirmed.get(key) or (entry_meant.slug if entry_meant else "")
        by: By = "confirmation" if key in confirmed else ""
        if entry_meant is not None and not by:
            by = "address" if key == resolution.address_key(entry_meant) else "namespace"
        rest = [slug for slug in others.get(key, []) if slug != target]
        suggested = tuple(rest[:_SUGGESTED])
        names.append(Name(MentionKind.DATASET, key, by, target or "", suggested))
    return names


def _models(actor: Actor, model: RegisteredModel, keys: list[str]) -> list[Name]:
    if not keys:
        return []
    visible = RegisteredModel.objects.visible_to(actor)
    meant = resolution.models_of(model, keys, visible)
    confirmed = {name for _, name in resolution.confirmed_models([model.pk], keys)}
    spaces, own = zip(*(name.split("/", 1) for name in keys), strict=True)
    rows = visible.exclude(pk=model.pk).alias(space=Lower("namespace__slug"), own=Lower("name"))
    rows = rows.filter(space__in=spaces, own__in=own) | rows.filter(former_names__name__in=keys)
    refs = {
        row.pk: row.ref for row in visible.filter(pk__in=meant.values()).select_related("namespace")
    }
    others: dict[str, set[str]] = {}
    for row in rows.select_related("namespace").prefetch_related("former_names").distinct():
        for key in (row.ref.lower(), *(former.name for former in row.former_names.all())):
            others.setdefault(key, set()).add(row.ref)
    names = []
    for key in keys:
        target = refs.get(meant.get(key, 0), "")
        by: By = "confirmation" if key in confirmed else "namespace" if target else ""
        suggested = tuple(sorted(others.get(key, set()) - {target}))[:_SUGGESTED]
        names.append(Name(MentionKind.MODEL, key, by, target, suggested))
    return names
