"""Making, describing and deleting models."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems, refs
from hub.protocol.vocabularies import task_name
from registry.core import events, public_counts
from registry.core.permissions import Actor, has_scope, require
from registry.core.row_locks import lock
from registry.models import Namespace, RegisteredModel, RetiredName, SearchDocument
from registry.storage.services import quotas
from registry.versions.services import deletions
from registry.versions.services import names as confirmations

EDITABLE = ("visibility", "gate", "summary", "license", "task", "keywords")


@transaction.atomic
def create(actor: Actor, *, namespace: Namespace, name: str, **described: Any) -> RegisteredModel:
    """Make a model without versions; raises NameTaken, NameRetired, InvalidName."""
    require(actor, "model.create", namespace)
    refs.check_name(name)
    ref = f"{namespace.slug}/{name}"
    _claim(actor, ref)
    try:
        with transaction.atomic():
            model = RegisteredModel.objects.create(
                namespace=namespace, name=name, **_described(described)
            )
    except IntegrityError as error:
        raise problems.NameTaken(
            f"{ref} already exists. Publish a new version of it, or choose another name."
        ) from error
    events.record("model.created", model, actor=actor, model=model)
    return model


@transaction.atomic
def edit(actor: Actor, *, model: RegisteredModel, **described: Any) -> RegisteredModel:
    """Change what a model's page says of it; fields left out stay."""
    require(actor, "model.edit", model)
    model = lock(model)
    for field, value in _described(described).items():
        setattr(model, field, value)
    model.save()
    _keep_hidden(model)
    events.record("model.edited", model, actor=actor, model=model, fields=sorted(described))
    return model


@transaction.atomic
def delete(
    actor: Actor, *, model: RegisteredModel, reason: str = "", tombstone: bool = True
) -> None:
    """Remove a model from sight; a name that was ever published is retired permanently.

    A public model leaves a tombstone, unless ``tombstone`` is false: its address gives the time,
    the user and the reason. What a token without the scope `admin` deletes can be restored for some
    days (`deletions`); raises Throttled where such tokens delete too many.
    """
    user = require(actor, "model.delete", model)
    token = deletions.limit(user)
    model = lock(model)
    model.has_tombstone = tombstone and model.is_public
    model.deleted_at, model.deletion_reason = timezone.now(), " ".join(reason.split())
    if token:
        model.restorable_until = model.deleted_at + deletions.grace()
    columns = ["deleted_at", "deletion_reason", "has_tombstone", "restorable_until"]
    model.save(update_fields=columns)
    SearchDocument.objects.filter(pk=model.pk).delete()
    transaction.on_commit(public_counts.forget)
    if model.first_published_at:
        RetiredName.objects.get_or_create(name=model.ref.lower(), defaults={"spelt": model.ref})
    else:
        model.former_names.all().delete()
    if not token:
        deletions.forget(model)
    events.record("model.deleted", model, actor=actor, model=model, **token)


@transaction.atomic
def restore(actor: Actor, *, model: RegisteredModel) -> RegisteredModel:
    """Undo the deletion of a model by a token: names, files and discussions are as they were.

    Raises StateConflict where it cannot be restored (any more), and NameTaken where another model
    has its name by now.
    """
    require(actor, "model.restore", model)
    model = deletions.restorable(model)
    if model.first_published_at:
        RetiredName.objects.filter(name=model.ref.lower(), moved_to=None).delete()
    _claim(actor, model.ref, model)
    model.deleted_at = model.restorable_until = None
    model.deletion_reason, model.has_tombstone = "", False
    try:
        with transaction.atomic():
            model.save()
    except IntegrityError as error:
        raise problems.NameTaken(
            f"Another model has the name {model.ref} by now. Move or delete that one first."
        ) from error
    events.record("model.restored", model, actor=actor, model=model)
    return model


@transaction.atomic
def move(
    actor: Actor, *, model: RegisteredModel, namespace: Namespace, name: str
) -> RegisteredModel:
    """Give a model another name, perhaps in another namespace; the old one leads to it.

    Versions, commits, tags, aliases, files, members' requests and counts stay as they are; who may
    do what follows the namespace. Raises NameTaken, NameRetired, InvalidName, QuotaExceeded, and
    Throttled as ``delete`` does.
    """
    user = require(actor, "model.move", model)
    require(actor, "model.create", namespace)
    refs.check_name(name)
    model = lock(model)
    old, new = model.ref, f"{namespace.slug}/{name}"
    if old == new:
        return model
    token = deletions.limit(user)
    is_other_space = model.namespace_id != namespace.pk
    if old.lower() != new.lower():
        _claim(actor, new, model)
    if is_other_space:
        confirmations.keep_meanings(actor, model)
    model.namespace, model.name = namespace, name
    try:
        with transaction.atomic():
            model.save()
    except IntegrityError as error:
        raise problems.NameTaken(f"{new} already exists. Choose another name.") from error
    if is_other_space:
        quotas.expect(namespace)
    if old.lower() != new.lower():
        RetiredName.objects.create(name=old.lower(), spelt=old, moved_to=model)
    # Lists are the model's address in the API, so they follow at once.
    SearchDocument.objects.filter(pk=model.pk).update(title=new, namespace_slug=namespace.slug)
    transaction.on_commit(public_counts.forget)
    _keep_hidden(model)
    events.record("model.moved", model, actor=actor, model=model, old=old, new=new, **token)
    return model


def _claim(actor: Actor, ref: str, by: RegisteredModel | None = None) -> None:
    """Have a name that leads to a moved model give way; raises NameRetired for a deleted one's.

    Raises NotAllowed for a token without the scope `admin` that would take the name of another
    model soon after its move: publishing under it would retire the name, so that the model could
    not move back.
    """
    former = RetiredName.objects.select_for_update().filter(name=ref.lower()).first()
    if former is None:
        return
    if former.moved_to is None or former.moved_to.deleted_at is not None:
        raise problems.NameRetired(
            f"{ref} was the name of another model, and names are never reused. Choose another name."
        )
    is_recent = former.at > timezone.now() - deletions.grace()
    if is_recent and former.moved_to != by and not has_scope(actor, "admin"):
        raise problems.NotAllowed(
            f"{ref} leads to a model that had this name until {former.at:%Y-%m-%d}. For "
            f"{deletions.days()} after a move, only a session or a token of scope admin may give "
            "the old name to another model."
        )
    former.delete()
    if former.moved_to != by:
        events.record(
            "model.name-given", former.moved_to, actor=actor, model=former.moved_to, name=ref
        )


def _keep_hidden(model: RegisteredModel) -> None:
    """Take what is no longer public out of the lists at once, not when the outbox comes to it."""
    if not model.is_public:
        SearchDocument.objects.filter(pk=model.pk).update(audience=model.namespace_id)
        transaction.on_commit(public_counts.forget)


def _described(fields: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(fields) - set(EDITABLE))
    if unknown:
        raise problems.InvalidRequest(f"These fields cannot be set: {', '.join(unknown)}.")
    described = {key: value for key, value in fields.items() if value is not None}
    if "task" in described:
        described["task"] = task_name(described["task"])
    return described
