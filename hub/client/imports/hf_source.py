"""Reading a model from any server that speaks the Hub protocol: one commit, its files, its bytes.

What is read is named by one commit, so that a branch that moves meanwhile changes nothing. Every
byte is verified, by SHA-256 where the server names it (git-LFS) and by git's blob id elsewhere. The
token goes to the origin that was named and nowhere else: `Transport` drops it on redirects.
"""

from __future__ import annotations

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from hub.client.cache import RemoteFile
from hub.client.config import RETRY_SECONDS, Config
from hub.client.download import read_small
from hub.client.retries import Notices
from hub.client.transport import Transport
from hub.protocol import digests, problems, refs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import urllib3

    from hub.client.cache import Cache
    from hub.client.transport import Body

LARGEST_REGULAR_BYTES = 64 << 20
MOST_PAGES = 1_000
THREADS = 4
LONGEST_TITLE = 200

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_NEXT = re.compile(r"<([^>]*)>\s*;[^,]*\brel=\"?next\"?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a commit: path, bytes, git's blob id, and its SHA-256 where git-LFS names it."""

    path: str
    size: int
    oid: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit of a model: what it is called, who may see it, its history's head, its files."""

    repo: str
    commit: str
    title: str
    date: str
    is_private: bool
    is_gated: bool
    entries: tuple[Entry, ...]


class Source(Transport):
    """One model of one server; raises the errors of `Transport`, in words about the source."""

    def __init__(
        self,
        url: str,
        repo: str,
        *,
        token: str | None,
        cache: Path,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        if not _REPO.fullmatch(repo):
            raise problems.InvalidReference(
                f"{repo[:120]!r} is not a model name. Write namespace/name."
            )
        super().__init__(Config(url=url, token=token, cache=cache, retry_seconds=retry_seconds))
        self.notices = Notices(urlsplit(self.config.url).netloc)
        self.repo = repo

    @property
    def address(self) -> str:
        """Where people read about the model."""
        return f"{self.config.url}/{self.repo}"

    def own(self, address: str) -> str:
        """Return the address of a path of the server."""
        return f"{self.config.url}{address}"

    def read(self, revision: str) -> Snapshot:
        """Return what the model is at a revision.

        Raise `NotFound` for a model or revision that is missing or hidden, `NotAllowed` for a
        gated or disabled one, `NotAuthenticated` for a token that is refused, and `Unreachable`
        for a server that cannot be reached or does not speak the protocol.
        """
        model = f"/api/models/{self.repo}"
        info = self._object(f"{model}/revision/{quote(revision, safe='')}")
        commit = str(info.get("sha"))
        if not _COMMIT.fullmatch(commit):
            raise self._strange("the revision has no commit id")
        self.repo = str(info.get("id") or self.repo)
        if not _REPO.fullmatch(self.repo):
            raise self._strange("the model has no name")
        model = f"/api/models/{self.repo}"
        entries = self._pages(f"{model}/tree/{commit}", {"recursive": "true"})
        title, date = self._head(model, commit)
        return Snapshot(
            repo=self.repo,
            commit=commit,
            title=title,
            date=date or _line(info.get("lastModified")),
            is_private=bool(info.get("private")),
            is_gated=bool(info.get("gated")),
            entries=tuple(self._entry(item) for item in entries if item.get("type") == "file"),
        )

    def bring_regular(
        self,
        cache: Cache,
        snapshot: Snapshot,
        entries: Iterable[Entry],
        on_bytes: Callable[[int], None],
    ) -> list[RemoteFile]:
        """Bring files that git holds itself into the cache; return them with their SHA-256.

        Raise `DigestMismatch` for bytes that are not those of git's blob id.
        """

        def bring(entry: Entry) -> RemoteFile:
            file = self._remembered(cache, snapshot, entry)
            if file is None:
                file = self._fetch(cache, snapshot, entry)
            on_bytes(entry.size)
            return file

        with ThreadPoolExecutor(THREADS, thread_name_prefix="hub-mirror") as pool:
            return list(pool.map(bring, entries))

    def remote(self, snapshot: Snapshot, entry: Entry, sha256: str) -> RemoteFile:
        """Return a file as the cache fetches it."""
        path = quote(entry.path, safe="/")
        url = f"/{snapshot.repo}/resolve/{snapshot.commit}/{path}"
        return RemoteFile(entry.path, entry.size, sha256, url)

    def _remembered(self, cache: Cache, snapshot: Snapshot, entry: Entry) -> RemoteFile | None:
        stored = cache.read_answer(self.config.url, ("git-blob", entry.oid))
        sha256 = str(stored.content.get("sha256")) if stored else ""
        if not _SHA256.fullmatch(sha256) or cache.find(sha256, entry.size) is None:
            return None
        return self.remote(snapshot, entry, sha256)

    def _fetch(self, cache: Cache, snapshot: Snapshot, entry: Entry) -> RemoteFile:
        if entry.size > LARGEST_REGULAR_BYTES:
            raise problems.TooLarge(
                f"{entry.path} of {self.address} has {entry.size:,} bytes and is not stored "
                f"with Git LFS; such files may have {LARGEST_REGULAR_BYTES:,} bytes. Skip it "
                "with --exclude."
            )
        content = read_small(self, self.remote(snapshot, entry, ""))
        header = b"blob %d\0" % len(content)
        if hashlib.sha1(header + content, usedforsecurity=False).hexdigest() != entry.oid:
            raise problems.DigestMismatch(
                f"{entry.path} of {self.address} does not match the commit "
                f"{snapshot.commit[:12]}. It was discarded. Try again, or contact the operator of "
                "that server."
            )
        sha256 = digests.hash_bytes(content)
        cache.put(content, sha256)
        cache.keep_answer(self.config.url, ("git-blob", entry.oid), {"sha256": sha256}, None)
        return self.remote(snapshot, entry, sha256)

    def _head(self, model: str, commit: str) -> tuple[str, str]:
        """The title and date of a commit; not every server tells its history."""
        try:
            commits, _ = self._ask(f"{model}/commits/{commit}", {"limit": 1, "p": 0})
        except (problems.NotFound, problems.InvalidRequest, problems.MethodNotAllowed):
            return "", ""
        first = commits[0] if isinstance(commits, list) and commits else {}
        if not isinstance(first, dict) or first.get("id") != commit:
            return "", ""
        return _line(first.get("title"))[:LONGEST_TITLE], _line(first.get("date"))[:40]

    def _pages(self, address: str, query: dict[str, Any]) -> list[dict[str, Any]]:
        """Every item of a list, going on where `Link` says (RFC 8288), on this server."""
        rows: list[dict[str, Any]] = []
        for _ in range(MOST_PAGES):
            items, link = self._ask(address, query)
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise self._strange("the file list is not a list")
            rows += items
            following = _NEXT.search(link)
            if following is None:
                return rows
            further = dict(parse_qsl(urlsplit(following[1]).query))
            if further == query:
                break
            query = further
        raise self._strange("its file list does not end")

    def _entry(self, item: dict[str, Any]) -> Entry:
        lfs = item.get("lfs")
        try:
            size = int(lfs["size"] if lfs else item["size"])
            entry = Entry(
                path=refs.check_path(item["path"]),
                size=size,
                oid=str(item["oid"]),
                sha256=str(lfs["oid"]).removeprefix(digests.PREFIX) if lfs else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(f"a file entry is incomplete ({error})") from None
        is_named = (
            _COMMIT.fullmatch(entry.oid) if lfs is None else _SHA256.fullmatch(entry.sha256 or "")
        )
        if not is_named or size < 0:
            raise self._strange(f"{entry.path} has no digest")
        return entry

    def _object(self, address: str) -> dict[str, Any]:
        document, _ = self._ask(address, None)
        if not isinstance(document, dict):
            raise self._strange("a model entry is not an object")
        return document

    def _ask(self, address: str, query: dict[str, Any] | None) -> tuple[Any, str]:
        answer = self.request("GET", address, query=query)
        try:
            return json.loads(answer.body), answer.headers.get("Link", "")
        except ValueError:
            raise self._strange("it did not answer with JSON") from None

    def _strange(self, what: str) -> problems.Unreachable:
        return problems.Unreachable(
            f"{self.config.url} does not follow the Hub protocol: {what}. Is this the "
            "address of a model hub?"
        )

    def _send(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | Body | None,
        silence_seconds: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        try:
            return super()._send(method, url, headers, body, silence_seconds)
        except problems.Unreachable as error:
            if "HUB_URL" not in str(error):
                raise
            raise problems.Unreachable(
                f"No server answers at {urlsplit(url).scheme}://{urlsplit(url).netloc}, which "
                f"should hold {self.repo}. Is it running, and is the address correct?",
                reason=error.reason,
                is_transient=error.is_transient,
                is_unsent=error.is_unsent,
            ) from None

    def _problem(self, response: urllib3.BaseHTTPResponse, url: str) -> problems.Problem:
        """What the server says, by the protocol's codes, with what to do about it."""
        answer = self._read(response, url)
        code = answer.headers.get("X-Error-Code", "")
        words = _line(answer.headers.get("X-Error-Message")) or _line(_error(answer.body))
        message = f" Its message: {words[:300]}" if words else ""
        has_token = self.config.token is not None
        if code == "GatedRepo":
            cure = (
                "Request access for this account on its page."
                if has_token
                else "Accept the terms on its page, then pass your token for that server."
            )
            return problems.NotAllowed(f"{self.address} is gated. {cure}{message}")
        if answer.status == 401 and has_token and code != "RepoNotFound":
            return problems.NotAuthenticated(
                f"{self.config.url} rejected the token. Use a token of that server with read "
                f"permission.{message}"
            )
        if code == "RevisionNotFound":
            return problems.NotFound(f"{self.address} does not have this revision.{message}")
        if code == "EntryNotFound":
            return problems.NotFound(f"{self.address} is missing a file of its commit.{message}")
        if answer.status in {401, 404}:
            cure = (
                "If it is private, this token may not have access to it."
                if has_token
                else "If it is private, pass a token of that server with access to it."
            )
            return problems.NotFound(
                f"Model {self.repo} not found at {self.config.url}. {cure}{message}"
            )
        kinds: dict[int, type[problems.Problem]] = {
            400: problems.InvalidRequest,
            403: problems.NotAllowed,
            405: problems.MethodNotAllowed,
            416: problems.RangeNotSatisfiable,
            429: problems.Throttled,
            503: problems.Unavailable,
        }
        problem = kinds.get(answer.status, problems.Problem)(
            f"{urlsplit(url).netloc} answered {answer.status}.{message}"
        )
        problem.status = answer.status
        return problem


def _error(body: bytes) -> Any:
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""


def _line(text: Any) -> str:
    """One line of printable text from what another server says."""
    if not isinstance(text, str):
        return ""
    first = text.strip().partition("\n")[0]
    return "".join(letter if letter.isprintable() else " " for letter in first).strip()
