"""Beginning and forgetting branches beside main. What is published on one never becomes latest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import transaction

from hub.protocol import problems
from hub.protocol.refs import check_label
from registry.core import events
from registry.core.permissions import require
from registry.core.row_locks import lock
from registry.models import Branch, Ref, RegisteredModel, Version
from registry.versions import lifecycle

if TYPE_CHECKING:
    from registry.core.permissions import Actor
    from registry.versions.history import Head

_COMMIT = re.compile(r"[0-9a-f]{40}")
_NUMBER = re.compile(r"@?v?[0-9]+")
RESERVED = frozenset({lifecycle.BRANCH, "HEAD", "latest"})
LONGEST_NAME = 100


@transaction.atomic
def create(
    actor: Actor, *, model: RegisteredModel, name: str, start: Head | None, overwrite: bool = False
) -> Branch:
    """Begin a branch at a commit, or at nothing; raises NameTaken and InvalidName."""
    require(actor, "version.draft", model)
    check_name(name)
    model = lock(model)
    if overwrite and Branch.objects.filter(model=model, name=name).exists():
        _forget(actor, model, name)
    exists = (
        name in RESERVED
        or Branch.objects.filter(model=model, name=name).exists()
        or Ref.objects.filter(model=model, name=name).exists()
        or Version.objects.filter(model=model, label=name).exists()
    )
    if exists:
        raise problems.NameTaken(f"{model.ref} already has a branch, tag or label {name}.")
    frozen = start.version if start and start.commit is None else None
    branch = Branch.objects.create(
        model=model, name=name, version=frozen, commit=start.commit if start else None
    )
    if frozen is not None:
        Ref.objects.create(model=model, name=name, kind=Ref.Kind.BRANCH, version=frozen)
    events.record("branch.created", branch, actor=actor, model=model, name=name)
    return branch


@transaction.atomic
def delete(actor: Actor, *, model: RegisteredModel, name: str) -> None:
    """Forget a branch; the versions that were published on it stay. Raises NotFound."""
    require(actor, "version.draft", model)
    if name == lifecycle.BRANCH:
        raise problems.InvalidRequest("Every model has the branch main; it cannot be deleted.")
    model = lock(model)
    if not Branch.objects.filter(model=model, name=name).exists():
        raise problems.NotFound(f"{model.ref} has no branch {name}.")
    _forget(actor, model, name)


def check_name(name: str) -> str:
    """Return the name of a branch or tag unchanged, or raise InvalidName."""
    check_label(name)
    if (
        "+" in name
        or len(name) > LONGEST_NAME
        or _COMMIT.fullmatch(name)
        or _NUMBER.fullmatch(name)
    ):
        raise problems.InvalidName(
            f"{name!r} looks like a commit or a version number, has more than {LONGEST_NAME} "
            "characters, or contains a '+'. Choose another name."
        )
    return name


def _forget(actor: Actor, model: RegisteredModel, name: str) -> None:
    branch = Branch.objects.get(model=model, name=name)
    events.record("branch.deleted", branch, actor=actor, model=model, name=name)
    branch.delete()
    Ref.objects.filter(model=model, name=name, kind=Ref.Kind.BRANCH).delete()
