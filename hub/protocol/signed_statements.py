"""The statement in a bundle of OpenSSF Model Signing: which files it signs, by their digests.

Nothing here is verified yet; it is read as the words of a stranger, in time linear in its length.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from hub.counting import plural
from hub.protocol import digests, strict

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://model_signing/signature/v1.0"


class SignatureError(ValueError):
    """A bundle, a key or a certificate cannot be used; the text names cause and cure."""


def files_of(payload: bytes) -> dict[str, str]:
    """The digest of each file in a statement; raises SignatureError, UnreadableError."""
    document = json_of(payload, "its payload")
    expect(document, "_type", STATEMENT_TYPE)
    expect(document, "predicateType", PREDICATE_TYPE)
    subjects = members(document, "subject")
    if len(subjects) != 1:
        raise strict.UnreadableError(f"it has {plural(len(subjects), 'subject')}, not one")
    predicate = member(document, "predicate")
    _expect_whole_files(member(predicate, "serialization"))
    files: dict[str, str] = {}
    whole = hashlib.sha256()
    for at, value in enumerate(members(predicate, "resources")):
        row = strict.check(value, dict, f"resources[{at}]")
        path = strict.check(row.get("name"), str, f"resources[{at}].name")
        expect(row, "algorithm", "sha256")
        digest = strict.check(row.get("digest"), str, f"resources[{at}].digest")
        if path in files or not digests.is_hex(digest):
            raise strict.UnreadableError(f"resources[{at}] has no digest of its own")
        files[path] = digest
        whole.update(bytes.fromhex(digest))
    root = member(strict.check(subjects[0], dict, "subject[0]"), "digest").get("sha256")
    if root != whole.hexdigest():
        raise strict.UnreadableError("the digest of its subject is not that of its files")
    return files


def _expect_whole_files(serialization: dict[str, Any]) -> None:
    if serialization.get("method") != "files" or serialization.get("hash_type") != "sha256":
        raise SignatureError(
            "The bundle signs shards of files, or over other hashes than SHA-256, which a hub "
            "cannot compare with the digests of files. Sign without --shard_size and with SHA-256."
        )


def json_of(text: str | bytes, what: str) -> dict[str, Any]:
    """An object in JSON; raises SignatureError."""
    try:
        return strict.check(json.loads(text), dict, what)
    except (ValueError, RecursionError) as error:
        raise SignatureError(f"This is no Sigstore bundle: {what} is no JSON ({error}).") from None


def member(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under a name; raises UnreadableError."""
    return strict.check(document.get(name), dict, name)


def members(document: Any, name: str) -> list[Any]:
    """The list under a name; raises UnreadableError."""
    return strict.check(strict.check(document, dict, name).get(name), list, name)


def bytes_of(document: dict[str, Any], name: str) -> bytes:
    """The base64 under a name, decoded; raises UnreadableError."""
    try:
        text = strict.check(document.get(name), str, name)
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, base64.binascii.Error):  # type: ignore[attr-defined]
        raise strict.UnreadableError(f"{name} is no base64") from None


def expect(document: dict[str, Any], name: str, value: str) -> None:
    """Raise UnreadableError unless a name has this value."""
    if document.get(name) != value:
        raise strict.UnreadableError(f"{name} is not {value}")
