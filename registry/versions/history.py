"""A model's commits as writers see them: what was committed, whether or not it is public.

A version is a commit. Where a commit's version is still a draft, or was amended by a later commit,
its row in ``Commit`` holds what it was. Readers may have such a commit where the repository held no
ONNX model up to it: there was nothing to check. Nothing here asks who wants to know; callers do.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from registry.models import Branch, Commit, CommitFile, File, RegisteredModel, Version
from registry.versions import git_names
from registry.versions.lifecycle import BRANCH

FIRST_MESSAGE = "initial commit"


@dataclass(frozen=True, slots=True)
class Head:
    """A commit that a branch is at: a frozen version, or a commit that is none (any more)."""

    commit_id: str
    version: Version
    commit: Commit | None = None

    @property
    def files(self) -> QuerySet[File] | QuerySet[CommitFile]:
        """What was committed."""
        return files_of(self.version, self.commit)


def files_of(version: Version, commit: Commit | None) -> QuerySet[File] | QuerySet[CommitFile]:
    """The files of a commit, without what the hub derived."""
    if commit is not None:
        return commit.files.select_related("blob")
    return version.files.filter(derived=False).select_related("blob")


def first_commit_id(of: RegisteredModel) -> str:
    """The id of the empty commit that every model begins with."""
    by = git_names.Signature(of.namespace.slug, of.created_at)
    return git_names.commit_id(git_names.tree_id([]), None, FIRST_MESSAGE, by)


def has_branch(of: RegisteredModel, name: str) -> bool:
    """Whether a model has a branch of that name, commits or not."""
    return name == BRANCH or Branch.objects.filter(model=of, name=name).exists()


def head(of: RegisteredModel, branch: str) -> Head | None:
    """The newest commit on a branch; None for the empty commit that a model begins with.

    What was on a branch of the same name that was deleted is not on this one.
    """
    start = Branch.objects.filter(model=of, name=branch).select_related("version", "commit").first()
    since = start.created_at if start else of.created_at
    version = (
        Version.objects.filter(model=of, branch=branch, submitted_at__gte=since)
        .filter(commit_id__isnull=False)
        .exclude(state__in=[Version.State.DRAFT, Version.State.WITHDRAWN])
        .select_related("model__namespace", "created_by", "parent", "deprecation")
        .first()
    )
    commit = commits(of, for_readers=False).filter(branch=branch, created_at__gte=since).first()
    if version is not None and not _is_newer(commit, version):
        return Head(str(version.commit_id), version)
    if commit is not None:
        return of_commit(commit)
    return _start(start) if start else None


def readers_head(of: RegisteredModel, branch: str) -> Head | None:
    """The newest commit on a branch before the repository's first model; None where there is none.

    It is where the branch began, if nothing was committed to it since.
    """
    start = Branch.objects.filter(model=of, name=branch).select_related("commit").first()
    since = start.created_at if start else of.created_at
    rows = commits(of, for_readers=True)
    commit = rows.filter(branch=branch, created_at__gte=since).first()
    if commit is None and start is not None and start.commit is not None:
        commit = rows.filter(pk=start.commit.pk).first()
    return of_commit(commit) if commit else None


def find(of: RegisteredModel, commit_id: str, *, for_readers: bool = False) -> Head | None:
    """A commit that was made through the protocol, by its 40-hex id."""
    row = commit(of, commit_id, for_readers=for_readers)
    return of_commit(row) if row else None


def commit(of: RegisteredModel, commit_id: str, *, for_readers: bool = False) -> Commit | None:
    """The row of a commit that was made through the protocol, by its 40-hex id."""
    return commits(of, for_readers=for_readers).filter(commit_id=commit_id).first()


def commits(of: RegisteredModel, *, for_readers: bool) -> QuerySet[Commit]:
    """The commits of a model that were not withdrawn, newest first.

    Those ``for_readers`` are before its first model.
    """
    rows = Commit.objects.filter(model=of).exclude(version__state=Version.State.WITHDRAWN)
    if for_readers:
        rows = rows.filter(precedes_model=True)
    return rows.select_related(
        "version__model__namespace", "version__created_by", "version__parent", "author"
    )


def has_onnx(of: RegisteredModel) -> bool:
    """Whether a version or commit of a model has an ONNX file, regardless of who may see it."""
    files = File.objects.filter(version__model=of, path__iendswith=".onnx")
    committed = CommitFile.objects.filter(commit__model=of, path__iendswith=".onnx")
    return files.exists() or committed.exists()


def of_commit(commit: Commit) -> Head:
    """A commit with its version, which says of itself what the commit said."""
    version = commit.version
    if version.commit_id == commit.commit_id:
        return Head(commit.commit_id, version)
    version.commit_id, version.tree_id = commit.commit_id, commit.tree_id
    version.message, version.branch = commit.message, commit.branch
    version.submitted_at = commit.created_at
    return Head(commit.commit_id, version, commit)


def _is_newer(commit: Commit | None, version: Version) -> bool:
    """Whether a commit came after a version was frozen."""
    if commit is None or commit.commit_id == version.commit_id:
        return False
    return version.submitted_at is None or commit.created_at > version.submitted_at


def _start(branch: Branch) -> Head | None:
    if branch.version is not None and branch.version.commit_id:
        return Head(branch.version.commit_id, branch.version)
    return of_commit(branch.commit) if branch.commit is not None else None
