"""Making, describing and deleting models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems, refs
from registry import events, search
from registry.models import RegisteredModel, RetiredName, SearchDocument
from registry.permissions import require

if TYPE_CHECKING:
    from registry.models import Namespace
    from registry.permissions import Actor

EDITABLE = ("visibility", "summary", "license", "task", "keywords")


@transaction.atomic
def create(actor: Actor, *, namespace: Namespace, name: str, **described: Any) -> RegisteredModel:
    """Make a model without versions; raises NameTaken, NameRetired, InvalidName."""
    require(actor, "model.create", namespace)
    refs.check_name(name)
    ref = f"{namespace.slug}/{name}"
    if RetiredName.objects.filter(name=ref.lower()).exists():
        raise problems.NameRetired(
            f"{ref} once named another model; names are never given twice. Choose another."
        )
    try:
        with transaction.atomic():
            model = RegisteredModel.objects.create(
                namespace=namespace, name=name, **_described(described)
            )
    except IntegrityError as error:
        raise problems.NameTaken(
            f"{ref} exists already. Publish a new version of it, or choose another name."
        ) from error
    events.record("model.created", model, actor=actor, model=model)
    return model


@transaction.atomic
def edit(actor: Actor, *, model: RegisteredModel, **described: Any) -> RegisteredModel:
    """Change what a model's page says of it; fields left out stay."""
    require(actor, "model.edit", model)
    model = RegisteredModel.objects.select_for_update().get(pk=model.pk)
    for field, value in _described(described).items():
        setattr(model, field, value)
    model.save()
    _keep_hidden(model)
    events.record("model.edited", model, actor=actor, model=model, fields=sorted(described))
    return model


@transaction.atomic
def delete(actor: Actor, *, model: RegisteredModel) -> None:
    """Remove a model from sight; a name that was ever published is retired for ever."""
    require(actor, "model.delete", model)
    model = RegisteredModel.objects.select_for_update().get(pk=model.pk)
    model.deleted_at = timezone.now()
    model.save(update_fields=["deleted_at"])
    SearchDocument.objects.filter(pk=model.pk).delete()
    transaction.on_commit(search.forget)
    if model.first_published_at:
        RetiredName.objects.get_or_create(name=model.ref.lower())
    events.record("model.deleted", model, actor=actor, model=model)


@transaction.atomic
def move(
    actor: Actor, *, model: RegisteredModel, namespace: Namespace, name: str
) -> RegisteredModel:
    """Give a model another name, perhaps in another namespace; the old one leads to it for ever.

    Raises NameTaken, NameRetired, InvalidName, and StateConflict for a model that was published:
    its name is part of the addresses that data elsewhere goes by.
    """
    require(actor, "model.delete", model)
    require(actor, "model.create", namespace)
    refs.check_name(name)
    model = RegisteredModel.objects.select_for_update().select_related("namespace").get(pk=model.pk)
    if model.first_published_at is not None:
        raise problems.StateConflict(
            f"{model.ref} was published, and a published name is for ever: metadata elsewhere "
            "names it. Make a new model, and say in this one's card where it went."
        )
    old, new = model.ref, f"{namespace.slug}/{name}"
    if old.lower() != new.lower() and RetiredName.objects.filter(name=new.lower()).exists():
        raise problems.NameRetired(
            f"{new} once named another model; names are never given twice. Choose another."
        )
    model.namespace, model.name = namespace, name
    try:
        with transaction.atomic():
            model.save()
    except IntegrityError as error:
        raise problems.NameTaken(f"{new} exists already. Choose another name.") from error
    if old.lower() != new.lower():
        RetiredName.objects.create(name=old.lower(), moved_to=model)
    events.record("model.moved", model, actor=actor, model=model, old=old, new=new)
    return model


def _keep_hidden(model: RegisteredModel) -> None:
    """Take what is no longer public out of the lists at once, not when the outbox comes to it."""
    if not model.is_public:
        SearchDocument.objects.filter(pk=model.pk).update(audience=model.namespace_id)
        transaction.on_commit(search.forget)


def _described(fields: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(fields) - set(EDITABLE))
    if unknown:
        raise problems.InvalidRequest(f"These fields cannot be set: {', '.join(unknown)}.")
    return {key: value for key, value in fields.items() if value is not None}
