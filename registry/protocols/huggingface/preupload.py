"""Checks before a commit: the front matter of a card, and how each file is to be uploaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dulwich.ignore import IgnoreFilter
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems, refs, stored
from registry.cards import cards
from registry.models import CommitFile, File
from registry.protocols.huggingface import writing
from registry.protocols.huggingface.views import HubView
from registry.storage.files import store
from registry.versions import git_names, history

MOST_FILES = 1_000
IGNORE_PATH = ".gitignore"
LONGEST_IGNORE_BYTES = 100_000


class ValidateYaml(HubView):
    """The front matter of a card."""

    def post(self, request: Request) -> Response:
        """What is wrong with it: 200 where a commit would take it, else 400 and why.

        Clients show `errors` only of a 400, and commit nothing after any status but 200.
        """
        content = stored.mapping(request.data).get("content")
        if not isinstance(content, str):
            raise problems.InvalidRequest("Send `content`, the text of README.md.")
        checked = cards.check(content)
        data = {
            "errors": [{"message": finding.detail} for finding in checked.errors],
            "warnings": [{"message": finding.detail} for finding in checked.warnings],
        }
        return Response(data, status=400 if checked.errors else 200)


class Preupload(HubView):
    """How the files of a commit are to be uploaded."""

    parser_classes = [writing.AnyJson]

    def post(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """For each file: `regular` (inside the commit) or `lfs`, ignored or not, and what is there.

        `oid` is the name of the file now at that path; a client sends nothing that is the same.
        """
        writing.no_pull_requests(request)
        head = history.head(self.writable, writing.branch_of(self.writable, rest))
        items = writing.body(request).get("files")
        if not isinstance(items, list) or len(items) > MOST_FILES:
            raise problems.InvalidRequest(f"Send a list of at most {MOST_FILES} files.")
        sizes = dict(_path_and_size(item) for item in items)
        rows = {row.path: row for row in head.files} if head else {}
        is_ignored = _ignored(writing.text(writing.body(request), "gitIgnore"), rows)
        files = [_answer(path, size, rows.get(path), is_ignored) for path, size in sizes.items()]
        sent = {file["path"] for file in files if not file["shouldIgnore"]}
        refs.check_portable(sent, sent - rows.keys())
        return writing.warn(Response({"files": files}), self.writable)


def _path_and_size(item: Any) -> tuple[str, int]:
    row = stored.mapping(item)
    path, size = row.get("path"), row.get("size")
    if not isinstance(path, str) or not isinstance(size, int) or size < 0:
        raise problems.InvalidRequest("Each file needs a path and its size in bytes.")
    return path, size


def _answer(
    path: str, size: int, row: File | CommitFile | None, is_ignored: Callable[[str], bool]
) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "path": path,
        "uploadMode": "lfs" if git_names.is_lfs(path, size) else "regular",
        "shouldIgnore": is_ignored(path),
    }
    if row is not None:
        answer["oid"] = row.blob_id if row.lfs else row.git_oid
    return answer


def _ignored(text: str, rows: Mapping[str, File | CommitFile]) -> Callable[[str], bool]:
    """Whether a path is ignored: by the file that the client sends along, else by the model's."""
    if not text and (row := rows.get(IGNORE_PATH)):
        text = store().read(row.blob_id, LONGEST_IGNORE_BYTES).decode("utf-8", "replace")
    lines = [line.strip() for line in text[:LONGEST_IGNORE_BYTES].splitlines()]
    patterns = [line.encode() for line in lines if line and not line.startswith("#")]
    if not patterns:
        return lambda _: False
    rules = IgnoreFilter(patterns)
    return lambda path: bool(rules.is_ignored(path.encode()))
