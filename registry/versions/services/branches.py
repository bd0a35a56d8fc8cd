"""Beginning and forgetting branches beside main. What is published on one never becomes latest."""

from __future__ import annotations

from django.db import transaction

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import Branch, Ref, RegisteredModel
from registry.versions import lifecycle, ref_names
from registry.versions.history import Head


@transaction.atomic
def create(
    actor: Actor, *, model: RegisteredModel, name: str, start: Head | None, overwrite: bool = False
) -> Branch:
    """Begin a branch at a commit, or at nothing; raises NameTaken and InvalidName."""
    require(actor, "version.draft", model)
    ref_names.check(name)
    model = lock(model)
    if overwrite and Branch.objects.filter(model=model, name=name).exists():
        _forget(actor, model, name)
    ref_names.expect_free(model, name, Ref.Kind.BRANCH)
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


def _forget(actor: Actor, model: RegisteredModel, name: str) -> None:
    branch = Branch.objects.get(model=model, name=name)
    events.record("branch.deleted", branch, actor=actor, model=model, name=name)
    branch.delete()
    Ref.objects.filter(model=model, name=name, kind=Ref.Kind.BRANCH).delete()
