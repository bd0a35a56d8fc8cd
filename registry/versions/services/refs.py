"""Moving aliases, and making tags, which never move.

Writers make tags and delete their own; aliases and the tags of others are for maintainers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from hub.protocol import problems
from hub.protocol.refs import check_label
from registry.core import events
from registry.core.permissions import require
from registry.core.row_locks import lock
from registry.models import Branch, Ref, RegisteredModel, Version
from registry.versions import history, lifecycle

if TYPE_CHECKING:
    from registry.core.permissions import Actor

# How clients of the Hub protocol write a version's number; a deployment pinned to it must not move.
_NUMBERED = re.compile(r"v[0-9]+")


@transaction.atomic
def put(
    actor: Actor, *, model: RegisteredModel, name: str, kind: str, number: int
) -> tuple[Ref, bool]:
    """Make a tag or alias, or move an alias; says whether it is new. Raises NameTaken, NotFound."""
    user = require(actor, "tag.create" if kind == Ref.Kind.TAG else "ref.move", model)
    if kind not in (Ref.Kind.TAG, Ref.Kind.ALIAS):
        raise problems.InvalidRequest.at(
            "/kind", "Choose tag or alias. Branches move with commits."
        )
    check_label(name)
    if _NUMBERED.fullmatch(name) and name != f"v{number}":
        raise problems.InvalidName.at(
            "/name",
            f"{name} already means the version with that number. Choose another name for {number}.",
        )
    model = lock(model)
    version = Version.objects.filter(model=model, number=number, state__in=Version.SERVED).first()
    if version is None:
        raise problems.NotFound(f"{model.ref} has no published version {number}.")
    if Version.objects.filter(model=model, label=name).exclude(pk=version.pk).exists():
        raise problems.NameTaken(f"{name} is already the label of another version of {model.ref}.")
    if Branch.objects.filter(model=model, name=name).exists():
        raise problems.NameTaken(f"{name} is already a branch of {model.ref}.")
    existing = Ref.objects.filter(model=model, name=name).first()
    if existing and (existing.kind != kind or existing.kind == Ref.Kind.TAG):
        raise problems.NameTaken(
            f"{name} is already a {existing.kind} of {model.ref}. "
            + ("Tags never move. Create another one." if existing.kind == Ref.Kind.TAG else "")
        )
    try:
        with transaction.atomic():
            ref, created = Ref.objects.update_or_create(
                model=model,
                name=name,
                defaults={"kind": kind, "version": version},
                create_defaults={"kind": kind, "version": version, "author": user},
            )
    except IntegrityError as error:
        raise problems.InvalidName.at(
            "/name",
            f"{name!r} could be confused with a number, a commit or `latest`. Choose another name.",
        ) from error
    events.record(f"{kind}.moved", ref, actor=actor, model=model, name=name, number=number)
    return ref, created


@transaction.atomic
def put_tag(actor: Actor, *, model: RegisteredModel, name: str, head: history.Head) -> Ref:
    """Make a tag of a commit; raises NameTaken, InvalidName and StateConflict.

    The tag of a commit that is published, now or later, names its version. Of a version that is
    being checked and was not made by a commit, the tag goes if it does not pass.
    """
    user = require(actor, "tag.create", model)
    check_label(name)
    model = lock(model)
    version = Version.objects.get(pk=head.version.pk)
    is_released = version.is_served and version.commit_id == head.commit_id
    commit = None if is_released else history.commit(model, head.commit_id)
    if commit is None:
        lifecycle.expect(version, "submitted", "published", "yanked")
    if _NUMBERED.fullmatch(name) and name != f"v{version.number}":
        raise problems.InvalidName(f"{name} means version {name[1:]} here. Choose another tag.")
    exists = (
        Ref.objects.filter(model=model, name=name).exists()
        or Branch.objects.filter(model=model, name=name).exists()
        or Version.objects.filter(model=model, label=name).exclude(pk=version.pk).exists()
    )
    if exists or name in ("main", "HEAD"):
        raise problems.NameTaken(
            f"{model.ref} already has a tag, branch or label {name}. Tags never move. Create "
            "another one."
        )
    try:
        with transaction.atomic():
            ref = Ref.objects.create(
                model=model,
                name=name,
                kind=Ref.Kind.TAG,
                version=None if commit else version,
                commit=commit,
                author=user,
            )
    except IntegrityError as error:
        raise problems.InvalidName(
            f"{name!r} could be confused with a number, a commit or `latest`. Choose another name."
        ) from error
    events.record("tag.moved", ref, actor=actor, model=model, name=name, number=version.number)
    return ref


@transaction.atomic
def delete(actor: Actor, *, model: RegisteredModel, name: str) -> None:
    """Delete a tag or an alias: a writer those tags that are their own; raises NotFound."""
    user = require(actor, "tag.create", model)
    ref = Ref.objects.filter(model=model, name=name).exclude(kind=Ref.Kind.BRANCH).first()
    if ref is None or ref.kind != Ref.Kind.TAG or ref.author_id != user.pk:
        require(actor, "ref.move", model)
    if ref is None:
        raise problems.NotFound(f"{model.ref} has no tag or alias {name}.")
    events.record(f"{ref.kind}.deleted", ref, actor=actor, model=model, name=name)
    ref.delete()
