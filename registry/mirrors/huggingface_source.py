"""A server that speaks the Hugging Face Hub protocol: the head of `main`, and its tags.

Such a server counts no versions, so commits get numbers in the order in which they are mirrored.
Files that git-LFS keeps are named by SHA-256; others by git's blob id, and are read to be named.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from hub.protocol import digests, manifests, problems, refs
from hub.protocol.mirrors import (
    LONGEST_MESSAGE,
    MOST_FILES,
    FileRecord,
    ModelRecord,
    NameRecord,
    VersionRecord,
    clean,
)
from registry.mirrors.sources import MOST_MODELS, Released

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from hub.protocol.mirrors import Statement
    from registry.mirrors.outgoing import Client, Stream

MOST_TAGS = 50
# Larger files belong into git-LFS, also at the source.
MOST_REGULAR_BYTES = 16 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_NEXT = re.compile(r"<([^>]*)>\s*;[^,]*\brel=\"?next\"?")


class HuggingFaceSource:
    """The models of such a server, as ``registry.mirrors.sources.Source``."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def models(self, scope: str, selector: str) -> Iterator[str]:
        """One model, those of an author, or those of a search."""
        if scope == "model":
            yield selector
            return
        query = {"author": selector} if scope == "namespace" else {"search": selector}
        for row in self._items("/api/models", {**query, "limit": 100}, MOST_MODELS):
            if _REPO.fullmatch(name := str(row.get("id", ""))):
                yield name

    def model(self, ref: str) -> ModelRecord:
        """A model with its tags."""
        info = self._info(ref)
        names = [NameRecord(name, "tag", 0, commit) for name, commit in self._tags(ref).items()]
        is_open = not (info.get("private") or info.get("gated"))
        return ModelRecord(ref, is_open=is_open, names=tuple(names))

    def versions(self, ref: str) -> list[Released]:
        """The commits that tags name, then the head of `main`."""
        head = self._commit(self._info(ref))
        commits = dict.fromkeys([*self._tags(ref).values(), head])
        commits[head] = commits.pop(head)
        return [Released(0, "published", "", commit, "") for commit in commits]

    def version(self, ref: str, released: Released) -> VersionRecord:
        """A commit with its files; raises ModelMissing for one without an ONNX file."""
        commit = released.commit_id
        path = f"/api/models/{quote(ref)}/tree/{commit}"
        rows = self._items(path, {"recursive": "true"}, MOST_FILES + 1)
        entries = [row for row in rows if row.get("type") == "file"]
        paths = [str(row.get("path", "")) for row in entries]
        if not any(one.endswith(".onnx") for one in paths):
            raise problems.ModelMissing(f"{ref} has no .onnx file at {commit[:12]}.")
        files = tuple(
            self._file(ref, commit, row)
            for row, name in zip(entries, paths, strict=True)
            if not any(part.startswith(".") for part in name.split("/"))
        )
        title, date = self._head(ref, commit)
        return VersionRecord(
            number=0,
            state="published",
            label="",
            message=title[:LONGEST_MESSAGE],
            branch="main",
            reason="",
            commit_id=commit,
            manifest_sha256=manifests.digest((one.path, one.sha256, one.size) for one in files),
            author="",
            published_at=date[:40],
            files=files,
        )

    def statements(self, ref: str, released: Released) -> tuple[Statement, ...]:
        """None: the protocol has no evidence."""
        return ()

    def open(
        self, ref: str, record: VersionRecord, file: FileRecord, offset: int
    ) -> AbstractContextManager[Stream]:
        """The bytes of a file at the commit."""
        return self._client.open(self._resolve(ref, record.commit_id, file.path), offset)

    def _file(self, ref: str, commit: str, row: dict[str, Any]) -> FileRecord:
        path = refs.check_path(str(row.get("path", "")))
        lfs = row.get("lfs")
        size = lfs.get("size") if isinstance(lfs, dict) else row.get("size")
        if type(size) is not int or size < 0:
            raise self._strange(f"{path} has no size")
        if isinstance(lfs, dict):
            name = str(lfs.get("oid", "")).removeprefix(digests.PREFIX)
            if not digests.is_hex(name):
                raise self._strange(f"{path} has no digest")
            return FileRecord(path, size, name)
        if size > MOST_REGULAR_BYTES:
            raise problems.TooLarge(
                f"{path} has {size:,} bytes and is not stored with Git LFS at the source; such "
                f"files may have {MOST_REGULAR_BYTES:,} bytes."
            )
        sha256 = hashlib.sha256()
        git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        count = 0
        with self._client.open(self._resolve(ref, commit, path), 0) as stream:
            while count <= size and (block := stream.read(1 << 16)):
                count += len(block)
                sha256.update(block)
                git.update(block)
        if count != size or git.hexdigest() != row.get("oid"):
            raise problems.DigestMismatch(f"{path} does not match the commit {commit[:12]}.")
        return FileRecord(path, size, sha256.hexdigest())

    def _resolve(self, ref: str, commit: str, path: str) -> str:
        return f"/{quote(ref)}/resolve/{commit}/{quote(path)}"

    def _info(self, ref: str) -> dict[str, Any]:
        content = self._client.get(f"/api/models/{quote(ref)}").content
        if not isinstance(content, dict):
            raise self._strange("a model is no object")
        return content

    def _commit(self, info: dict[str, Any]) -> str:
        commit = str(info.get("sha", ""))
        if not _COMMIT.fullmatch(commit):
            raise self._strange("a model has no commit")
        return commit

    def _tags(self, ref: str) -> dict[str, str]:
        """The tags of a model and their commits."""
        content = self._client.get(f"/api/models/{quote(ref)}/refs").content
        rows = content.get("tags") if isinstance(content, dict) else None
        tags = {}
        for row in (rows if isinstance(rows, list) else [])[:MOST_TAGS]:
            name, commit = (
                (row.get("name"), row.get("targetCommit")) if isinstance(row, dict) else ("", "")
            )
            if isinstance(name, str) and name == clean(name) and _COMMIT.fullmatch(str(commit)):
                tags[name] = str(commit)
        return tags

    def _head(self, ref: str, commit: str) -> tuple[str, str]:
        """The title and date of a commit; not every server has a history."""
        try:
            path = f"/api/models/{quote(ref)}/commits/{commit}"
            rows = self._client.get(path, {"limit": 1, "p": 0}).content
        except problems.Problem:
            return "", ""
        first = rows[0] if isinstance(rows, list) and rows else None
        if not isinstance(first, dict) or first.get("id") != commit:
            return "", ""
        return tuple(  # type: ignore[return-value]
            "".join(letter for letter in str(first.get(name) or "") if letter.isprintable())
            for name in ("title", "date")
        )

    def _items(self, path: str, query: dict[str, Any], most: int) -> list[dict[str, Any]]:
        """The items of a list, going on where `Link` says, on this server."""
        rows: list[dict[str, Any]] = []
        while len(rows) < most:
            answer = self._client.get(path, query)
            page = answer.content
            if not isinstance(page, list) or not all(isinstance(row, dict) for row in page):
                raise self._strange("a list is none")
            rows += page
            following = _NEXT.search(answer.headers.get("Link", ""))
            further = dict(parse_qsl(urlsplit(following[1]).query)) if following else query
            if not page or further == query:
                break
            query = further
        return rows[:most]

    def _strange(self, what: str) -> problems.Unreachable:
        return problems.Unreachable(
            f"{self._client.url} does not follow the Hugging Face Hub protocol: {what}.",
            is_transient=False,
        )
