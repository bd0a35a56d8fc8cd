"""The hub's own vocabulary and shapes as files, with the hub's own address.

They are kept with a base that no hub can have, and get the public address when they are read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from django.conf import settings

_FOLDER = Path(__file__).parents[1] / "vocab"
_BASE = "https://hub.invalid"
_MOST_BYTES = 4 << 20
Name = Literal["terms", "shapes", "mldcat-ap"]


class ShapesUnavailableError(Exception):
    """A graph cannot be validated: the shapes or the validator are not available."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """A set of SHACL shapes: its Turtle, what it is called, and whose it is.

    ``official`` marks a file that the operator fetched from the profile's own editors.
    """

    title: str
    turtle: str
    official: bool = False

    @property
    def sha256(self) -> str:
        """The digest of the text; of a file as it was fetched, that of its bytes."""
        return hashlib.sha256(self.turtle.encode()).hexdigest()


def read(name: Name) -> str:
    """One of the hub's own files as Turtle, below the hub's public address."""
    return _read(name, settings.HUB_PUBLIC_URL)


@cache
def _read(name: Name, home: str) -> str:
    return (_FOLDER / f"{name}.ttl").read_text(encoding="utf-8").replace(_BASE, home)


def shapes(name: Literal["hub", "mldcat-ap"]) -> Shapes:
    """The shapes to check against: MLDCAT-AP's own where the operator gave them.

    Raises ShapesUnavailableError where the operator's file cannot be read.
    """
    if name == "hub":
        return Shapes("the hub's shapes", read("shapes"))
    path = settings.HUB_MLDCAT_SHAPES
    if not path:
        return Shapes("the hub's transcription of MLDCAT-AP 3.1.0", read("mldcat-ap"))
    return Shapes("the official MLDCAT-AP shapes", _fetched(path), official=True)


def _fetched(path: str) -> str:
    try:
        if Path(path).stat().st_size > _MOST_BYTES:
            raise ShapesUnavailableError(
                f"HUB_MLDCAT_SHAPES names {path}, which is larger than {_MOST_BYTES} bytes."
            )
        return Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ShapesUnavailableError(
            f"HUB_MLDCAT_SHAPES names {path}, which cannot be read as text ({error})."
        ) from error
