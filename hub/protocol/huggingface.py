"""What servers of the Hugging Face Hub protocol answer about a model, read once.

What has another shape raises MalformedError; callers say which server it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from hub.protocol import digests, refs, stored

COMMIT: Final = re.compile(r"[0-9a-f]{40}")
REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
RESULTS_FOLDER: Final = ".eval_results/"
_RESULTS = re.compile(r"\.eval_results/[^/.][^/]*\.ya?ml")
_NEXT = re.compile(r"<([^>]*)>\s*;[^,]*\brel=\"?next\"?")
_LONGEST_TITLE, _LONGEST_DATE = 200, 40


def is_results(path: str) -> bool:
    """Whether a file of a version holds results. Source: hub-docs, eval_results.yaml."""
    return bool(_RESULTS.fullmatch(path))


def is_hidden(path: str) -> bool:
    """Whether a path is hidden, and no file of results: clients leave such files out."""
    return not is_results(path) and any(part.startswith(".") for part in path.split("/"))


class MalformedError(ValueError):
    """An answer that does not follow the protocol; the message says in what."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model at a commit, and who may have its files."""

    name: str
    commit: str
    modified: str
    is_private: bool
    is_gated: bool

    @classmethod
    def read(cls, content: object, name: str) -> Model:
        """Read the answer about a model that was asked for by a name."""
        fields = stored.mapping(content)
        model = cls(
            name=stored.text(fields.get("id")) or name,
            commit=stored.text(fields.get("sha")),
            modified=line(fields.get("lastModified")),
            is_private=bool(fields.get("private")),
            is_gated=bool(fields.get("gated")),
        )
        if not COMMIT.fullmatch(model.commit):
            raise MalformedError("the model has no commit id")
        if not REPO.fullmatch(model.name):
            raise MalformedError("the model has no name")
        return model


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a commit: path, bytes, git's blob id, and its SHA-256 where git-LFS names it."""

    path: str
    size: int
    oid: str
    sha256: str | None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Entry:
        """Read a file of a tree; raises also PathInvalid."""
        path, lfs = refs.check_path(stored.text(row.get("path"))), stored.mapping(row.get("lfs"))
        size, oid = stored.whole((lfs or row).get("size")), stored.text(row.get("oid"))
        sha256 = stored.text(lfs.get("oid")).removeprefix(digests.PREFIX) if lfs else None
        if size is None or size < 0:
            raise MalformedError(f"{path} has no size")
        if not (COMMIT.fullmatch(oid) if sha256 is None else digests.is_hex(sha256)):
            raise MalformedError(f"{path} has no digest")
        return cls(path, size, oid, sha256)


def entries(rows: list[dict[str, Any]]) -> tuple[Entry, ...]:
    """The files of a tree, without its folders."""
    return tuple(Entry.read(row) for row in rows if row.get("type") == "file")


def items(content: object) -> list[dict[str, Any]]:
    """The items of one page of a list."""
    rows = stored.rows(content)
    if not isinstance(content, list) or len(rows) < len(content):
        raise MalformedError("a list is not a list of objects")
    return rows


def following(link: str) -> dict[str, str] | None:
    """The query of the next page, as `Link` has it (RFC 8288); None for the last page."""
    match = _NEXT.search(link)
    return dict(parse_qsl(urlsplit(match[1]).query)) if match else None


def head(content: object, commit: str) -> tuple[str, str]:
    """The title and date of a commit in a list that begins with it; empty where it does not."""
    first = next(iter(stored.rows(content)), {})
    if first.get("id") != commit:
        return "", ""
    return line(first.get("title"))[:_LONGEST_TITLE], line(first.get("date"))[:_LONGEST_DATE]


def line(text: object) -> str:
    """One line of printable text from what another server says."""
    first = stored.text(text).strip().partition("\n")[0]
    return "".join(letter if letter.isprintable() else " " for letter in first).strip()
