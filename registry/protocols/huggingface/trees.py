"""The files and folders of a commit."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core import cursors
from registry.protocols.huggingface import addresses, errors, history, revisions, shapes
from registry.protocols.huggingface.revisions import Revision
from registry.protocols.huggingface.views import HubView
from registry.versions import git_names

LONGEST_PAGE = 1_000
LONGEST_PATHS = 1_000


class Tree(HubView):
    """A folder of a commit."""

    @accepts("recursive", "expand", "limit", "cursor")
    def get(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """What lies in it; with `recursive` also what lies below, folders too."""
        at, folder = revisions.split(request.user, self.model, rest)
        files = list(at.files())
        inside = {
            path: entry
            for path, entry in _entries(files)
            if not folder or path.startswith(f"{folder}/")
        }
        if folder and not inside:
            raise errors.no_entry(self.model.ref, folder, at.commit_id)
        if not addresses.flag(request, "recursive"):
            start = len(folder) + 1 if folder else 0
            inside = {path: entry for path, entry in inside.items() if "/" not in path[start:]}
        paths = sorted(inside)
        if after := request.query_params.get("cursor", ""):
            last = cursors.decode(after)[0]
            if not isinstance(last, str):
                raise problems.InvalidRequest(
                    "Invalid page cursor. Start again from the first page."
                )
            paths = [path for path in paths if path > last]
        limit = addresses.count(request, "limit", LONGEST_PAGE, LONGEST_PAGE) or LONGEST_PAGE
        entries = [inside[path] for path in paths[:limit]]
        if addresses.flag(request, "expand"):
            _add_last_commits(request, at, entries)
        response = Response(entries)
        response["X-Repo-Commit"] = at.commit_id
        if len(paths) > limit:
            addresses.link_next(request, response, cursor=cursors.encode([paths[limit - 1]]))
        return response


class PathsInfo(HubView):
    """Some files and folders of a commit."""

    def post(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """What is known of each path, from a form or from JSON; unknown ones are left out."""
        at = revisions.find(request.user, self.model, rest)
        paths, expand = _parameters(request.data)
        by_path = dict(_entries(list(at.files())))
        entries = [by_path[path] for path in dict.fromkeys(paths) if path in by_path]
        if expand:
            _add_last_commits(request, at, entries)
        return Response(entries)


def _parameters(data: Any) -> tuple[list[str], bool]:
    """The paths, and whether the last commit of each is wanted; raises InvalidRequest."""
    if hasattr(data, "getlist"):
        paths, expand = data.getlist("paths"), data.get("expand", "")
    elif isinstance(data, dict):
        paths, expand = data.get("paths", []), data.get("expand", False)
    else:
        paths, expand = None, False
    paths = [paths] if isinstance(paths, str) else paths
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise problems.InvalidRequest("Send `paths`, a list of paths to look up.")
    if len(paths) > LONGEST_PATHS:
        raise problems.InvalidRequest(f"Ask for at most {LONGEST_PATHS} paths at once.")
    return [path.strip("/") for path in paths], str(expand).lower() in ("true", "1")


def _entries(files: list[shapes.Entry]) -> list[tuple[str, dict[str, Any]]]:
    """Every file and folder by its path, as the protocol shows them."""
    entries: list[tuple[str, dict[str, Any]]] = []
    for path, oid in git_names.folder_ids((file.path, file.git_oid) for file in files).items():
        entries.append((path, {"type": "directory", "oid": oid, "size": 0, "path": path}))
    for file in files:
        entry: dict[str, Any] = {
            "type": "file",
            "oid": file.git_oid,
            "size": file.blob.size,
            "path": file.path,
        }
        if file.lfs:
            entry["lfs"] = shapes.lfs_of(file, "oid")
        entries.append((file.path, entry))
    return entries


def _add_last_commits(request: Request, at: Revision, entries: list[dict[str, Any]]) -> None:
    last = history.last_commits(request.user, at, [entry["path"] for entry in entries])
    for entry in entries:
        entry["lastCommit"] = last[entry["path"]]
