"""Files that are to become a version of a model or of a data set, before a byte of them is sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hub.protocol import problems


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a push would do: whether it makes the entry, what it sends, and an equal version."""

    creates: bool
    missing: list[str]
    missing_bytes: int
    identical_to: int | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Files by path: the hex digits of their digests, and the sizes in bytes that are announced."""

    digest_of: Mapping[str, str]
    size_of: Mapping[str, int]

    def sizes(self, missing: Collection[str]) -> dict[str, int]:
        """The size of each of the missing digests, as announced."""
        return {
            digest: self.size_of.get(path, 0)
            for path, digest in self.digest_of.items()
            if digest in missing
        }

    def preflight(
        self, missing: Collection[str], *, creates: bool, identical_to: int | None
    ) -> Preflight:
        """What a push of these files would do where the hub lacks the ``missing`` digests."""
        paths = [path for path, digest in self.digest_of.items() if digest in missing]
        return Preflight(creates, paths, sum(self.sizes(missing).values()), identical_to)


def check_folders(path: str, paths: Collection[str]) -> None:
    """Raise PathInvalid where a folder of ``path`` is itself one of the ``paths``."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        if (folder := "/".join(parts[:count])) in paths:
            raise problems.PathInvalid(f"{path} and {folder} cannot both exist: one is a folder.")
