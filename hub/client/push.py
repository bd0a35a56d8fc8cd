"""Publishing from this machine: a draft, its files, its card, and then the checks' verdict.

The hub checks names, permission, card and quota before a byte is sent, and nothing is visible to
others before it has checked the files. A push that stops half-way leaves a draft, which the same
push continues; bytes that arrived are not sent again.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hub import counting
from hub.client import bundles, checks, packages, signing
from hub.client.cache import Cache
from hub.client.local_files import CARD, LocalFile, Selected, select
from hub.client.memory_files import InMemory
from hub.client.progress import Bar, say
from hub.client.rest import answers
from hub.client.rest.shared import File
from hub.client.retries import is_transient
from hub.client.signing import NewSignature, SigningKey
from hub.client.transport import Transport
from hub.client.upload import Upload
from hub.protocol import digests, problems, refs

# A file up to this size travels with others in one request, which a hub takes up to 5 MiB of.
SMALL_BYTES = 256 << 10
BATCH_FILES, BATCH_BYTES = 100, 3 << 20
CARD_TYPE = "text/markdown; charset=utf-8"

log = logging.getLogger("hub.client")


def model_of(ref: object) -> refs.Ref:
    """Return the model that a push names; raise `InvalidReference` for anything else."""
    if not isinstance(ref, str):
        raise problems.InvalidReference(
            f"The model that is pushed has no name. Write hub.push({type(ref).__name__}, "
            'name="namespace/model").'
        )
    parsed = refs.parse(ref)
    if str(parsed) != parsed.name:
        raise problems.InvalidReference(
            f"{ref!r} names a version. Push to {parsed.name!r}: the hub assigns the number, "
            "and `label` can name it."
        )
    return parsed


def read_card(
    card: str | os.PathLike[str] | None,
    folder_card: Selected | InMemory | None,
    *,
    follow_links: bool = False,
) -> str | None:
    """Return the card's text: `card` is a path, or the text itself when it has several lines.

    Raise `CardInvalid` for what is not a regular file of UTF-8 text, or a symbolic link out of its
    folder unless `follow_links`.
    """
    if isinstance(card, str) and "\n" in card:
        return card
    try:
        source: Selected | InMemory | None
        source = folder_card if card is None else select(Path(card), follow_links=follow_links)
        if source is None:
            return None
        with source.open() as reader:
            return reader.read().decode("utf-8")
    except (OSError, UnicodeDecodeError, problems.InvalidRequest) as error:
        name = card if folder_card is None or card is not None else folder_card.source
        raise problems.CardInvalid(
            f"The card {name} cannot be read ({error}). Write it as UTF-8 Markdown."
        ) from None


@dataclass(frozen=True, slots=True)
class Draft:
    """A version that a push fills, or that was submitted before; lists give no files."""

    number: int
    state: str
    files: tuple[File, ...] = ()


class Push:
    """One push to one model."""

    def __init__(
        self, transport: Transport, cache: Cache, ref: refs.Ref, *, progress: bool | None
    ) -> None:
        self._transport = transport
        self._cache = cache
        self._ref = ref
        self._progress = progress
        self._model = f"/api/v1/models/{ref.name}"
        self._version = ""
        self._signature: NewSignature | None = None

    def sign(
        self,
        key: SigningKey | str | os.PathLike[str],
        files: Sequence[LocalFile],
        *,
        card: str | None,
        will_publish: bool,
    ) -> None:
        """Sign the files before any is sent; `wait` adds the signature to the published version.

        Raise `InvalidRequest` for a key that cannot sign, and where nobody waits for publication.
        """
        if not will_publish:
            raise problems.InvalidRequest(
                "A version is signed once it is published. Push it with wait and publish (without "
                "--no-wait and --no-publish), or sign it later with `hub sign`."
            )
        self._signature = signing.key_of(key).sign(signing.digests_of(files, card), self._ref.name)

    def preflight(
        self, files: Sequence[LocalFile], *, card: str | None, label: str
    ) -> bundles.Preflight:
        """Ask what a push would do; nothing is stored.

        Raise what it would run into: `NotAllowed`, `CardInvalid`, `QuotaExceeded`, `NameTaken`,
        `PathInvalid` and what else the server says.
        """
        rows = [
            {"path": file.path, "blob": digests.format(file.sha256), "size": file.size}
            for file in files
        ]
        content = {"files": rows, "card": card, "label": label}
        return bundles.preflight(self._transport, self._model, content)

    def identical(self, number: int) -> dict[str, Any]:
        """Return the version that has this content already."""
        self._version = f"{self._model}/versions/{number}"
        log.warning(
            "%s: identical to version %d, so nothing was sent. Use --force (force=True) for a new "
            "version.",
            self._ref.name,
            number,
        )
        return self.version()

    def open_model(self, *, create: bool, visibility: str) -> None:
        """See that the model exists; make it when it is missing and that is wanted."""
        try:
            self._transport.request("GET", self._model)
        except problems.NotFound:
            if not create:
                raise
            content = {
                "namespace": self._ref.namespace,
                "name": self._ref.model,
                "visibility": visibility,
            }
            try:
                self._transport.request("POST", "/api/v1/models", content=content, repeatable=True)
            except problems.NameTaken:
                # Made by an attempt whose answer was lost, or by another user just now.
                try:
                    self._transport.request("GET", self._model)
                except problems.NotFound:
                    pass
                else:
                    return
                raise
            say(f"{self._ref.name}: created", is_shown=self._progress)

    def open_draft(
        self,
        *,
        message: str,
        label: str,
        resume: bool,
        same_message: bool = False,
        key: str | None = None,
    ) -> Draft:
        """Return a new draft, or the caller's own newest one when it is to be resumed.

        A draft is resumed only with this `label` unless that is empty, and with `same_message`
        only with this `message`. For a day the same `key` gives the same version.
        """
        document = self._own_draft(label, message if same_message else None) if resume else None
        if document is None:
            content = {"message": message, "label": label}
            document = self._transport.request(
                "POST",
                f"{self._model}/versions",
                content=content,
                headers={"Idempotency-Key": key or str(uuid.uuid4())},
                repeatable=True,
            ).json()
        draft = answers.read(Draft, document)
        self._version = f"{self._model}/versions/{draft.number}"
        return draft

    def _own_draft(self, label: str, message: str | None) -> object:
        username = self._transport.get("/api/v1/whoami")["username"]
        query = {"limit": 100}
        page = self._transport.get(f"{self._model}/versions", query=query)
        own = [
            int(version["number"])
            for version in page["items"]
            if version["state"] == "draft"
            and version.get("created_by") == username
            and (not label or version.get("label") == label)
            and (message is None or version.get("message") == message)
        ]
        if not own:
            return None
        address = f"{self._model}/versions/{max(own)}"
        return self._transport.get(address)

    @contextmanager
    def remembered_key(
        self, files: Sequence[LocalFile], *, card: str | None, message: str, label: str, fresh: bool
    ) -> Iterator[str]:
        """Give the key of a draft with this content, the same until a push of it has ended.

        It is kept in the cache, so that the same push continues where a killed one stopped. With
        `fresh`, or where the cache cannot be written, it is a new one.
        """
        content = [[file.path, file.sha256, file.size] for file in files]
        whole = json.dumps([self._ref.name, content, card, message, label])
        address = self._transport.config.url
        path = self._cache.push_path(address, digests.hash_bytes(whole.encode()))
        key = None if fresh else _stored_key(path)
        if key is None:
            key = str(uuid.uuid4())
            with suppress(problems.CacheUnusable):
                self._cache.write_json(path, {"key": key})
        yield key
        with suppress(OSError):
            path.unlink(missing_ok=True)

    def run(
        self,
        draft: Draft,
        files: list[LocalFile],
        *,
        card: str | None,
        publish: bool,
        lacking: Collection[str] = (),
        note: str = "",
    ) -> dict[str, Any]:
        """Fill a draft and submit it; an error that leaves the draft behind gets the `note`.

        `lacking` are the paths whose bytes the hub lacks, as far as it was asked.
        What an earlier run has submitted already is returned as it is.
        """
        if draft.state != "draft":
            return self.version()
        try:
            self.send(draft, files, frozenset(lacking))
            if card is not None:
                self.put_card(card)
            return self.submit(publish=publish)
        except (problems.HubError, KeyboardInterrupt) as error:
            if note:
                error.add_note(note)
            raise

    def send(self, draft: Draft, files: list[LocalFile], lacking: Collection[str] = ()) -> None:
        """Make the draft hold exactly these files, sending only bytes the hub does not have.

        It was said to have none of the bytes of the paths ``lacking``.
        """
        present = {file.path: file.sha256 for file in draft.files if not file.derived}
        for path in present.keys() - {file.path for file in files} - {CARD}:
            with suppress(problems.NotFound):  # an attempt whose answer was lost removed it
                self._transport.request("DELETE", self._file_address(path))
        changed: list[LocalFile] = []
        unchanged: list[LocalFile] = []
        for file in files:
            is_there = present.get(file.path) == digests.format(file.sha256)
            (unchanged if is_there else changed).append(file)
        total = sum(file.size for file in files)
        with Bar(self._ref.name, total, files=len(files), is_shown=self._progress) as bar:

            def end(done: Iterable[LocalFile]) -> None:
                for file in done:
                    bar.advance(file.size)
                    bar.end_file()

            end(unchanged)
            missing = [file for file in changed if file.path in lacking]
            announced = [file for file in changed if file.path not in lacking]
            for batch in _batches(announced, lambda _: 0):
                needed = self._put_all(batch, with_content=False)
                paths = {file.path for file in needed}
                end(file for file in batch if file.path not in paths)
                missing += needed
            # Equal files travel once.
            firsts = {file.sha256: file for file in reversed(missing)}
            small = [file for file in firsts.values() if file.size <= SMALL_BYTES]
            for batch in _batches(small, lambda file: file.size):
                self._expect_stored(self._put_all(batch, with_content=True))
                end(batch)
            for file in firsts.values():
                if file.size > SMALL_BYTES:
                    Upload(self._transport, self._cache, file, bar.advance).run()
                    self._expect_stored(self._put_all([file], with_content=False))
                    bar.end_file()
            copies = [file for file in missing if firsts[file.sha256] is not file]
            for batch in _batches(copies, lambda _: 0):
                self._expect_stored(self._put_all(batch, with_content=False))
                end(batch)
        sent = sum(file.size for file in firsts.values())
        count = counting.plural(len(firsts), "file")
        say(
            f"{self._ref.name}: {count} sent ({counting.size(sent)}), "
            f"{len(changed) - len(firsts)} already on the hub, "
            f"{len(unchanged)} unchanged",
            is_shown=self._progress,
        )

    def _put_all(self, files: Sequence[LocalFile], *, with_content: bool) -> list[LocalFile]:
        """Set the blobs of some files of the draft; return those whose bytes the hub needs."""
        rows = []
        for file in files:
            row = {"path": file.path, "blob": digests.format(file.sha256)}
            if with_content:
                with file.open() as reader:
                    row["content"] = base64.b64encode(reader.read()).decode()
            rows.append(row)
        answer = self._transport.request(
            "POST", f"{self._version}/files", content={"files": rows}, repeatable=True
        ).json()
        missing = set(answer["missing"])
        return [file for file in files if file.path in missing]

    def _expect_stored(self, missing: Sequence[LocalFile]) -> None:
        if missing:
            raise problems.BlobUnknown(
                f"The hub stored {missing[0].path} but cannot find it. Try again."
            )

    def _file_address(self, path: str) -> str:
        return f"{self._version}/files/{quote(path, safe='/')}"

    def put_card(self, text: str) -> None:
        """Write the card, over the one a resumed draft may have."""
        address = f"{self._version}/card"
        headers = {"Content-Type": CARD_TYPE}
        body = text.encode()
        try:
            self._transport.request("PUT", address, body=body, headers=headers)
        except problems.PreconditionRequired:
            headers["If-Match"] = "*"
            self._transport.request("PUT", address, body=body, headers=headers)

    def submit(self, *, publish: bool) -> dict[str, Any]:
        """Freeze the draft and have it checked; `publish` makes it public once it passes."""
        retries = self._transport.retries()
        while True:
            try:
                answer = self._transport.request(
                    "POST", f"{self._version}/submit", content={"publish": publish}, once=True
                )
            except problems.HubError as error:
                if not (is_transient(error) or isinstance(error, problems.StateConflict)):
                    raise
                if not isinstance(error, problems.StateConflict):
                    retries.pause(error)
                # The answer may have been lost after the version was submitted.
                version = self.version()
                if version["state"] != "draft":
                    return version
                if isinstance(error, problems.StateConflict):
                    raise
            else:
                return dict(answer.json())

    def version(self) -> dict[str, Any]:
        """Return the version as it is now."""
        return self._transport.get(self._version)

    def wait(
        self, version: dict[str, Any], *, publish: bool, package: bool = False, strict: bool = False
    ) -> dict[str, Any]:
        """Follow the checks of a version to their end; raise `ChecksFailed` when they refuse.

        With `package`, also the check of its package, whose errors are logged; with `strict`, they
        refuse too, before the version is published.
        """
        self._version = f"{self._model}/versions/{int(version['number'])}"
        if strict and publish:
            version = self._follow(version, publish=False)
            self._check_package(version, package=package, strict=True)
            if version["state"] == "submitted":
                version = self._transport.request(
                    "POST", f"{self._version}/publish", content={}, repeatable=True
                ).json()
        version = self._follow(version, publish=publish)
        if not (strict and publish):
            self._check_package(version, package=package, strict=strict)
        if self._signature is not None:
            number = int(version["number"])
            row = signing.add(self._transport, self._ref.name, number, self._signature)
            say(f"{version['ref']}: signed by {row['signed_by']}", is_shown=self._progress)
        return version

    def _follow(self, version: dict[str, Any], *, publish: bool) -> dict[str, Any]:
        sleep = self._transport.sleep
        return checks.follow(version, self.version, sleep, publish=publish, progress=self._progress)

    def _check_package(self, version: dict[str, Any], *, package: bool, strict: bool) -> None:
        if not package:
            return
        address = packages.address(self._ref.name, int(version["number"]))
        answer = packages.follow(
            lambda: self._transport.get(address), self._transport.sleep, demanded=strict
        )
        if answer is not None:
            (packages.refuse if strict else packages.warn)(version["ref"], answer)


def _stored_key(path: Path) -> str | None:
    try:
        return str(uuid.UUID(json.loads(path.read_bytes())["key"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _batches(
    files: Sequence[LocalFile], weight: Callable[[LocalFile], int]
) -> Iterator[list[LocalFile]]:
    """Divide files into batches of one request each; ``weight`` gives the bytes of a file in it."""
    batch: list[LocalFile] = []
    for file in files:
        is_full = len(batch) == BATCH_FILES or sum(map(weight, batch)) + weight(file) > BATCH_BYTES
        if batch and is_full:
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch
