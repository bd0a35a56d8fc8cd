"""Which repository and which version an address means.

A revision is a commit, a branch, a tag, an alias (`champion` or `@champion`), a version's number
(`3`, `v3`, `@3`) or its label. WSGI servers decode `%2F`, so the name of a ref may hold slashes and
be followed by a path: the longest prefix that is a ref is the revision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from hub.protocol import problems, refs
from registry.cards import cards
from registry.core.permissions import Actor
from registry.models import Branch, Commit, File, Ref, RegisteredModel, Version
from registry.protocols.huggingface import errors
from registry.storage.files import store
from registry.versions import deprecations, finders, history, moves, ref_names, selectors
from registry.versions.deprecations import Notice
from registry.versions.lifecycle import BRANCH

HEADS = "refs/heads/"
TAGS = "refs/tags/"
_COMMIT = re.compile(r"[0-9a-f]{40}")
# What is left aside while asking for a version: large, and shown by no answer of the protocol.
_LONG_TEXT = ("readme", "notes")


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit of a model; without a version it is the empty one before its first.

    ``commit`` is the commit's own row, where its version is something else by now.
    """

    model: RegisteredModel
    version: Version | None
    commit_id: str
    commit: Commit | None = None
    is_fixed: bool = False
    """Whether the name that was asked for can never mean another commit."""

    @property
    def at(self) -> datetime:
        """When it was published, or else submitted, or its model made."""
        if self.version is None:
            return self.model.created_at
        return self.version.published_at or self.version.submitted_at or self.version.created_at

    @property
    def front(self) -> dict[str, Any]:
        """The front matter of its card; of a commit its own, whatever its draft says by now."""
        if self.version is None:
            return {}
        of_version: dict[str, Any] = self.version.card
        if self.commit is None:
            return of_version
        card = self.files().filter(path=cards.CARD_PATH).first()
        if card is None:
            return {}
        if self.version.files.filter(path=cards.CARD_PATH, blob=card.blob_id).exists():
            return of_version
        text = store().read(card.blob_id, cards.LIMIT_BYTES).decode("utf-8", "replace")
        return cards.check(text).front

    def notices(self, actor: Actor) -> list[Notice]:
        """The deprecations of its version and of its model."""
        rows = [deprecations.of(actor, row) for row in (self.version, self.model) if row]
        return [row for row in rows if row]

    def warning(self, actor: Actor) -> str:
        """The same as the header that clients print once for each topic; empty without any."""
        notices = self.notices(actor)
        words = " ".join(notice.sentence for notice in notices)
        return errors.one_line(f"deprecated {notices[0].ref}; {words}") if notices else ""

    def files(self) -> QuerySet[Any]:
        """The files that were committed, not what was derived from them, by their paths."""
        if self.version is None:
            return File.objects.none()
        return history.files_of(self.version, self.commit)


class Reader:
    """A reader of the revisions of one model, whose role is looked up once.

    Readers see released versions and the commits before the first model; writers every commit.
    """

    def __init__(self, actor: Actor, of: RegisteredModel) -> None:
        self.of = of
        role = selectors.role(actor, of)
        self.writes = selectors.sees_drafts(role)
        rows = selectors.versions_for(role, of).exclude(state=Version.State.DRAFT)
        self.versions = rows.select_related("created_by", "deprecation").defer(*_LONG_TEXT)
        self.refs = selectors.refs_for(role, of.pk)
        self.commit_tags = selectors.commit_tags(role, of)

    def find(self, name: str) -> Revision:
        """The commit that a revision names; raises Refused."""
        revision, path = self.split(name)
        if path:
            raise errors.no_revision(self.of.ref, name)
        return revision

    def split(self, rest: str) -> tuple[Revision, str]:
        """The commit that ``rest`` begins with, and the path after it; raises Refused."""
        text = rest.strip("/").removeprefix(HEADS).removeprefix(TAGS)
        first, _, path = text.partition("/")
        if first in (BRANCH, "HEAD", "latest", "@latest"):
            return self.head(BRANCH), path
        if _COMMIT.fullmatch(first):
            return self._by_id(first), path
        if named := self._named(text):
            return named
        version = self._numbered_or_labelled(first)
        if version is None:
            raise errors.no_revision(self.of.ref, rest)
        return self._is(version, is_fixed=refs.version_number(first) is not None), path

    def head(self, branch: str, start: Version | None = None) -> Revision:
        """The newest commit on a branch, else that of ``start``, else the empty first one.

        For readers, what was published, or committed before the first model; for writers, what was
        committed last.
        """
        if self.writes:
            newest = history.head(self.of, branch)
            return self._at(newest) if newest else self.before_first()
        published = self.versions.filter(branch=branch, state=Version.State.PUBLISHED).first()
        if version := published or start:
            return self._is(version)
        first = history.readers_head(self.of, branch)
        return self._at(first) if first else self.before_first()

    def branches(self) -> dict[str, Revision]:
        """Every branch with the commit it is at."""
        heads = {BRANCH: self.head(BRANCH)}
        for ref in self.refs.filter(kind=Ref.Kind.BRANCH).exclude(name=BRANCH):
            heads[ref.name] = self.head(ref.name, self._version_of(ref))
        names = self._branches().values_list("name", flat=True)
        return heads | {name: self.head(name) for name in names if name not in heads}

    def _branches(self) -> QuerySet[Branch]:
        """The branches that have rows: all for writers; for readers those with commits to read."""
        rows = Branch.objects.filter(model=self.of)
        if self.writes:
            return rows
        visible = history.commits(self.of, for_readers=True).order_by()
        own = visible.filter(branch=OuterRef("name"), created_at__gte=OuterRef("created_at"))
        return rows.filter(Q(commit__in=visible.values("pk")) | Exists(own))

    def before_first(self) -> Revision:
        """The empty commit that stands for a model in which there is nothing to see yet."""
        return Revision(self.of, None, history.first_commit_id(self.of))

    def _is(self, version: Version, *, is_fixed: bool = False) -> Revision:
        version.model = self.of
        return Revision(self.of, version, str(version.commit_id), is_fixed=is_fixed)

    def _at(self, head: history.Head) -> Revision:
        return Revision(self.of, head.version, head.commit_id, head.commit)

    def _by_id(self, commit_id: str) -> Revision:
        if version := self.versions.filter(commit_id=commit_id).first():
            return self._is(version, is_fixed=True)
        if head := history.find(self.of, commit_id, for_readers=not self.writes):
            return self._at(head)
        empty = self.before_first()
        if empty.commit_id != commit_id:
            raise errors.no_revision(self.of.ref, commit_id)
        return empty

    def _named(self, text: str) -> tuple[Revision, str] | None:
        """What the longest prefix of ``text`` that is a ref names, and what follows it."""
        text = text.removeprefix("@")
        beginning = f"{text}/"[: ref_names.LONGEST + 1]
        prefixes = [text[:at] for at, letter in enumerate(beginning) if letter == "/"]
        refs_ = {ref.name: ref for ref in self.refs.filter(name__in=prefixes)}
        tags = {tag.name: tag for tag in self.commit_tags.filter(name__in=prefixes)}
        branches = self._branches().filter(name__in=prefixes).values_list("name", flat=True)
        names = {*refs_, *tags, *branches}
        if not names:
            return None
        name = max(names, key=len)
        path = text[len(name) + 1 :]
        if (tag := tags.get(name)) and tag.commit is not None:
            return self._at(history.of_commit(tag.commit)), path
        ref = refs_.get(name)
        if ref is None or ref.kind == Ref.Kind.BRANCH:
            return self.head(name, self._version_of(ref) if ref else None), path
        version = self._version_of(ref)
        return (self._is(version), path) if version else None

    def _version_of(self, ref: Ref) -> Version | None:
        return self.versions.filter(refs=ref).first()

    def _numbered_or_labelled(self, word: str) -> Version | None:
        if (number := refs.version_number(word)) is not None:
            return self.versions.filter(number=number).first()
        label = word.removeprefix("@")
        return self.versions.filter(label=label).first() if label else None


def repo(
    actor: Actor,
    namespace: str,
    name: str,
    *,
    wait_seconds: float = finders.SHORT_SECONDS,
) -> RegisteredModel:
    """A model that the actor may see; raises Refused, for a hidden one as for a missing one.

    Raises Moved for a name that a visible one had, and Unavailable where a remote namespace does
    not have it within ``wait_seconds``.
    """
    try:
        return finders.model(actor, namespace, name, wait_seconds=wait_seconds)
    except moves.Moved:
        raise
    except problems.NotFound as error:
        raise errors.no_repo(actor, f"{namespace}/{name}") from error


def find(actor: Actor, of: RegisteredModel, name: str) -> Revision:
    """The commit that a revision names; raises Refused."""
    return Reader(actor, of).find(name)


def split(actor: Actor, of: RegisteredModel, rest: str) -> tuple[Revision, str]:
    """The commit that ``rest`` begins with, and the path after it; raises Refused."""
    return Reader(actor, of).split(rest)
