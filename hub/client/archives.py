"""Archives of strangers, unpacked safely: regular files only, inside one folder, within limits."""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hub.protocol import digests, problems, refs

MOST_MEMBERS = 10_000
MOST_BYTES = 8 << 30
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an archive may unpack to."""

    members: int = MOST_MEMBERS
    bytes: int = MOST_BYTES


def extract(
    archive: Path,
    folder: Path,
    *,
    choose: Callable[[str], str | None] | None = None,
    limits: Limits | None = None,
) -> list[str]:
    """Unpack a `tar.gz` into a folder that exists; return the paths that were written, in order.

    `choose` gives the path to write a member to, or `None` to pass it over. The whole archive is
    refused with `HubError` for a link, a device, an absolute path or one that leads out of the
    folder, whether chosen or not, for two files of one path, and for what exceeds the limits;
    what was written until then stays in the folder. Files of the same path there are replaced.
    """
    limits = limits or Limits()
    paths: dict[str, None] = {}
    total = count = 0
    try:
        # Read as a stream, so that the limits hold before an archive has been walked through.
        with tarfile.open(archive, "r|gz") as reader:
            for member in reader:
                count += 1
                total += max(member.size, 0)
                if count > limits.members or total > limits.bytes:
                    raise _refused(
                        archive,
                        f"it expands to more than {limits.members} files or {limits.bytes} bytes",
                    )
                path = _checked(archive, member)
                if not path:
                    continue
                target = choose(path) if choose else path
                if target is None:
                    continue
                if target in paths:
                    raise _refused(archive, f"it contains {member.name[:200]!r} twice")
                _write(archive, reader, member, folder / target)
                paths[target] = None
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise _refused(archive, f"it cannot be read ({error})") from None
    return list(paths)


def _checked(archive: Path, member: tarfile.TarInfo) -> str:
    """The path of a regular file, nothing for a folder; everything else refuses the archive."""
    path = member.name.removeprefix("./").rstrip("/")
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or _DRIVE.match(path) or "\\" in path:
        raise _refused(archive, f"{member.name[:200]!r} points outside the folder")
    if member.isdir():
        return ""
    if not member.isreg():
        raise _refused(archive, f"{member.name[:200]!r} is a link or a device")
    try:
        refs.check_path(path)
    except problems.Problem as error:
        raise _refused(archive, str(error)) from None
    return path


def _write(archive: Path, reader: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source = reader.extractfile(member)
    if source is None:
        raise _refused(archive, f"{member.name[:200]!r} cannot be read")
    target.unlink(missing_ok=True)
    with source, target.open("xb", buffering=0) as writer:
        _, size = digests.copy_and_hash(source, writer)  # type: ignore[arg-type]
    if size != member.size:
        raise _refused(archive, f"{member.name[:200]!r} ends too early")


def _refused(archive: Path, reason: str) -> problems.HubError:
    return problems.HubError(f"The archive {archive.name} cannot be used: {reason}.")
