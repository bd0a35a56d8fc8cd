"""A server that speaks the Hugging Face Hub protocol: the head of `main`, and its tags.

Such a server counts no versions, so commits get numbers in the order in which they are mirrored.
Files that git-LFS keeps are named by SHA-256; others by git's blob id, and are read to be named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from urllib.parse import quote

from hub.protocol import huggingface, manifests, problems, stored
from hub.protocol.huggingface import Entry
from hub.protocol.mirrors import (
    LONGEST_MESSAGE,
    MOST_FILES,
    FileRecord,
    ModelRecord,
    NameRecord,
    Statement,
    VersionRecord,
    clean,
)
from registry.mirrors.outgoing import Client, Stream
from registry.mirrors.sources import MOST_MODELS, Released

_T = TypeVar("_T")

MOST_TAGS = 50
# Larger files belong into git-LFS, also at the source.
MOST_REGULAR_BYTES = 16 << 20


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
            name = stored.text(row.get("id"))
            if "/" in name and huggingface.REPO.fullmatch(name):
                yield name

    def model(self, ref: str) -> ModelRecord:
        """A model with its tags."""
        model = self._model(ref)
        names = [NameRecord(name, "tag", 0, commit) for name, commit in self._tags(ref).items()]
        is_open = not (model.is_private or model.is_gated)
        return ModelRecord(ref, is_open=is_open, names=tuple(names))

    def versions(self, ref: str) -> list[Released]:
        """The commits that tags name, then the head of `main`."""
        head = self._model(ref).commit
        commits = dict.fromkeys([*self._tags(ref).values(), head])
        commits[head] = commits.pop(head)
        return [Released(0, "published", "", commit, "") for commit in commits]

    def version(self, ref: str, released: Released) -> VersionRecord:
        """A commit with its files; raises ModelMissing for one without an ONNX file."""
        commit = released.commit_id
        path = f"/api/models/{quote(ref)}/tree/{commit}"
        rows = self._items(path, {"recursive": "true"}, MOST_FILES + 1)
        entries = self._read(huggingface.entries, rows)
        if not any(entry.path.endswith(".onnx") for entry in entries):
            raise problems.ModelMissing(f"{ref} has no .onnx file at {commit[:12]}.")
        files = tuple(
            self._file(ref, commit, entry)
            for entry in entries
            if not huggingface.is_hidden(entry.path)
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
            manifest_sha256=manifests.digest((file.path, file.sha256, file.size) for file in files),
            author="",
            published_at=date[:40],
            files=files,
        )

    def statements(self, ref: str, released: Released) -> tuple[Statement, ...]:
        """None: the protocol has no evidence."""
        return ()

    def document(self, ref: str, path: str) -> bytes:
        """None: the protocol has no such documents."""
        raise problems.NotFound(f"{ref} has no {path} at {self._client.url}.")

    def open(
        self, ref: str, record: VersionRecord, file: FileRecord, offset: int
    ) -> AbstractContextManager[Stream]:
        """The bytes of a file at the commit."""
        return self._client.open(self._resolve(ref, record.commit_id, file.path), offset)

    def _file(self, ref: str, commit: str, entry: Entry) -> FileRecord:
        path, size = entry.path, entry.size
        if entry.sha256 is not None:
            return FileRecord(path, size, entry.sha256)
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
        if count != size or git.hexdigest() != entry.oid:
            raise problems.DigestMismatch(f"{path} does not match the commit {commit[:12]}.")
        return FileRecord(path, size, sha256.hexdigest())

    def _resolve(self, ref: str, commit: str, path: str) -> str:
        return f"/{quote(ref)}/resolve/{commit}/{quote(path)}"

    def _model(self, ref: str) -> huggingface.Model:
        content = self._client.get(f"/api/models/{quote(ref)}").content
        return self._read(lambda answer: huggingface.Model.read(answer, ref), content)

    def _tags(self, ref: str) -> dict[str, str]:
        """The tags of a model and their commits."""
        content = self._client.get(f"/api/models/{quote(ref)}/refs").content
        tags = {}
        for row in stored.rows(stored.mapping(content).get("tags"))[:MOST_TAGS]:
            name, commit = stored.text(row.get("name")), stored.text(row.get("targetCommit"))
            if name == clean(name) and huggingface.COMMIT.fullmatch(commit):
                tags[name] = commit
        return tags

    def _head(self, ref: str, commit: str) -> tuple[str, str]:
        """The title and date of a commit; not every server has a history."""
        try:
            path = f"/api/models/{quote(ref)}/commits/{commit}"
            return huggingface.head(self._client.get(path, {"limit": 1, "p": 0}).content, commit)
        except problems.Problem:
            return "", ""

    def _items(self, path: str, query: Mapping[str, str | int], most: int) -> list[dict[str, Any]]:
        """The items of a list, going on where `Link` says, on this server."""
        rows: list[dict[str, Any]] = []
        while len(rows) < most:
            answer = self._client.get(path, query)
            page = self._read(huggingface.items, answer.content)
            rows += page
            further = huggingface.following(answer.headers.get("Link", ""))
            if not page or further is None or further == query:
                break
            query = further
        return rows[:most]

    def _read(self, reader: Callable[[Any], _T], answer: Any) -> _T:
        try:
            return reader(answer)
        except huggingface.MalformedError as error:
            raise self._strange(str(error)) from None

    def _strange(self, what: str) -> problems.Unreachable:
        return problems.Unreachable(
            f"{self._client.url} does not follow the Hugging Face Hub protocol: {what}.",
            is_transient=False,
        )
