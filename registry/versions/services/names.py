"""Confirming what names in a model's cards mean, where the names alone do not say."""

from __future__ import annotations

from django.db import transaction

from hub.protocol import problems
from registry.cards import mentions, names
from registry.core import events
from registry.core.permissions import Actor, require
from registry.datasets import selectors as dataset_selectors
from registry.models import Dataset, NameConfirmation, RegisteredModel
from registry.models.mentions import MentionKind
from registry.versions import selectors


@transaction.atomic
def confirm(
    actor: Actor, *, model: RegisteredModel, kind: MentionKind, name: str, target: str
) -> NameConfirmation:
    """Say that ``name`` in the cards of a model means a data set (by slug) or a model (by name).

    An earlier confirmation of the name is replaced. Raises NotAllowed, NotFound for an entry that
    the actor cannot see, InvalidRequest for a name that no card has.
    """
    user = require(actor, "model.edit", model)
    key = mentions.key(name)
    if key not in names.named(model)[kind]:
        raise problems.InvalidRequest.at(
            "/name",
            f"No card of {model.ref} names a {_WORDS[kind]} {name[:120]!r}. Write the name "
            "exactly as in the card. Versions and addresses need no confirmation.",
        )
    dataset, base = None, None
    if kind == MentionKind.DATASET:
        dataset = _dataset(target)
    else:
        space, _, own = target.partition("/")
        base = selectors.model(actor, space, own)
        if base.pk == model.pk:
            raise problems.InvalidRequest.at(
                "/target", f"{model.ref} cannot be its own base model."
            )
    row, _ = NameConfirmation.objects.update_or_create(
        model=model,
        kind=kind,
        name=key,
        defaults={"dataset": dataset, "base": base, "confirmed_by": user},
    )
    events.record("model.name-confirmed", model, actor=actor, model=model, kind=kind, name=key)
    return row


def keep_meanings(actor: Actor, model: RegisteredModel) -> None:
    """Confirm the names in a model's cards that mean entries of its namespace, which it leaves.

    Raises NotAllowed, except for maintainers.
    """
    for claim in names.of_model(actor, model):
        if claim.by == "namespace":
            confirm(actor, model=model, kind=claim.kind, name=claim.name, target=claim.target)


@transaction.atomic
def withdraw(actor: Actor, *, model: RegisteredModel, kind: MentionKind, name: str) -> None:
    """Take a confirmation back; raises NotAllowed, NotFound."""
    require(actor, "model.edit", model)
    key = mentions.key(name)
    deleted, _ = NameConfirmation.objects.filter(model=model, kind=kind, name=key).delete()
    if not deleted:
        raise problems.NotFound(f"The meaning of {name[:120]!r} in {model.ref} is not confirmed.")
    events.record("model.name-withdrawn", model, actor=actor, model=model, kind=kind, name=key)


_WORDS = {MentionKind.DATASET: "data set", MentionKind.MODEL: "base model"}


def _dataset(slug: str) -> Dataset:
    entry = dataset_selectors.dataset(slug)
    if entry.withdrawn_at is not None:
        raise problems.InvalidRequest.at("/target", f"The entry {slug} was withdrawn.")
    return entry
