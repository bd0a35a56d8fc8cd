"""Making one commit of a branch, as long as nothing on it was ever submitted or published."""

from __future__ import annotations

from django.db import transaction

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.core.row_locks import lock
from registry.models import Branch, Commit, Ref, RegisteredModel, Version
from registry.storage.services import quotas
from registry.versions import history
from registry.versions.services import commits


@transaction.atomic
def squash(actor: Actor, *, model: RegisteredModel, branch: str, message: str) -> str:
    """Replace the commits of a branch by one with the same files; returns its id.

    Raises BranchMissing, and StateConflict where the branch has no commits, where a version of it
    is more than a draft, or where a tag or another branch names one of the commits.
    """
    for action in ("version.draft", "version.edit", "version.submit"):
        require(actor, action, model)
    user = require_user(actor, of=model)
    model = lock(model, "namespace")
    quotas.lock(model.namespace)
    if not history.has_branch(model, branch):
        raise commits.BranchMissing(f"{model.ref} has no branch {branch}.")
    head = history.head(model, branch)
    rows = Commit.objects.filter(model=model, branch=branch)
    _expect_unpublished(model, branch)
    if head is None or not rows.exists():
        raise problems.StateConflict(f"The branch {branch} of {model.ref} has no commits yet.")
    old = list(rows.values_list("pk", flat=True))
    _expect_unnamed(model, old)
    commit_id = commits.rewrite(user, head, branch, message or head.version.message)
    Commit.objects.filter(pk__in=old).delete()
    events.record("branch.squashed", model, actor=actor, model=model, name=branch, commit=commit_id)
    return commit_id


def _expect_unpublished(model: RegisteredModel, branch: str) -> None:
    start = Branch.objects.filter(model=model, name=branch, version__isnull=False)
    states = Version.objects.filter(model=model, branch=branch).exclude(state=Version.State.DRAFT)
    if start.exists() or states.exists():
        raise problems.StateConflict(
            "Commits of versions are permanent, so only a branch that was never published can be "
            "squashed. Commits before a publication become one version by themselves."
        )


def _expect_unnamed(model: RegisteredModel, commits_: list[int]) -> None:
    tags = Ref.objects.filter(commit__in=commits_).values_list("name", flat=True)
    branches = Branch.objects.filter(model=model, commit__in=commits_)
    names = sorted({*tags, *branches.values_list("name", flat=True)})
    if names:
        raise problems.StateConflict(
            f"{', '.join(names[:10])} names a commit that would be gone. Delete it first."
        )
