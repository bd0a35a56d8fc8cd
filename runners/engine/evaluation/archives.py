"""ZIP archives of strangers: what is in them is counted before a byte is unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

MOST_MEMBERS = 1_000_000
# Bytes after unpacking: of one member, and of all.
MEMBER_BYTES, WHOLE_BYTES = 2 << 30, 8 << 30
# A larger member may not be packed more tightly than this.
MOST_RATIO, _SMALL = 200, 16 << 20


class UnreadableDataError(ValueError):
    """A file of a data set that cannot be read, or exceeds a limit; the message says why."""


def members(path: Path, name: str) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """Open an archive; the members by their names, without folders. Raises UnreadableDataError.

    ``name`` is how messages call it. `zipfile` unpacks no more of a member than its entry says.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableDataError(f"{name} is not a readable ZIP archive: {error}.") from None
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > MOST_MEMBERS:
        raise UnreadableDataError(
            f"{name} has {len(infos):,} files; at most {MOST_MEMBERS:,} are read."
        )
    for info in infos:
        _check(info, name)
    total = sum(info.file_size for info in infos)
    if total > WHOLE_BYTES:
        raise UnreadableDataError(
            f"{name} unpacks to {total:,} bytes; at most {WHOLE_BYTES:,} are read."
        )
    by_name = {info.filename: info for info in infos}
    if len(by_name) != len(infos):
        raise UnreadableDataError(f"{name} has two files of the same name.")
    return archive, by_name


def _check(info: zipfile.ZipInfo, name: str) -> None:
    member = info.filename[:100]
    if info.flag_bits & 1:
        raise UnreadableDataError(f"{member!r} in {name} is encrypted.")
    if info.file_size > MEMBER_BYTES:
        raise UnreadableDataError(
            f"{member!r} in {name} unpacks to {info.file_size:,} bytes; at most "
            f"{MEMBER_BYTES:,} are read."
        )
    if info.file_size > max(_SMALL, MOST_RATIO * info.compress_size):
        raise UnreadableDataError(
            f"{member!r} in {name} unpacks to more than {MOST_RATIO} times its size."
        )
