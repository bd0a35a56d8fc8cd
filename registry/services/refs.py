"""Moving aliases, and making tags, which never move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from hub.protocol import problems
from hub.protocol.refs import check_label
from registry import events
from registry.models import Ref, RegisteredModel, Version
from registry.permissions import require

if TYPE_CHECKING:
    from registry.permissions import Actor


@transaction.atomic
def put(
    actor: Actor, *, model: RegisteredModel, name: str, kind: str, number: int
) -> tuple[Ref, bool]:
    """Make a tag or alias, or move an alias; says whether it is new. Raises NameTaken, NotFound."""
    require(actor, "ref.move", model)
    if kind not in (Ref.Kind.TAG, Ref.Kind.ALIAS):
        raise problems.InvalidRequest.at("/kind", "Choose tag or alias; branches move by commits.")
    check_label(name)
    model = RegisteredModel.objects.select_for_update().get(pk=model.pk)
    version = Version.objects.filter(
        model=model, number=number, state__in=[Version.State.PUBLISHED, Version.State.YANKED]
    ).first()
    if version is None:
        raise problems.NotFound(f"{model.ref} has no published version {number}.")
    if Version.objects.filter(model=model, label=name).exclude(pk=version.pk).exists():
        raise problems.NameTaken(f"{name} is already the label of another version of {model.ref}.")
    existing = Ref.objects.filter(model=model, name=name).first()
    if existing and (existing.kind != kind or existing.kind == Ref.Kind.TAG):
        raise problems.NameTaken(
            f"{name} is already a {existing.kind} of {model.ref}. "
            + ("Tags never move; make another." if existing.kind == Ref.Kind.TAG else "")
        )
    try:
        with transaction.atomic():
            ref, created = Ref.objects.update_or_create(
                model=model, name=name, defaults={"kind": kind, "version": version}
            )
    except IntegrityError as error:
        raise problems.InvalidName.at(
            "/name", f"{name!r} could be taken for a number, a commit or `latest`; choose another."
        ) from error
    events.record(f"{kind}.moved", ref, actor=actor, model=model, name=name, number=number)
    return ref, created


@transaction.atomic
def delete(actor: Actor, *, model: RegisteredModel, name: str) -> None:
    """Delete a tag or an alias; raises NotFound."""
    require(actor, "ref.move", model)
    ref = Ref.objects.filter(model=model, name=name).exclude(kind=Ref.Kind.BRANCH).first()
    if ref is None:
        raise problems.NotFound(f"{model.ref} has no tag or alias {name}.")
    events.record(f"{ref.kind}.deleted", ref, actor=actor, model=model, name=name)
    ref.delete()
