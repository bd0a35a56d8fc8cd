"""Changing collections. The collection's row is locked first, so changes come one after another.

A model is added by whoever sees it, and stays when they no longer do: the entry is then invisible
to them and to every reader without access. Entries of deleted models give way to new ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import bidi, problems
from registry.community.collections import selectors
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import Collection, CollectionEntry, Namespace, RegisteredModel
from registry.models.collections import (
    COLLECTION_SLUG,
    LONGEST_NOTE,
    MOST_ENTRIES,
)

EDITABLE = frozenset({"title", "description", "visibility"})


@transaction.atomic
def create(actor: Actor, *, namespace: Namespace, slug: str, **described: Any) -> Collection:
    """Make an empty collection; raises InvalidName, NameTaken.

    ``described`` are fields of EDITABLE; without a title the slug is the title.
    """
    require(actor, "collection.edit", namespace)
    if not re.fullmatch(COLLECTION_SLUG, slug):
        raise problems.InvalidName.at(
            "/slug",
            f"The name {slug[:120]!r} cannot be used. Use 1 to 96 lower-case letters, digits, '_' "
            "or '-', starting and ending with a letter or digit.",
        )
    collection = Collection(namespace=namespace, slug=slug, title=slug)
    _describe(collection, described)
    try:
        with transaction.atomic():
            collection.save()
    except IntegrityError as error:
        raise problems.NameTaken.at(
            "/slug", f"Collection {collection.ref} already exists. Edit it, or choose another name."
        ) from error
    events.record("collection.created", collection, actor=actor, ref=collection.ref)
    return collection


@transaction.atomic
def edit(actor: Actor, *, collection: Collection, **described: Any) -> Collection:
    """Change what a collection says of itself; fields left out stay."""
    require(actor, "collection.edit", collection.namespace)
    collection = lock(collection, "namespace")
    _describe(collection, described)
    collection.updated_at = timezone.now()
    collection.save()
    events.record("collection.edited", collection, actor=actor, fields=sorted(described))
    return collection


@transaction.atomic
def delete(actor: Actor, *, collection: Collection) -> None:
    """Delete a collection; its models stay."""
    require(actor, "collection.delete", collection.namespace)
    collection = lock(collection, "namespace")
    events.record("collection.deleted", collection, actor=actor, ref=collection.ref)
    collection.delete()


@transaction.atomic
def add(
    actor: Actor, *, collection: Collection, model: RegisteredModel, note: str = ""
) -> CollectionEntry:
    """Add a model that the actor sees, at the end; raises StateConflict, InvalidRequest."""
    require(actor, "collection.edit", collection.namespace)
    note = _checked_note(note)
    collection = lock(collection, "namespace")
    rows = list(collection.entries.select_related("model"))
    if any(row.model_id == model.pk for row in rows):
        raise problems.StateConflict(
            f"{collection.ref} already contains {model.ref}. Change its note, or remove it first."
        )
    living = [row for row in rows if row.model.deleted_at is None]
    if len(living) >= MOST_ENTRIES:
        raise problems.StateConflict(
            f"A collection has at most {MOST_ENTRIES} models. Remove one, or begin another "
            "collection."
        )
    if rows and rows[-1].position == MOST_ENTRIES - 1:
        rows = _write(collection, living)
    position = rows[-1].position + 1 if rows else 0
    entry = collection.entries.create(model=model, note=note, position=position)
    _changed("entry-added", actor, collection, model)
    return entry


@transaction.atomic
def annotate(
    actor: Actor, *, collection: Collection, model: RegisteredModel, note: str
) -> CollectionEntry:
    """Change the note of a model, which the actor sees; raises NotFound, InvalidRequest."""
    require(actor, "collection.edit", collection.namespace)
    collection = lock(collection, "namespace")
    entry = selectors.entry(actor, collection, model)
    entry.note = _checked_note(note)
    entry.save(update_fields=["note"])
    _changed("entry-edited", actor, collection, model)
    return entry


@transaction.atomic
def remove(actor: Actor, *, collection: Collection, model: RegisteredModel) -> None:
    """Remove a model, which the actor sees, from a collection; raises NotFound."""
    require(actor, "collection.edit", collection.namespace)
    collection = lock(collection, "namespace")
    selectors.entry(actor, collection, model).delete()
    _changed("entry-removed", actor, collection, model)


@transaction.atomic
def remove_unavailable(actor: Actor, *, collection: Collection) -> int:
    """Remove the entries of models that the actor does not see; returns how many they were."""
    require(actor, "collection.edit", collection.namespace)
    collection = lock(collection, "namespace")
    rows = list(selectors.hidden(actor, collection))
    CollectionEntry.objects.filter(pk__in=[row.pk for row in rows]).delete()
    if rows:
        events.record(
            "collection.entries-removed",
            collection,
            actor=actor,
            listed=[row.model_id for row in rows],
        )
    return len(rows)


@transaction.atomic
def reorder(actor: Actor, *, collection: Collection, first: Sequence[RegisteredModel]) -> None:
    """Put these models first, in this order, of those that the actor sees; the others follow.

    Entries that the actor does not see keep their places. Raises InvalidRequest, NotFound.
    """
    require(actor, "collection.edit", collection.namespace)
    if len({model.pk for model in first}) < len(first):
        raise problems.InvalidRequest.at("/models", "Name each model once.")
    collection = lock(collection, "namespace")
    leading = [selectors.entry(actor, collection, model) for model in first]
    leading_keys = {entry.pk for entry in leading}
    visible = selectors.entries(actor, collection)
    ordered = iter([*leading, *(entry for entry in visible if entry.pk not in leading_keys)])
    visible_keys = {entry.pk for entry in visible}
    rows = list(collection.entries.all())
    _write(collection, [next(ordered) if row.pk in visible_keys else row for row in rows])
    collection.updated_at = timezone.now()
    collection.save(update_fields=["updated_at"])
    events.record("collection.reordered", collection, actor=actor)


def _write(collection: Collection, rows: list[CollectionEntry]) -> list[CollectionEntry]:
    """Make these the entries, in this order; positions are unique, so none is changed in place."""
    collection.entries.all().delete()
    return CollectionEntry.objects.bulk_create(
        CollectionEntry(
            collection=collection,
            model_id=row.model_id,
            note=row.note,
            added_at=row.added_at,
            position=position,
        )
        for position, row in enumerate(rows)
    )


def _changed(verb: str, actor: Actor, collection: Collection, model: RegisteredModel) -> None:
    """Record a change of an entry; its date is for every reader, so only if they see the model."""
    if RegisteredModel.objects.visible_to(AnonymousUser()).filter(pk=model.pk).exists():
        collection.updated_at = timezone.now()
        collection.save(update_fields=["updated_at"])
    events.record(f"collection.{verb}", collection, actor=actor, listed=model.pk)


def _checked_note(note: str) -> str:
    note = note.strip()
    if len(note) > LONGEST_NOTE:
        raise problems.InvalidRequest.at(
            "/note", f"A note may have at most {LONGEST_NOTE} characters. Shorten it."
        )
    return note


def _describe(collection: Collection, described: dict[str, Any]) -> None:
    """Set the fields, whose values the API, the form and the database check."""
    bidi.expect_none("/title", described.get("title", ""))
    for field in described.keys() & EDITABLE:
        setattr(collection, field, described[field].strip())
