"""Commits and refs: the versions of a model, as git shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.html import escape
from rest_framework.response import Response

from registry.api.parameters import accepts
from registry.models import File, Ref, Version
from registry.protocols.huggingface import addresses, revisions, shapes
from registry.protocols.huggingface.views import HubView
from registry.versions import git_names, lifecycle
from registry.versions.history import FIRST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rest_framework.request import Request

    from registry.core.permissions import Actor
    from registry.protocols.huggingface.revisions import Revision

PAGE = 50
LONGEST_PAGE = 1_000
AT_ONCE = 20


class Commits(HubView):
    """The commits that lead to a revision."""

    @accepts("expand", "limit", "p")
    def get(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Newest first; `p` counts pages from 0, and `X-Total-Count` all of them."""
        model = revisions.repo(request.user, namespace, name)
        at = revisions.find(request.user, model, rest)
        commits = commits_of(request.user, at)
        limit = addresses.count(request, "limit", PAGE, LONGEST_PAGE) or PAGE
        page = addresses.count(request, "p", 0, len(commits))
        listed = commits[page * limit : (page + 1) * limit]
        formatted = "formatted" in addresses.words(request, "expand")
        response = Response([_commit(each, formatted=formatted) for each in listed])
        response["X-Total-Count"] = str(len(commits))
        if len(commits) > (page + 1) * limit:
            addresses.link_next(request, response, p=page + 1)
        return response


class Refs(HubView):
    """The branches and tags of a model."""

    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Branches, and as tags also the numbers of versions; aliases move, so they are neither."""
        model = revisions.repo(request.user, namespace, name)
        reader = revisions.Reader(request.user, model)
        released = reader.versions.filter(state__in=Version.VISIBLE)
        tags = {f"v{version.number}": str(version.commit_id) for version in released}
        for ref in reader.refs.filter(kind=Ref.Kind.TAG).select_related("version"):
            tags[ref.name] = str(ref.version.commit_id)
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
    parents = dict(
        Version.objects.filter(model=at.model, number__lte=at.version.number).values_list(
            "pk", "parent"
        )
    )
    visible = {
        version.pk: version
        for version in revisions.Reader(actor, at.model)
        .versions.filter(number__lt=at.version.number)
        .defer("readme", "notes", "card")
    }
    before = at.version.parent or lifecycle.parent_of(at.version)
    commits = [at]
    here = before.pk if before else None
    while here is not None:
        if version := visible.get(here):
            commits.append(revisions.Revision(at.model, version, str(version.commit_id)))
        here = parents.pop(here, None)
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
        some = [each.version.pk for each in commits[start : start + AT_ONCE] if each.version]
        contents: dict[int, dict[str, str]] = {pk: {} for pk in some}
        rows = File.objects.filter(version__in=some, derived=False)
        for path, oid, version in rows.values_list("path", "git_oid", "version"):
            contents[version][path] = oid
        for files in contents.values():
            yield files | git_names.folder_ids(files.items())


def _message(of: Revision) -> str:
    if of.version is None:
        return FIRST_MESSAGE
    return of.version.message or f"Version {of.version.number}"


def _title(of: Revision) -> dict[str, Any]:
    return {
        "id": of.commit_id,
        "title": _message(of).partition("\n")[0],
        "date": shapes.moment(of.at),
    }


def _commit(of: Revision, *, formatted: bool) -> dict[str, Any]:
    title, _, message = _message(of).partition("\n")
    author = of.version.created_by.username if of.version else of.model.namespace.slug
    commit = _title(of) | {
        "message": message.strip(),
        "authors": [{"user": author, "avatar": ""}],
    }
    if formatted:
        commit["formatted"] = {"title": escape(title), "message": escape(message.strip())}
    return commit


def _ref(kind: str, name: str, commit: str) -> dict[str, str]:
    return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": commit}
