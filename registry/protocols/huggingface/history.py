"""Commits and refs: the versions of a model, as git shows them.

Writers see each commit that was made; readers those before the first model, then one for each
version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.html import escape
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api.parameters import accepts
from registry.core.permissions import Actor
from registry.models import Commit, CommitFile, File, Ref, Version
from registry.protocols.huggingface import addresses, revisions, shapes
from registry.protocols.huggingface.revisions import Reader, Revision
from registry.protocols.huggingface.views import HubView
from registry.versions import git_names, history, lifecycle

PAGE = 50
LONGEST_PAGE = 1_000
AT_ONCE = 20
_LONG_TEXT = ("readme", "notes", "card")


class Commits(HubView):
    """The commits that lead to a revision."""

    @accepts("expand", "limit", "p")
    def get(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Newest first; `p` counts pages from 0, and `X-Total-Count` all of them."""
        at = revisions.find(request.user, self.model, rest)
        commits = commits_of(request.user, at)
        limit = addresses.count(request, "limit", PAGE, LONGEST_PAGE) or PAGE
        page = addresses.count(request, "p", 0, len(commits))
        page_commits = commits[page * limit : (page + 1) * limit]
        formatted = "formatted" in addresses.words(request, "expand")
        response = Response([_commit(each, formatted=formatted) for each in page_commits])
        response["X-Total-Count"] = str(len(commits))
        if len(commits) > (page + 1) * limit:
            addresses.link_next(request, response, p=page + 1)
        return response


class Refs(HubView):
    """The branches and tags of a model."""

    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Branches, and as tags also the numbers of versions; aliases move, so they are neither."""
        reader = revisions.Reader(request.user, self.model)
        released = reader.versions.filter(state__in=Version.VISIBLE)
        tags = {f"v{version.number}": str(version.commit_id) for version in released}
        of_versions = reader.refs.filter(kind=Ref.Kind.TAG)
        for ref, commit_id in of_versions.values_list("name", "version__commit_id"):
            tags[ref] = str(commit_id)
        tags |= dict(reader.commit_tags.values_list("name", "commit__commit_id"))
        refs: dict[str, list[dict[str, str]]] = {
            "branches": [
                _ref("heads", name, at.commit_id) for name, at in reader.branches().items()
            ],
            "tags": [_ref("tags", *pair) for pair in sorted(tags.items())],
            "converts": [],
        }
        if addresses.flag(request, "include_prs"):
            refs["pullRequests"] = []
        return Response(refs)


def commits_of(actor: Actor, at: Revision) -> list[Revision]:
    """The commits from a revision back to the first, leaving out what the actor may not see."""
    if at.version is None:
        return [at]
    reader = revisions.Reader(actor, at.model)
    versions = _versions_back(reader, at)
    return _with_amended(versions, for_readers=not reader.writes)


def _versions_back(reader: Reader, at: Revision) -> list[Revision]:
    """One commit for each version, from the revision's back to the first."""
    assert at.version is not None  # noqa: S101 - told the type checker what the caller asks
    parents = dict(
        Version.objects.filter(model=at.model, number__lte=at.version.number).values_list(
            "pk", "parent"
        )
    )
    visible = {
        version.pk: version
        for version in reader.versions.filter(number__lt=at.version.number).defer(*_LONG_TEXT)
    }
    before = at.version.parent or lifecycle.parent_of(at.version)
    commits = [at]
    here = before.pk if before else None
    while here is not None:
        if version := visible.get(here):
            commits.append(revisions.Revision(at.model, version, str(version.commit_id)))
        here = parents.pop(here, None)
    return commits


def _with_amended(versions: list[Revision], *, for_readers: bool) -> list[Revision]:
    """Behind each version the commits that it amended, newest first: all, or those of readers."""
    rows = (
        history.commits(versions[0].model, for_readers=for_readers)
        .filter(version__in=[each.version for each in versions])
        .defer(*(f"version__{name}" for name in _LONG_TEXT))
        .order_by("-pk")
    )
    by_version: dict[int, list[Commit]] = {}
    for row in rows:
        by_version.setdefault(row.version_id, []).append(row)
    commits = []
    for each in versions:
        commits.append(each)
        own_commits = by_version.get(each.version.pk, []) if each.version else []
        own = next(
            (at for at, row in enumerate(own_commits) if row.commit_id == each.commit_id), -1
        )
        for row in own_commits[own + 1 :]:
            head = history.of_commit(row)
            commits.append(revisions.Revision(each.model, head.version, head.commit_id, row))
    return commits


def last_commits(actor: Actor, at: Revision, paths: list[str]) -> dict[str, dict[str, Any]]:
    """For each file and folder of a commit the one that gave it its content."""
    commits = commits_of(actor, at)
    by_path: dict[str, dict[str, Any]] = {}
    now: dict[str, str] = {}
    for index, ids in enumerate(_contents(commits)):
        now = now or ids
        if index:
            changed = [path for path in paths if ids.get(path) != now.get(path)]
            by_path |= {path: _title(commits[index - 1]) for path in changed if path not in by_path}
        if len(by_path) == len(paths):
            return by_path
    return {path: _title(commits[-1]) for path in paths} | by_path


def _contents(commits: list[Revision]) -> Iterator[dict[str, str]]:
    """The git id of every path of each commit, the newest first, read some commits at a time."""
    files = dict(commits[0].files().values_list("path", "git_oid"))
    yield files | git_names.folder_ids(files.items())
    for start in range(1, len(commits), AT_ONCE):
        some = commits[start : start + AT_ONCE]
        contents: dict[str, dict[str, str]] = {each.commit_id: {} for each in some}
        published = File.objects.filter(
            version__in=[each.version for each in some if each.commit is None], derived=False
        )
        amended = CommitFile.objects.filter(commit__in=[each.commit for each in some])
        for rows, key in ((published, "version__commit_id"), (amended, "commit__commit_id")):
            for path, oid, commit_id in rows.values_list("path", "git_oid", key):
                contents[commit_id][path] = oid
        for files in contents.values():
            yield files | git_names.folder_ids(files.items())


def _message(of: Revision) -> str:
    if of.version is None:
        return history.FIRST_MESSAGE
    return of.version.message or f"Version {of.version.number}"


def _title(of: Revision) -> dict[str, Any]:
    return {
        "id": of.commit_id,
        "title": _message(of).partition("\n")[0],
        "date": shapes.moment(of.at),
    }


def _commit(of: Revision, *, formatted: bool) -> dict[str, Any]:
    title, _, message = _message(of).partition("\n")
    author = of.model.namespace.slug
    if of.version is not None:
        author = (of.commit.author if of.commit else of.version.created_by).username
    commit = _title(of) | {
        "message": message.strip(),
        "authors": [{"user": author, "avatar": ""}],
    }
    if formatted:
        commit["formatted"] = {"title": escape(title), "message": escape(message.strip())}
    return commit


def _ref(kind: str, name: str, commit: str) -> dict[str, str]:
    return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": commit}
