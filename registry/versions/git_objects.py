"""A model's history as real git objects, under the ids that its commits have had from the start.

An object is made again from rows and is given out only if its id comes out the same. Where that
fails, or what came before is not for the reader, the history is cut there (a shallow commit).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from django.db.models import QuerySet
from dulwich.objects import Blob as GitBlob
from dulwich.objects import Commit as GitCommit
from dulwich.objects import ShaFile, Tree

from registry.models import Commit, Event, RegisteredModel, Version
from registry.storage.files import store
from registry.versions import git_names, history, lifecycle


class Target(NamedTuple):
    """A commit as rows have it: without a version it is the empty one that a model begins with."""

    commit_id: str
    version: Version | None
    commit: Commit | None = None


class Content(NamedTuple):
    """What a blob of git holds: the file itself, the pointer to it, or text that no file holds."""

    lfs: bool
    sha256: str
    size: int
    is_erased: bool
    text: bytes = b""

    def read(self) -> bytes:
        """Its bytes; what is large is a pointer."""
        if self.text:
            return self.text
        if self.lfs:
            return git_names.pointer(self.sha256, self.size)
        return store().read(self.sha256, self.size)


@dataclass
class Repository:
    """The commits that some refs lead to, as far as ``versions`` (those the reader sees) go."""

    model: RegisteredModel
    versions: QuerySet[Version]
    for_readers: bool
    """Whether only the commits that every reader may have are given."""
    commits: dict[str, GitCommit] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    """Commits whose parent is not given out."""
    _targets: dict[str, Target] = field(default_factory=dict)

    def add(self, target: Target) -> bool:
        """Take a commit in with all before it; says whether the commit itself can be given."""
        here: Target | None = target
        last = ""
        while here is not None and here.commit_id not in self.commits:
            commit = self._object(here)
            if commit is None:
                break
            self.commits[here.commit_id], self._targets[here.commit_id] = commit, here
            last = here.commit_id
            here = self._find(commit.parents[0].decode()) if commit.parents else None
        if last and self.parent(last) and self.parent(last) not in self.commits:
            self.cut.add(last)
        return target.commit_id in self.commits

    def parent(self, commit_id: str) -> str | None:
        """The parent of a commit that is here."""
        parents = self.commits[commit_id].parents
        return parents[0].decode() if parents else None

    def before(self, commits: Iterable[str], *, stop: Iterable[str] = ()) -> set[str]:
        """These commits and all before them that are here, but none beyond those in ``stop``."""
        ends, ancestors = set(stop), set()
        for commit in commits:
            here: str | None = commit
            while here is not None and here in self.commits and here not in ancestors:
                ancestors.add(here)
                here = None if here in ends else self.parent(here)
        return ancestors

    def contents(self, commit_id: str) -> tuple[dict[str, Tree], dict[str, Content]]:
        """The folders of a commit, and what its blobs hold, by their ids."""
        target = self._targets[commit_id]
        if target.version is None:
            return git_names.tree_objects([]), {}
        rows = list(
            history.files_of(target.version, target.commit)
            .order_by("path")
            .values_list("path", "git_oid", "lfs", "blob", "blob__size", "blob__erased_at")
        )
        blobs = {
            oid: Content(lfs, sha256, size, erased_at is not None)
            for _, oid, lfs, sha256, size, erased_at in rows
        }
        plain = git_names.tree_objects((row[0], row[1]) for row in rows)
        if self.commits[commit_id].tree.decode() in plain:
            return plain, blobs
        files = [row[:3] for row in rows]
        text = git_names.attributes(files)
        blobs[git_names.blob_id(text)] = Content(False, "", len(text), False, text)
        return git_names.tree_objects(git_names.committed(files)), blobs

    def _find(self, commit_id: str) -> Target | None:
        """A commit by its id, where the reader may have it."""
        version = self.versions.exclude(state=Version.State.WITHDRAWN).filter(commit_id=commit_id)
        if row := version.first():
            return Target(commit_id, row)
        head = history.find(self.model, commit_id, for_readers=self.for_readers)
        return Target(head.commit_id, head.version, head.commit) if head else None

    def _object(self, target: Target) -> GitCommit | None:
        """The commit, if the rows still say all that its id was made of."""
        for tree, parent, message, by in _content(self.model, target):
            commit = git_names.commit_object(tree, parent, message, by)
            if commit.id.decode() == target.commit_id:
                return commit
        return None


def objects(
    commits: list[GitCommit], trees: dict[str, Tree], blobs: dict[str, Content]
) -> Iterator[ShaFile]:
    """All these objects, each file read when its turn comes."""
    yield from commits
    yield from trees.values()
    for content in blobs.values():
        yield GitBlob.from_string(content.read())


def _content(
    model: RegisteredModel, target: Target
) -> Iterator[tuple[str, str | None, str, git_names.Signature]]:
    """What a commit's id may have been made of, the likeliest first."""
    version, row = target.version, target.commit
    if version is None:
        by = git_names.Signature(model.namespace.slug, model.created_at)
        yield git_names.tree_id([]), None, history.FIRST_MESSAGE, by
        return
    at = row.created_at if row else version.submitted_at
    if at is None:
        return
    tree, text = (row.tree_id, row.message) if row else (version.tree_id, version.message)
    first = row.author if row else version.created_by
    submitted = Event.objects.filter(
        subject_kind="version", subject_id=str(version.pk), verb="version.submitted"
    )
    named = submitted.values_list("actor__commit_name", "actor__username")
    names = [first.commit_name, first.username, *(name for row in named for name in row)]
    authors = dict.fromkeys(name for name in names if name)
    for author, parent in product(authors, _parents(version)):
        message = text or f"Version {version.number}"
        yield tree, parent, message, git_names.Signature(author, at)


def _parents(version: Version) -> list[str | None]:
    """The commits that a version may have followed: its parent's, of now or of before, or none."""
    parents: list[str | None] = []
    for before in (version.parent, lifecycle.parent_of(version)):
        if before is None:
            continue
        parents.append(before.commit_id)
        rows = Commit.objects.filter(version=before).values_list("commit_id", flat=True)
        events = Event.objects.filter(
            subject_kind="version", subject_id=str(before.pk), verb="version.submitted"
        )
        commits = [data.get("commit") for data in events.values_list("data", flat=True)]
        parents += [*rows, *commits]
    return [*dict.fromkeys(parent for parent in parents if parent), None]
