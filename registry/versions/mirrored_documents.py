"""What mirrors copy of a model beside its versions: documents that capabilities have of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hub.protocol.ports import Port
from registry.models import User, Version

# The content at a path below the model's address in the API of the source. It raises Problems,
# NotFound among them, and Unreachable.
Fetch = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class MirroredDocuments:
    """Documents about versions that mirrors copy: what takes those that are missing here.

    ``take`` gets the owner of the mirror, the mirrored versions by their number, and what reads the
    source; it returns why documents were refused, by the number of the version.
    """

    take: Callable[[User, Mapping[int, Version], Fetch], Mapping[int, str]]


mirrored_documents = Port(MirroredDocuments)
