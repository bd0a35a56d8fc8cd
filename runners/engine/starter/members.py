"""Reads files out of a wheel: those of a list alone, each bounded by its size and by its digest.

A wheel is a ZIP file (binary distribution format of the Python packaging guide). Nothing is
unpacked by the names of the archive, so no path of it leads anywhere.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 20


class ArchiveError(Exception):
    """The archive is none, or a file in it is missing or another one; the message says which."""


def copy(archive: Path, member: str, target: BinaryIO, *, size: int, sha256: str) -> None:
    """Copy a member of ``size`` bytes to ``target``; raises ArchiveError where it is another file.

    What it claims to hold beyond its size is not read.
    """
    hasher, left = hashlib.sha256(), size
    try:
        with zipfile.ZipFile(archive) as whole, whole.open(member) as reader:
            while chunk := reader.read(min(_CHUNK, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise ArchiveError(f"{member} has more than {size} bytes.")
                hasher.update(chunk)
                target.write(chunk)
    except KeyError:
        raise ArchiveError(f"The archive has no file {member}.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise ArchiveError(f"The archive cannot be read: {error}.") from None
    except RuntimeError as error:  # zipfile's own for encrypted members
        raise ArchiveError(f"{member} cannot be read: {error}.") from None
    if left or hasher.hexdigest() != sha256:
        raise ArchiveError(f"{member} is not the file with the SHA-256 {sha256}.")
