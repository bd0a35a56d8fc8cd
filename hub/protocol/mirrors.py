"""What one hub says of a model to another: versions, files, names, and evidence as it states it.

Read from a hub's REST API, from an exported folder, or from an import: each is a stranger's JSON,
which is parsed here once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from hub.protocol import digests, manifests, problems, refs, stored

MOST_FILES = 5_000
MOST_STATEMENTS = 200
LONGEST_STATEMENT = 300
LONGEST_REASON = 2_000
LONGEST_MESSAGE = 500
# A source that jumps further would use up the numbers of a model.
MOST_NUMBER = 1_000_000
RELEASED = ("published", "yanked", "withdrawn")
NAMED = ("alias", "tag")

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that was uploaded for a version: its path, size in bytes, and SHA-256 in hex."""

    path: str
    size: int
    sha256: str

    @classmethod
    def read(cls, data: Any) -> Self:
        """Read a file of the API; raises InvalidRequest, PathInvalid."""
        fields = _object(data, "a file")
        size = fields.get("size")
        if type(size) is not int or size < 0:
            raise problems.InvalidRequest("The record of a file has no size.")
        path = refs.check_path(_text(fields, "path", 512))
        return cls(path, size, digests.parse(_text(fields, "sha256", 80)))


@dataclass(frozen=True, slots=True)
class Statement:
    """One piece of evidence in words: what it is about, and its outcome there."""

    kind: str
    subject: str
    outcome: str

    @classmethod
    def read(cls, data: Any) -> Self:
        """Read a statement; raises InvalidRequest."""
        fields = _object(data, "evidence")
        names = ("kind", "subject", "outcome")
        return cls(*(_line(fields.get(name)) for name in names))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a version comes from: the server's address and the model's name there."""

    url: str
    ref: str


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A released version at its source; ``manifest_sha256`` is the digest of ``files``."""

    number: int
    state: str
    label: str
    message: str
    branch: str
    reason: str
    commit_id: str
    manifest_sha256: str
    author: str
    published_at: str
    files: tuple[FileRecord, ...]
    statements: tuple[Statement, ...] = ()

    @classmethod
    def read(cls, data: Any) -> Self:
        """Read a version of the API with its files.

        Raises InvalidRequest, PathInvalid, and DigestMismatch where the files are not those that
        its manifest digest names.
        """
        fields = _object(data, "a version")
        state = _text(fields, "state", 20)
        number = fields.get("number")
        if state not in RELEASED:
            raise problems.InvalidRequest("The record of a version has no state.")
        number = version_number(number)
        rows = fields.get("files")
        if not isinstance(rows, list) or len(rows) > MOST_FILES:
            raise problems.InvalidRequest(f"Version {number} lists no files, or too many.")
        files = tuple(
            FileRecord.read(row) for row in rows if not _object(row, "a file").get("derived")
        )
        manifest = digests.parse(_text(fields, "manifest_sha256", 80))
        if manifests.digest((file.path, file.sha256, file.size) for file in files) != manifest:
            raise problems.DigestMismatch(
                f"The files listed for version {number} are not those of its manifest digest. "
                "Contact the operator of the source."
            )
        commit = _text(fields, "commit_id", 40)
        if not _COMMIT.fullmatch(commit):
            raise problems.InvalidRequest(f"Version {number} has no commit id.")
        statements = fields.get("statements", [])
        if not isinstance(statements, list):
            raise problems.InvalidRequest(f"The evidence of version {number} is not a list.")
        return cls(
            number=number,
            state=state,
            label=_text(fields, "label", 64),
            message=_text(fields, "message", LONGEST_MESSAGE),
            branch=_text(fields, "branch", 100) or "main",
            reason=_text(fields, "reason", LONGEST_REASON),
            commit_id=commit,
            manifest_sha256=manifest,
            author=_line(fields.get("created_by")),
            published_at=_line(fields.get("published_at"))[:40],
            files=files,
            statements=tuple(map(Statement.read, statements[:MOST_STATEMENTS])),
        )

    def document(self) -> dict[str, Any]:
        """The record as JSON that ``read`` reads."""
        return {
            **asdict(self),
            "created_by": self.author,
            "manifest_sha256": digests.format(self.manifest_sha256),
            "files": [
                {"path": file.path, "size": file.size, "sha256": digests.format(file.sha256)}
                for file in self.files
            ],
            "statements": [asdict(statement) for statement in self.statements],
        }


@dataclass(frozen=True, slots=True)
class NameRecord:
    """An alias or a tag, and the version that it names: its number, or 0 and its commit."""

    name: str
    kind: str
    number: int
    commit_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model at its source: who may see it, and its aliases and tags."""

    ref: str
    is_open: bool
    names: tuple[NameRecord, ...]

    @classmethod
    def read(cls, data: Any) -> Self:
        """Read a model of the API; raises InvalidRequest, InvalidReference."""
        fields = _object(data, "a model")
        ref = refs.parse(_text(fields, "ref", 200)).name
        rows = fields.get("refs", [])
        if not isinstance(rows, list):
            raise problems.InvalidRequest(f"The aliases and tags of {ref} are not a list.")
        return cls(
            ref=ref,
            is_open=fields.get("visibility") == "public" and fields.get("gate", "open") == "open",
            names=tuple(name for row in rows[:MOST_FILES] if (name := _name(row))),
        )

    def document(self) -> dict[str, Any]:
        """The record as JSON that ``read`` reads."""
        return {
            "ref": self.ref,
            "visibility": "public" if self.is_open else "private",
            "refs": [asdict(name) for name in self.names],
        }


def statements(
    conformance: Iterable[Any], evaluations: Iterable[Any], variants: Iterable[Any]
) -> tuple[Statement, ...]:
    """Evidence of a version, from what the API lists of it, in words of this hub's own."""
    rows = []
    for row in conformance:
        fields = _object(row, "a conformance result")
        runtime = f"{_line(fields.get('runtime'))} {_line(fields.get('runtime_version'))}"
        check = f"{_line(fields.get('variant'))}: {_line(fields.get('check'))}"
        rows.append(Statement("conformance", f"{check} on {runtime}", _line(fields.get("verdict"))))
    for row in evaluations:
        fields = _object(row, "an evaluation")
        value, low, high = (fields.get(name) for name in ("value", "low", "high"))
        if not isinstance(value, int | float):
            continue
        words = f"{value:.4g}"
        if isinstance(low, int | float) and isinstance(high, int | float):
            level = fields.get("interval_level")
            name = f"{level} % interval " if isinstance(level, int) else ""
            words += f" ({name}{low:.4g} to {high:.4g})"
        data = f"{_line(fields.get('dataset'))}@{_line(fields.get('dataset_version'))}"
        subject = f"{_line(fields.get('variant'))}: {_line(fields.get('metric'))} on {data}"
        rows.append(Statement("evaluation", subject, words))
    for row in variants:
        fields = _object(row, "a variant")
        proof = fields.get("proof")
        if isinstance(proof, dict):
            subject = f"{_line(fields.get('name'))}: opset {_line(fields.get('opset'))}"
            rows.append(Statement("upgrade", subject, _line(proof.get("sentence"))))
    return tuple(rows[:MOST_STATEMENTS])


def version_number(value: Any) -> int:
    """The number of a version at its source; raises InvalidRequest."""
    if type(value) is not int or not 1 <= value <= MOST_NUMBER:
        raise problems.InvalidRequest(
            f"The record of a version has no number from 1 to {MOST_NUMBER:,}."
        )
    return value


def clean(text: str) -> str:
    """Text without what databases refuse: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")


def _name(data: Any) -> NameRecord | None:
    """An alias or tag; None for a branch, and for what names no version."""
    fields = _object(data, "a name")
    number = fields.get("number")
    if fields.get("kind") not in NAMED or type(number) is not int:
        return None
    return NameRecord(_text(fields, "name", 100), str(fields["kind"]), number)


def _object(data: Any, what: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise problems.InvalidRequest(f"The record of {what} is not an object.")
    return data


def _text(fields: dict[str, Any], name: str, longest: int) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest or value != clean(value):
        raise problems.InvalidRequest(
            f"The field {name} of a record is not a text of up to {longest} characters."
        )
    return value


def _line(value: Any) -> str:
    """One line of printable text from what a stranger sends."""
    if not stored.is_scalar(value):
        return ""
    text = str(value)[: 4 * LONGEST_STATEMENT]
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:LONGEST_STATEMENT]
