"""Moving aliases, and making tags, which never move.

Writers make tags and delete their own; aliases and the tags of others are for maintainers.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import Ref, RegisteredModel, RetiredTag, Version
from registry.versions import alias_rules, history, lifecycle, ref_names


@transaction.atomic
def put(
    actor: Actor,
    *,
    model: RegisteredModel,
    name: str,
    kind: str,
    number: int,
    message: str = "",
    allow_yanked: bool = False,
    force: bool = False,
) -> tuple[Ref, bool]:
    """Make a tag or alias, or move an alias; says whether it is new.

    ``message`` says why, and stays in the history of an alias. Raises NameTaken, NotFound,
    StateConflict for an alias of a yanked version, unless ``allow_yanked``, and ConditionsUnmet for
    a version that lacks what the rule of the alias demands, unless ``force``, which needs a message
    and is recorded.
    """
    user = require(actor, "tag.create" if kind == Ref.Kind.TAG else "ref.move", model)
    if kind not in (Ref.Kind.TAG, Ref.Kind.ALIAS):
        raise problems.InvalidRequest.at(
            "/kind", "Choose tag or alias. Branches move with commits."
        )
    ref_names.check(name, number)
    model = lock(model)
    version = problems.expect(
        Version.objects.filter(model=model, number=number, state__in=Version.SERVED).first(),
        problems.NotFound(f"{model.ref} has no published version {number}."),
    )
    existing = ref_names.expect_free(model, name, kind, version, str(version.commit_id))
    details: dict[str, Any] = {"message": " ".join(message.split())} if message else {}
    if kind == Ref.Kind.ALIAS:
        if existing and existing.version_id == version.pk:
            return existing, False
        if version.state == Version.State.YANKED and not allow_yanked:
            raise problems.StateConflict(
                f"{version.ref} is yanked: {version.reason}. Choose a published version, or set "
                "allow_yanked to use this one.",
                state=version.state,
            )
        present = existing.version if existing else None
        unmet = alias_rules.unmet(model, name, version, present)
        if unmet and not force:
            raise alias_rules.refusal(version, name, unmet)
        if unmet and not message.strip():
            raise problems.InvalidRequest.at("/message", "Say why the rule is overridden.")
        if unmet:
            details["unmet"] = [str(condition) for condition in unmet]
    ref, created = Ref.objects.update_or_create(
        model=model,
        name=name,
        defaults={"kind": kind, "version": version},
        create_defaults={"kind": kind, "version": version, "author": user},
    )
    events.record(
        f"{kind}.moved", ref, actor=actor, model=model, name=name, number=number, **details
    )
    return ref, created


@transaction.atomic
def put_tag(actor: Actor, *, model: RegisteredModel, name: str, head: history.Head) -> Ref:
    """Make a tag of a commit; raises NameTaken, InvalidName and StateConflict.

    The tag of a commit that is published, now or later, names its version. Of a version that is
    being checked and was not made by a commit, the tag goes if it does not pass.
    """
    user = require(actor, "tag.create", model)
    model = lock(model)
    version = Version.objects.get(pk=head.version.pk)
    is_released = version.is_served and version.commit_id == head.commit_id
    commit = None if is_released else history.commit(model, head.commit_id)
    if commit is None:
        lifecycle.expect(version, "submitted", "published", "yanked")
    ref_names.check(name, version.number)
    ref_names.expect_free(model, name, Ref.Kind.TAG, version, head.commit_id)
    ref = Ref.objects.create(
        model=model,
        name=name,
        kind=Ref.Kind.TAG,
        version=None if commit else version,
        commit=commit,
        author=user,
    )
    events.record("tag.moved", ref, actor=actor, model=model, name=name, number=version.number)
    return ref


@transaction.atomic
def delete(actor: Actor, *, model: RegisteredModel, name: str) -> None:
    """Delete a tag or an alias: a writer those tags that are their own; raises NotFound.

    The name of a deleted tag is retired: it may only be set on the same commit again.
    """
    user = require(actor, "tag.create", model)
    model = lock(model)
    ref = Ref.objects.filter(model=model, name=name).exclude(kind=Ref.Kind.BRANCH).first()
    if ref is None or ref.kind != Ref.Kind.TAG or ref.author_id != user.pk:
        require(actor, "ref.move", model)
    if ref is None:
        raise problems.NotFound(f"{model.ref} has no tag or alias {name}.")
    events.record(f"{ref.kind}.deleted", ref, actor=actor, model=model, name=name)
    if ref.kind == Ref.Kind.TAG:
        commit = ref.version or ref.commit
        assert commit is not None  # noqa: S101 - a constraint has one of them
        commit_id = str(commit.commit_id)
        RetiredTag.objects.get_or_create(model=model, name=name, defaults={"commit_id": commit_id})
    ref.delete()
