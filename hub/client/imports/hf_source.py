"""Reading a model from any server that speaks the Hub protocol: one commit, its files, its bytes.

What is read is named by one commit, so that a branch that moves meanwhile changes nothing. Every
byte is verified, by SHA-256 where the server names it (git-LFS) and by git's blob id elsewhere. The
token goes to the origin that was named and nowhere else: `Transport` drops it on redirects.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from hub.client.answers import Body, read_answer
from hub.client.cache import Cache, RemoteFile
from hub.client.config import RETRY_SECONDS, Config
from hub.client.download import read_small
from hub.client.retries import Notices
from hub.client.transport import Transport
from hub.protocol import digests, huggingface, problems
from hub.protocol.huggingface import Entry

if TYPE_CHECKING:
    import urllib3


LARGEST_REGULAR_BYTES = 64 << 20
MOST_PAGES = 1_000
THREADS = 4


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
    """One model of one server; raises the errors of `Transport`, with messages about the source."""

    def __init__(
        self,
        url: str,
        repo: str,
        *,
        token: str | None,
        cache: Path,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        if not huggingface.REPO.fullmatch(repo):
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
        address = f"/api/models/{self.repo}/revision/{quote(revision, safe='')}"
        try:
            model = huggingface.Model.read(self._ask(address)[0], self.repo)
            self.repo = model.name
            address = f"/api/models/{self.repo}"
            entries = huggingface.entries(self._pages(f"{address}/tree/{model.commit}"))
        except huggingface.MalformedError as error:
            raise self._strange(str(error)) from None
        title, date = self._head(address, model.commit)
        return Snapshot(
            repo=model.name,
            commit=model.commit,
            title=title,
            date=date or model.modified,
            is_private=model.is_private,
            is_gated=model.is_gated,
            entries=entries,
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
        if not digests.is_hex(sha256) or cache.find(sha256, entry.size) is None:
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
        return huggingface.head(commits, commit)

    def _pages(self, address: str) -> list[dict[str, Any]]:
        """Every item of a tree, going on where `Link` says, on this server."""
        rows: list[dict[str, Any]] = []
        query = {"recursive": "true"}
        for _ in range(MOST_PAGES):
            content, link = self._ask(address, query)
            rows += huggingface.items(content)
            further = huggingface.following(link)
            if further is None:
                return rows
            if further == query:
                break
            query = further
        raise self._strange("its file list does not end")

    def _ask(self, address: str, query: Mapping[str, object] | None = None) -> tuple[Any, str]:
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
        answer = read_answer(response, url)
        code = answer.headers.get("X-Error-Code", "")
        line = huggingface.line
        words = line(answer.headers.get("X-Error-Message")) or line(_error(answer.body))
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
