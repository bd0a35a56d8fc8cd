"""Commits of the Hub protocol: many changes at once, all of them or none.

A commit is a version like any other: a draft with the parent's files and the changes, submitted,
and published when its checks pass. Until it is public, its writer's next commit amends it instead
of taking another number, so that an upload in several commits is one version; what has no ONNX file
yet waits as a draft. Decision 0019 says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from hub.protocol import problems, refs
from registry.cards import cards, refused_cards
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.core.row_locks import lock
from registry.models import Blob, Commit, CommitFile, File, RegisteredModel, Upload, User, Version
from registry.storage import file_types
from registry.storage.files import store
from registry.storage.services import blobs, quotas
from registry.versions import git_names, history, lifecycle
from registry.versions.services import files as file_services

LONGEST_MESSAGE = 500
# Clients compare this text.
NO_ENTRY = "A file with this name doesn't exist"


@dataclass(frozen=True, slots=True)
class Add:
    """Put a blob at a path. ``is_own`` says that its bytes came with this very commit.

    ``size`` is what the client says it has, if it says so.
    """

    path: str
    sha256: str
    size: int | None = None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Take a file away, or everything below a folder."""

    path: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What came of a commit: its id, and the version it went into; none where nothing changed."""

    commit_id: str
    version: Version | None


@dataclass(frozen=True, slots=True)
class _Entry:
    blob_id: str
    size: int
    git_oid: str
    lfs: bool


class EntryMissing(problems.NotFound):
    """A change names a file that the commit before it has not."""


class BranchMissing(problems.NotFound):
    """The model has no such branch."""


def make(
    actor: Actor,
    *,
    model: RegisteredModel,
    branch: str,
    message: str,
    changes: Sequence[Add | Delete],
    parent_commit: str = "",
) -> CommitResult:
    """Apply changes in their order, and submit what comes out of them.

    Raises BranchMissing, PreconditionFailed where the branch is at another commit than
    ``parent_commit`` (5 to 40 hex digits), EntryMissing, BlobUnknown, PathInvalid, NotOnnx,
    CardInvalid, QuotaExceeded. Two commits at once follow each other. A card that is refused is
    kept (registry/cards/refused_cards.py).
    """
    added = [change for change in changes if isinstance(change, Add)]
    sent = [change.sha256 for change in added if change.path == cards.CARD_PATH]
    if not sent:
        return _make(actor, model, branch, message, changes, parent_commit)
    with refused_cards.keeping(
        actor,
        model=model,
        version=None,
        content=lambda: store().read(sent[-1], cards.LIMIT_BYTES + 1),
    ):
        return _make(actor, model, branch, message, changes, parent_commit)


@transaction.atomic
def _make(
    actor: Actor,
    model: RegisteredModel,
    branch: str,
    message: str,
    changes: Sequence[Add | Delete],
    parent_commit: str,
) -> CommitResult:
    for action in ("version.draft", "version.edit", "version.submit"):
        require(actor, action, model)
    user = require_user(actor, of=model)
    model = lock(model)
    quotas.lock(model.namespace)
    if not history.has_branch(model, branch):
        raise BranchMissing(f"{model.ref} has no branch {branch}.")
    head = history.head(model, branch)
    head_id = head.commit_id if head else history.first_commit_id(model)
    if parent_commit and not head_id.startswith(parent_commit):
        raise problems.PreconditionFailed(
            f"The branch {branch} of {model.ref} is at {head_id}, not at {parent_commit}: another "
            "commit was made in the meantime. Nothing was applied. Fetch, then commit again."
        )
    before = _entries(head)
    adds = [change for change in changes if isinstance(change, Add)]
    own = {change.sha256 for change in adds if change.is_own}
    stored = _available(user, model, {change.sha256 for change in adds} - own, own)
    blobs.hold(stored)
    after = _apply(before, changes, stored)
    if after == before:
        return CommitResult(head_id, None)
    file_services.check_paths(after.keys(), new=after.keys() - before.keys())
    _check_models(before, after)
    version = _amendable(user, head, branch)
    if version is None:
        version = lifecycle.draft(model, user, branch=branch)
    elif version.state == Version.State.SUBMITTED:
        events.record("version.amended", version, actor=actor, model=model, commit_id=head_id)
        lifecycle.reopen(version)
    _write(version, after, message)
    commit = CommitResult(_commit(user, version), version)
    quotas.expect(model.namespace, sum(stored[change.sha256].size for change in adds))
    return commit


def claimable(actor: Actor, *, model: RegisteredModel, sha256: str) -> int | None:
    """The size of an object that a commit of the actor to a model may name; None for others.

    Those are what the model holds, and what the actor brought to it: an object's name is no right.
    """
    blob = _available(require_user(actor, of=model), model, {sha256}, set()).get(sha256)
    return blob.size if blob else None


def rewrite(user: User, head: history.Head, branch: str, message: str) -> str:
    """A commit with the files of ``head`` on a locked model; returns its id."""
    version = _amendable(user, head, branch) or lifecycle.draft(
        head.version.model, user, branch=branch
    )
    _write(version, _entries(head), message)
    return _commit(user, version)


def _entries(head: history.Head | None) -> dict[str, _Entry]:
    """What a commit has at each path."""
    rows = head.files if head else ()
    return {row.path: _Entry(row.blob_id, row.blob.size, row.git_oid, row.lfs) for row in rows}


def _available(
    user: User, model: RegisteredModel, named: set[str], own: set[str]
) -> dict[str, Blob]:
    """The blobs among ``named`` that the model holds or ``user`` brought to it, and ``own``."""
    keys: set[str] = set()
    for rows in (
        File.objects.filter(version__model=model).exclude(version__state=Version.State.WITHDRAWN),
        CommitFile.objects.filter(commit__model=model).exclude(
            commit__version__state=Version.State.WITHDRAWN
        ),
        Upload.objects.filter(owner=user, model=model, state=Upload.State.STORED),
    ):
        keys |= set(rows.filter(blob__in=named).values_list("blob", flat=True))
    stored = Blob.objects.filter(pk__in=own | keys, erased_at=None)
    return {blob.pk: blob for blob in stored}


def _apply(
    before: dict[str, _Entry], changes: Sequence[Add | Delete], stored: dict[str, Blob]
) -> dict[str, _Entry]:
    after = dict(before)
    for change in changes:
        if isinstance(change, Delete):
            _delete(after, change)
        else:
            after[refs.check_path(change.path)] = _entry(change, stored)
    return after


def _delete(after: dict[str, _Entry], change: Delete) -> None:
    path = change.path.strip("/")
    if change.is_folder:
        gone = [path_after for path_after in after if path_after.startswith(f"{path}/")]
    else:
        gone = [path] if path in after else []
    if not gone:
        raise EntryMissing(f"{NO_ENTRY}: {change.path}")
    for name in gone:
        del after[name]


def _entry(change: Add, stored: dict[str, Blob]) -> _Entry:
    blob = problems.expect(
        stored.get(change.sha256),
        problems.BlobUnknown(
            f"{change.path}: sha256:{change.sha256} is not in this model, and you have not "
            "uploaded it. Upload the file first."
        ),
    )
    if change.size is not None and change.size != blob.size:
        raise problems.InvalidRequest(
            f"{change.path}: sha256:{change.sha256} has {blob.size} bytes, not {change.size}."
        )
    return _Entry(blob.pk, blob.size, **file_services.git_names(change.path, blob))


def _check_models(before: dict[str, _Entry], after: dict[str, _Entry]) -> None:
    for path, entry in after.items():
        is_new = path not in before or before[path].blob_id != entry.blob_id
        if is_new and path.lower().endswith(".onnx"):
            head = store().read(entry.blob_id, file_types.HEAD_BYTES)
            file_types.expect_onnx(path, head, entry.size)


def _amendable(user: User, head: history.Head | None, branch: str) -> Version | None:
    """The version that the next commit amends: its writer's own, made of commits, not yet public.

    A draft that was changed by hand since is left as it is.
    """
    if head is None:
        return None
    last = Commit.objects.filter(model=head.version.model_id, commit_id=head.commit_id).first()
    if last is None or last.branch != branch:
        return None
    version = Version.objects.select_related("model").get(pk=last.version_id)
    if version.created_by_id != user.pk or version.label or version.refs.exists():
        return None  # another user's, or something names it that must not change
    if version.state == Version.State.SUBMITTED and version.commit_id == last.commit_id:
        # A tag of what is being checked names the version once that is published.
        return None if last.tags.exists() else version
    files = version.files.values_list("path", "git_oid", "lfs")
    tree_id = git_names.tree_id(git_names.committed(files))
    return version if version.is_draft and tree_id == last.tree_id else None


def _write(version: Version, after: dict[str, _Entry], message: str) -> None:
    """Make a draft hold exactly the files of a commit."""
    had_card = File.objects.filter(version=version, path=cards.CARD_PATH).first()
    version.files.all().delete()
    File.objects.bulk_create(
        File(
            version=version,
            path=path,
            blob_id=entry.blob_id,
            git_oid=entry.git_oid,
            lfs=entry.lfs,
        )
        for path, entry in after.items()
    )
    version.message = message[:LONGEST_MESSAGE]
    version.save(update_fields=["message"])
    card = after.get(cards.CARD_PATH)
    if card is None:
        file_services.save_card(version, {}, "")
    elif had_card is None or had_card.blob_id != card.blob_id:
        content = store().read(card.blob_id, cards.LIMIT_BYTES + 1)
        file_services.take_card(version, content)


def _commit(user: User, version: Version) -> str:
    """Name what a draft holds now, remember it, and submit it if it can be checked at all."""
    at = _free_time(user, version)
    tree_id, commit_id = lifecycle.name_commit(version, user, at)
    commit = Commit.objects.create(
        model=version.model,
        version=version,
        branch=version.branch,
        commit_id=commit_id,
        tree_id=tree_id,
        message=version.message,
        author=user,
        created_at=at,
        precedes_model=not history.has_onnx(version.model),
    )
    if commit.precedes_model:
        RegisteredModel.objects.filter(pk=version.model_id, opened_at=None).update(opened_at=at)
    CommitFile.objects.bulk_create(
        CommitFile(
            commit=commit,
            path=file.path,
            blob_id=file.blob_id,
            git_oid=file.git_oid,
            lfs=file.lfs,
        )
        for file in version.files.all()
    )
    if version.files.filter(path__iendswith=".onnx").exists():
        lifecycle.freeze(version, user, publish=True, at=at)
    return commit_id


def _free_time(user: User, version: Version) -> datetime:
    """Now, or the next second in which the commit has an id of its own."""
    at = timezone.now()
    while True:
        _, commit_id = lifecycle.name_commit(version, user, at)
        commits = Commit.objects.filter(model=version.model_id, commit_id=commit_id)
        same = Version.objects.filter(model=version.model_id, commit_id=commit_id)
        if not commits.exists() and not same.exists():
            return at
        at += timedelta(seconds=1)
