"""What everyone may read, and members of their namespaces, found with prepared SQL.

A tokenizer asks for a handful of files that are not there each time it loads, so "no" must be as
cheap as "yes". Whatever is not found here goes the long way, which knows why.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from registry.core.permissions import Actor
from registry.core.prepared_queries import Prepared
from registry.models import File, RegisteredModel, Version
from registry.models.registered_models import listed_for_everybody
from registry.versions.current import DEPRECATIONS, newest, open_versions, own_versions
from registry.versions.lifecycle import BRANCH

_COMMIT = re.compile(r"[0-9a-f]{40}")
_NOT_WITHDRAWN = tuple(state for state in Version.State if state != Version.State.WITHDRAWN)
COLUMNS = ("pk", "commit_id", "state", "model", *DEPRECATIONS)


class Place(NamedTuple):
    """A path at a commit that the reader may have, by ids; ``is_fixed``: immutable and public.

    ``protected`` is the key of a model that only some may have.
    """

    ref: str
    version_id: int
    commit_id: str
    path: str
    is_fixed: bool
    protected: int | None = None


class FileEntry(NamedTuple):
    """What a commit has at a path."""

    sha256: str
    size: int
    git_oid: str
    is_lfs: bool


def place(actor: Actor, namespace: str, name: str, rest: str) -> Place | None:
    """The commit that ``rest`` begins with and the path after it, where it is public.

    Or where members of its namespace do. Only for a commit and for `main`; not where `main` is
    another one to writers, not of what is deprecated, of which readers are warned, and not for a
    limited token.
    """
    revision, _, path = rest.partition("/")
    is_commit = bool(_COMMIT.fullmatch(revision))
    if not is_commit and revision != BRANCH:
        return None
    keys = (namespace, name, revision) if is_commit else (namespace, name)
    of_all = _commits if is_commit else _OF_ANY if actor.is_authenticated else _NEWEST
    rows, is_own = of_all.rows(*keys), False
    if not rows and actor.is_authenticated and actor.reach is None:
        rows, is_own = (_own_commits if is_commit else _own).rows(actor.pk, *keys), True
    for version_id, commit_id, state, model_id, *deprecations in rows:
        if any(deprecations) or not (is_commit or state == Version.State.PUBLISHED):
            return None
        ref = f"{namespace}/{name}"
        is_fixed, protected = is_commit and not is_own, model_id if is_own else None
        return Place(ref, version_id, commit_id, path, is_fixed, protected)
    return None


def file(at: Place) -> FileEntry | None:
    """The file at a place."""
    for row in _files.rows(at.version_id, at.path):
        return FileEntry(*row)
    return None


def public_file(namespace: str, name: str, rest: str) -> tuple[Place, FileEntry] | None:
    """The public file at an address: of a commit or of `main`; None for all else.

    A commit's file is found in one question, which saves as much as sending a small one takes.
    """
    revision, _, path = rest.partition("/")
    if _COMMIT.fullmatch(revision):
        for version_id, *row in _commit_files.rows(namespace, name, revision, path):
            ref = f"{namespace}/{name}"
            return Place(ref, version_id, revision, path, is_fixed=True), FileEntry(*row)
        return None
    at = place(AnonymousUser(), namespace, name, rest)
    entry = file(at) if at else None
    return (at, entry) if at and entry else None


def _newest(namespace: str, name: str, *states: str) -> QuerySet[Any, tuple[Any, ...]]:
    return newest(open_versions(namespace, name), *states).values_list(*COLUMNS)[:1]


@Prepared
def _commits(namespace: str, name: str, commit_id: str) -> QuerySet[Any, tuple[Any, ...]]:
    rows = open_versions(namespace, name).filter(state__in=Version.SERVED, commit_id=commit_id)
    return rows.order_by().values_list(*COLUMNS)


@Prepared
def _own(user_id: int, namespace: str, name: str) -> QuerySet[Any, tuple[Any, ...]]:
    rows = own_versions(user_id, namespace, name)
    return newest(rows, *_NOT_WITHDRAWN).values_list(*COLUMNS)[:1]


@Prepared
def _own_commits(
    user_id: int, namespace: str, name: str, commit_id: str
) -> QuerySet[Any, tuple[Any, ...]]:
    rows = own_versions(user_id, namespace, name).filter(
        state__in=Version.SERVED, commit_id=commit_id
    )
    return rows.order_by().values_list(*COLUMNS)


@Prepared
def _files(version_id: int, path: str) -> QuerySet[Any, tuple[Any, ...]]:
    rows = File.objects.filter(version=version_id, path=path)
    return rows.order_by().values_list("blob", "blob__size", "git_oid", "lfs")


@Prepared
def _commit_files(
    namespace: str, name: str, commit_id: str, path: str
) -> QuerySet[Any, tuple[Any, ...]]:
    rows = File.objects.filter(
        listed_for_everybody("version__model__"),
        version__model__gate=RegisteredModel.Gate.OPEN,
        version__model__namespace__slug=namespace,
        version__model__name=name,
        version__state__in=Version.SERVED,
        version__commit_id=commit_id,
        version__deprecation=None,
        version__model__deprecation=None,
        path=path,
    )
    columns = ("version", "blob", "blob__size", "git_oid", "lfs")
    return rows.order_by().values_list(*columns)


_NEWEST = Prepared(lambda *names: _newest(*names, Version.State.PUBLISHED))
_OF_ANY = Prepared(lambda *names: _newest(*names, *_NOT_WITHDRAWN))
