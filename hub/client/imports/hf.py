"""Mirroring a model: a commit of another server becomes a version here, with where it came from.

Any server that speaks the Hub protocol will do, another hub of this kind too. The card gets a field
`mirrored_from`. What is here already is not made twice, and what was cut goes on: the cache keeps
bytes that arrived, and the draft is known by its message.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.client import config as settings
from hub.client import download
from hub.client import push as pushing
from hub.client.cache import RemoteFile
from hub.client.hub import Hub
from hub.client.imports.hf_source import Snapshot, Source
from hub.client.local_files import CARD, LocalFile, select
from hub.client.progress import Bar, say
from hub.client.rest import answers
from hub.client.rest.shared import File
from hub.counting import plural, size
from hub.protocol import digests, huggingface, problems, refs
from hub.protocol.huggingface import Entry

DEFAULT_SOURCE = "https://huggingface.co"
FIELD = "mirrored_from"
LONGEST_MESSAGE = 500
LOOKED_AT = 100

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OWN = re.compile(rf"^{FIELD}:[^\n]*\n(?:[ \t]+[^\n]*\n)*", re.MULTILINE)
_SUBMITTED = frozenset({"submitted", "published", "yanked"})


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A version that holds what the source holds; `is_new` where this call made it."""

    version: dict[str, Any]
    is_new: bool


def source_url(url: str | None) -> str:
    """Return where to mirror from: as given, or HF_ENDPOINT, or huggingface.co."""
    return settings.check_url(url or os.environ.get("HF_ENDPOINT") or DEFAULT_SOURCE)


def source_token(token: str | None, url: str) -> str | None:
    """Return the token for a source: as given, HF_TOKEN where it belongs, or `hub login`'s.

    HF_TOKEN belongs to HF_ENDPOINT, or to huggingface.co; no other server ever gets it.
    """
    if token:
        return token.strip()
    home = os.environ.get("HF_ENDPOINT") or DEFAULT_SOURCE
    if settings.origin(url) == settings.origin(home) and os.environ.get("HF_TOKEN"):
        return os.environ["HF_TOKEN"].strip()
    return settings.Config.from_environment(url=url).token


def open_source(hub: Hub, repo: str, url: str | None, token: str | None) -> Source:
    """Return the source of a mirror, with the token that belongs to it."""
    address = source_url(url)
    return Source(
        address,
        repo,
        token=source_token(token, address),
        cache=hub.config.cache,
        retry_seconds=hub.config.retry_seconds,
    )


class Mirror:
    """One model on its way from a source to a hub."""

    def __init__(self, hub: Hub, source: Source, *, progress: bool | None) -> None:
        self._hub = hub
        self._source = source
        self._progress = progress

    def run(
        self,
        *,
        revision: str = "main",
        namespace: str | None = None,
        name: str | None = None,
        card: str | os.PathLike[str] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        visibility: str | None = None,
        publish: bool = True,
        wait: bool = True,
    ) -> Mirrored:
        """Mirror a revision; return the version, new or not.

        `include` and `exclude` are patterns of paths as the shell has them. `card` is a file that
        takes the place of the source's README.md. A source that is private or gated becomes a
        private model unless `visibility` says otherwise. Raise what `Source.read` and `Hub.push`
        raise, `ModelMissing` for a source without an .onnx file, and `StateConflict` where what
        is private there would become public here without `visibility`.
        """
        if self._hub.config.offline:
            raise problems.NotCached(
                "Mirroring needs the network, and HUB_OFFLINE prevents that. Use HUB_OFFLINE=0."
            )
        target = self._target(namespace, name or self._source.repo.rpartition("/")[2])
        snapshot = self._source.read(revision)
        entries = _selection(snapshot, include, exclude)
        self._refuse_itself(target, snapshot)
        total = sum(entry.size for entry in entries)
        count = plural(len(entries), "file")
        self._say(f"{snapshot.repo} at {snapshot.commit[:12]}: {count}, {size(total)}")
        push = pushing.Push(self._hub.transport, self._hub.cache, target, progress=self._progress)
        is_open = not (snapshot.is_private or snapshot.is_gated)
        existing = self._visibility(target)
        if existing == "public" and not is_open and visibility != "public":
            word = "private" if snapshot.is_private else "gated"
            raise problems.StateConflict(
                f"{self._source.address} is {word} and {target.name} is public here. Mirror it "
                "under another --name, or use --public if anyone may see it."
            )
        with Bar(
            f"{snapshot.repo} (read)", total, files=len(entries), is_shown=self._progress
        ) as bar:
            regular = [entry for entry in entries if entry.sha256 is None]

            def arrived(count: int) -> None:
                bar.advance(count)
                bar.end_file()

            small = self._source.bring_regular(self._hub.cache, snapshot, regular, arrived)
            large = [
                self._source.remote(snapshot, entry, entry.sha256)
                for entry in entries
                if entry.sha256 is not None
            ]
            files = {file.path: file for file in [*small, *large]}
            readme = files.pop(CARD, None)
            text = self._card(card, readme, snapshot)
            message = _message(self._source, snapshot)
            if existing and (version := self._find(target, files, text, message)):
                if version["state"] == "submitted" and wait:
                    version = push.wait(version, publish=publish)
                return Mirrored(version, is_new=False)
            self._check_card(text)
            blobs = download.fetch_all(
                self._source,
                self._hub.cache,
                files.values(),
                on_bytes=bar.advance,
                on_file=bar.end_file,
            )
        access = visibility or ("public" if is_open else "private")
        push.open_model(create=True, visibility=access)
        local = [
            LocalFile(file.path, blobs[file.sha256], file.size, file.sha256)
            for file in sorted(files.values(), key=lambda file: file.path)
        ]
        draft = push.open_draft(message=message, label="", resume=True, same_message=True)
        note = (
            f"The draft {target.name}@{draft.number} was kept. Run the same command again to "
            "continue it."
        )
        version = push.run(draft, local, card=text, publish=publish, note=note)
        return Mirrored(push.wait(version, publish=publish) if wait else version, is_new=True)

    def _say(self, text: str) -> None:
        say(text, is_shown=self._progress)

    def _target(self, namespace: str | None, name: str) -> refs.Ref:
        if namespace is None:
            who = self._hub.transport.get("/api/v1/whoami")
            own = [each["slug"] for each in who["namespaces"] if each["role"] != "reader"]
            namespace = who["username"] if who["username"] in own else "".join(own[:1])
            if not namespace or (len(own) > 1 and namespace != who["username"]):
                raise problems.InvalidRequest(
                    f"Choose the target with --namespace: {', '.join(own) or 'none'}."
                )
        return refs.parse(f"{refs.check_name(namespace)}/{refs.check_name(name)}")

    def _refuse_itself(self, target: refs.Ref, snapshot: Snapshot) -> None:
        here, there = self._hub.config.url, self._source.config.url
        if settings.origin(here) == settings.origin(there) and target.name == snapshot.repo:
            raise problems.InvalidRequest(
                f"{snapshot.repo} cannot be mirrored into itself. Set HUB_URL to the target hub, "
                "or choose another --name."
            )

    def _visibility(self, target: refs.Ref) -> str | None:
        """Who sees the model that is there already; None where there is none."""
        try:
            model = self._hub.transport.get(f"/api/v1/models/{target.name}")
        except problems.NotFound:
            return None
        return str(model["visibility"])

    def _card(
        self,
        card: str | os.PathLike[str] | None,
        readme: RemoteFile | None,
        snapshot: Snapshot,
    ) -> str:
        if card is not None:
            text = pushing.read_card(card, None) or ""
        elif readme is not None:
            path = self._hub.cache.find(readme.sha256, readme.size)
            if path is None:  # a large README is a git-LFS object
                blobs = download.fetch_all(self._source, self._hub.cache, [readme])
                path = blobs[readme.sha256]
            text = pushing.read_card(None, select(path, follow_links=True)) or ""
        else:
            text = ""
        return with_provenance(text, provenance(self._source, snapshot))

    def _check_card(self, text: str) -> None:
        """Learn before gigabytes are moved whether the hub takes the card; raise `CardInvalid`."""
        checked = self._hub.transport.request(
            "POST",
            "/api/v1/cards/check",
            body=text.encode(),
            headers={"Content-Type": pushing.CARD_TYPE},
        ).json()
        errors = [finding for finding in checked["findings"] if finding["severity"] == "error"]
        if errors:
            raise problems.CardInvalid(
                "This hub rejected the source's model card. Save its README.md, correct it and "
                "pass it with --card.",
                errors=[
                    {
                        "pointer": f"line {error['line']}, {error['field']}".removesuffix(", "),
                        "detail": f"{error['message']} {error['cure']}",
                    }
                    for error in errors
                ],
            )

    def _find(
        self, target: refs.Ref, files: Mapping[str, RemoteFile], card: str, message: str
    ) -> dict[str, Any] | None:
        """Return the version that holds these files and this card, wherever it came from."""
        address = f"/api/v1/models/{target.name}/versions"
        page = self._hub.transport.get(address, query={"limit": LOOKED_AT})
        rows = [row for row in page["items"] if row["state"] in _SUBMITTED]
        # The newest, and the one that an earlier run made from this very commit.
        candidates = rows[:1] + [row for row in rows[1:] if row["message"] == message][:1]
        expected = {path: digests.format(file.sha256) for path, file in files.items()}
        for row in candidates:
            place = f"{address}/{int(row['number'])}"
            version = self._hub.transport.get(place)
            files_there = answers.read(pushing.Draft, version).files
            present = {
                file.path: file.sha256
                for file in files_there
                if not file.derived and file.path != CARD
            }
            if present == expected and self._holds_card(files_there, card):
                return version
        return None

    def _holds_card(self, files: Iterable[File], card: str) -> bool:
        """Whether files have this card, apart from the commit that it was mirrored from."""
        readme = next((file for file in files if file.path == CARD), None)
        if readme is None:
            return False
        with self._hub.transport.stream(readme.url) as stream:
            content = bytearray()
            while part := stream.read():
                content += part
        return without_provenance(content.decode("utf-8", "replace")) == without_provenance(card)


def _selection(snapshot: Snapshot, include: Sequence[str], exclude: Sequence[str]) -> list[Entry]:
    """The files to mirror: none of git's own, and as the patterns say; the card stays."""

    def is_wanted(path: str) -> bool:
        if huggingface.is_hidden(path):
            return False
        if path == CARD:
            return True
        is_in = not include or any(fnmatch.fnmatchcase(path, pattern) for pattern in include)
        return is_in and not any(fnmatch.fnmatchcase(path, pattern) for pattern in exclude)

    entries = [entry for entry in snapshot.entries if is_wanted(entry.path)]
    if not any(entry.path.endswith(".onnx") for entry in entries):
        filtered = " that matches the patterns" if include or exclude else ""
        raise problems.ModelMissing(
            f"{snapshot.repo} has no .onnx file{filtered} at {snapshot.commit[:12]}. Export the "
            "model to ONNX first, or choose a --revision that has one."
        )
    return entries


def _message(source: Source, snapshot: Snapshot) -> str:
    """The version's message, which lets an interrupted mirror find its draft again."""
    start = f"Mirror of {source.config.url}/{snapshot.repo} at {snapshot.commit}"
    whole = f"{start}: {snapshot.title}" if snapshot.title else start
    return whole[:LONGEST_MESSAGE].strip()


def provenance(source: Source, snapshot: Snapshot) -> dict[str, str]:
    """Return where a model came from: address, commit id, the commit's date and title."""
    fields = {
        "url": f"{source.config.url}/{snapshot.repo}",
        "commit": snapshot.commit,
        "date": snapshot.date,
        "message": snapshot.title,
    }
    return {key: value for key, value in fields.items() if value}


def with_provenance(card: str, fields: Mapping[str, str]) -> str:
    """Return a card with the field `mirrored_from`; every other line stays as it is.

    A card that was mirrored before names its nearest source only: that one names the next.

    >>> print(with_provenance("# Net", {"commit": "1a"}))
    ---
    mirrored_from:
      commit: "1a"
    ---
    # Net
    """
    # A JSON string is a YAML string (YAML 1.2, section 1.3), whatever it holds.
    lines = [f"  {key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
    block = "".join([f"{FIELD}:\n", *lines])
    card = without_provenance(card)
    if front := _FRONT.match(card):
        end = front.end(1)
        return card[:end] + block + card[end:]
    return f"---\n{block}---\n{card}"


def without_provenance(card: str) -> str:
    """Return a card without `mirrored_from`, and without front matter that held nothing else."""
    front = _FRONT.match(card)
    if front is None:
        return card
    rest = _OWN.sub("", front[1])
    if rest == front[1]:
        return card
    if not rest.strip():
        return card[front.end() :]
    return card[: front.start(1)] + rest + card[front.end(1) :]
