"""The manifests of versions, of models and of data sets, and their digests.

That of a model's version is the sorted list of its uploaded files; that of a data set's version is
canonical JSON of its files and splits. Equal files give an equal digest, in any order of adding
them, on client and server alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from hub.protocol import canonical, digests, problems, refs
from hub.protocol.splits import Split


def lines(entries: Iterable[tuple[str, str, int]]) -> bytes:
    r"""Return the manifest's text: `{path}\t{sha256 hex}\t{size}\n`, sorted by the path's bytes.

    Raise `PathInvalid` for a path no version may hold, and `InvalidRequest` for a path listed
    twice, a digest that is not 64 hex digits, or a negative size.
    """
    rows: dict[bytes, bytes] = {}
    for path, hex_digits, size in entries:
        key = refs.check_path(path).encode()
        if key in rows:
            raise problems.InvalidRequest(f"The path {path!r} is listed twice in one manifest.")
        if not digests.is_hex(hex_digits):
            raise problems.InvalidRequest(f"The digest of {path!r} is not 64 hex digits.")
        if size < 0:
            raise problems.InvalidRequest(f"The size of {path!r} is negative.")
        rows[key] = b"%b\t%b\t%d\n" % (key, hex_digits.encode(), size)
    return b"".join(rows[key] for key in sorted(rows))


def digest(entries: Iterable[tuple[str, str, int]]) -> str:
    """Return the 64 hex digits that name these (path, sha256 hex, size) entries."""
    return hashlib.sha256(lines(entries)).hexdigest()


def dataset_digest(files: Mapping[str, str], splits: Iterable[Split]) -> str:
    """Return the 64 hex digits that name a version of a data set: path -> sha256 hex, and splits.

    They are of `{"files": {path: "sha256:<hex>"}, "splits": [...]}` in RFC 8785's form.
    """
    manifest = {
        "files": {path: digests.format(hex_digits) for path, hex_digits in files.items()},
        "splits": [split.document() for split in splits],
    }
    return hashlib.sha256(canonical.encode(manifest)).hexdigest()
