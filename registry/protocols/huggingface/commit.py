"""Commits: a header and changes, one JSON object a line, read as they come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect, UnreadablePostError
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import digests, problems
from registry.api.inputs import read_json
from registry.api.uploads import RawParser
from registry.models import RegisteredModel
from registry.protocols.huggingface import addresses, errors, revisions, writing
from registry.protocols.huggingface.views import HubView
from registry.storage.services import uploads
from registry.storage.services.uploads import Stream
from registry.versions import git_names
from registry.versions.services import commits

READ_BYTES = 2**20
# A file of the largest size that comes inside a commit, in base64, and its path.
LONGEST_LINE_BYTES = git_names.LFS_BYTES // 3 * 4 + 2**16
MOST_LINES = 20_000
# Files inside a commit that are stored together, with one sync of folders and one transaction.
KEPT_FILES, KEPT_BYTES = 200, 2**22
_PARENT = re.compile(r"[0-9a-f]{5,40}")


@dataclass(slots=True)
class Order:
    """What a commit's lines ask for. ``keep`` stores the bytes of several files."""

    keep: Callable[[list[bytes]], object]
    message: str = ""
    parent_commit: str = ""
    changes: list[commits.Add | commits.Delete] = field(default_factory=list)
    has_header: bool = False
    contents: list[bytes] = field(default_factory=list)

    def take(self, key: str, value: dict[str, Any]) -> None:
        """Add one line; raises InvalidRequest."""
        takers: dict[str, Callable[[dict[str, Any]], None]] = {
            "header": self._header,
            "file": self._file,
            "lfsFile": self._lfs_file,
            "deletedFile": self._delete,
            "deletedFolder": partial(self._delete, is_folder=True),
        }
        if key not in takers:
            raise problems.InvalidRequest(f"{key!r} is unknown. Valid keys: {', '.join(takers)}.")
        takers[key](value)

    def _header(self, value: dict[str, Any]) -> None:
        if self.has_header:
            raise problems.InvalidRequest("A commit must have exactly one header.")
        self.has_header = True
        parts = [writing.text(value, "summary").strip(), writing.text(value, "description").strip()]
        self.message = "\n\n".join(part for part in parts if part)
        self.parent_commit = writing.text(value, "parentCommit")
        if self.parent_commit and not _PARENT.fullmatch(self.parent_commit):
            raise problems.InvalidRequest("parentCommit must be 5 to 40 hex digits.")

    def _file(self, value: dict[str, Any]) -> None:
        path, content = writing.file(value)
        self.changes.append(commits.Add(path, digests.hash_bytes(content), is_own=True))
        self.contents.append(content)
        if len(self.contents) >= KEPT_FILES or sum(map(len, self.contents)) >= KEPT_BYTES:
            self.keep_contents()

    def keep_contents(self) -> None:
        """Store the bytes that came since the last time."""
        if self.contents:
            self.keep(self.contents)
        self.contents = []

    def _lfs_file(self, value: dict[str, Any]) -> None:
        oid = writing.text(value, "oid")
        if writing.text(value, "algo", "sha256") != "sha256" or not digests.is_hex(oid):
            raise problems.InvalidRequest("An lfsFile is named by its sha256, in 64 hex digits.")
        size = value.get("size")
        if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
            raise problems.InvalidRequest("The size of an lfsFile is a whole number of bytes.")
        self.changes.append(commits.Add(writing.text(value, "path"), oid, size))

    def _delete(self, value: dict[str, Any], *, is_folder: bool = False) -> None:
        self.changes.append(commits.Delete(writing.text(value, "path"), is_folder))


class MakeCommit(HubView):
    """Where commits are made."""

    parser_classes = [RawParser]

    def post(self, request: Request, namespace: str, name: str, rest: str) -> Response:
        """Apply every line, or none; the answer comes when it is done."""
        writing.no_pull_requests(request)
        branch = writing.branch_of(self.writable, rest)
        order = read(
            request._request,  # noqa: SLF001 - the body itself, unread
            lambda contents: uploads.take_all(request.user, model=self.writable, contents=contents),
        )
        try:
            commit = commits.make(
                request.user,
                model=self.writable,
                branch=branch,
                message=order.message,
                changes=order.changes,
                parent_commit=order.parent_commit,
            )
        except commits.EntryMissing as error:
            raise errors.Refused(error.detail, code=errors.ENTRY_NOT_FOUND) from error
        except commits.BranchMissing as error:
            raise errors.no_revision(self.writable.ref, rest) from error
        answer = _commit_json(request, self.writable, commit.commit_id)
        return writing.warn(Response(answer), self.writable)


class CommitPage(HubView):
    """The address that answers give for a commit; people follow it."""

    def get(self, request: Request, namespace: str, name: str, commit_id: str) -> HttpResponse:
        """Send people to the page of the version that a commit is, or went into."""
        revision = revisions.find(request.user, self.model, commit_id)
        number = f"/v/{revision.version.number}" if revision.version else ""
        return HttpResponseRedirect(f"{settings.HUB_PUBLIC_URL}/models/{self.model.ref}{number}")


def read(stream: Stream, keep: Callable[[list[bytes]], object]) -> Order:
    """Read a commit's lines; the bytes of files go to ``keep``, of a few at a time.

    Raises InvalidRequest naming the line, and TooLarge.
    """
    order = Order(keep)
    for number, line in enumerate(_lines(stream), start=1):
        if number > MOST_LINES:
            raise problems.TooLarge(
                f"A commit may have at most {MOST_LINES} lines. Split it into several."
            )
        try:
            entry = read_json(line)
        except problems.InvalidRequest as error:
            raise problems.InvalidRequest(f"Line {number}: {error}") from error
        value = entry.get("value") if isinstance(entry, dict) else None
        if not isinstance(value, dict):
            raise problems.InvalidRequest(f"Line {number} must be an object with key and value.")
        order.take(str(entry.get("key")), value)
    order.keep_contents()
    if not order.has_header:
        raise problems.InvalidRequest("A commit needs a header line with a summary.")
    return order


def _lines(stream: Stream) -> Iterator[bytes]:
    """The lines of a body that are not empty, of which only one is in memory at a time."""
    rest = bytearray()
    try:
        while piece := stream.read(READ_BYTES):
            *whole, last = piece.split(b"\n")
            for end in whole:
                rest += end
                _expect_short(rest)
                if rest.strip():
                    yield bytes(rest)
                rest.clear()
            rest += last
            _expect_short(rest)
    except UnreadablePostError as error:
        raise problems.InvalidRequest("The line was truncated. Nothing was applied.") from error
    if rest.strip():
        yield bytes(rest)


def _expect_short(line: bytearray) -> None:
    if len(line) > LONGEST_LINE_BYTES:
        raise problems.TooLarge(
            f"A file inside a commit may have at most {git_names.LFS_BYTES} bytes. Upload larger "
            "files first, as the response to preupload states."
        )


def _commit_json(request: Request, model: RegisteredModel, commit_id: str) -> dict[str, Any]:
    return {
        "success": True,
        "commitOid": commit_id,
        "commitUrl": addresses.absolute(request, f"/{model.ref}/commit/{commit_id}"),
        "hookOutput": "",
    }
