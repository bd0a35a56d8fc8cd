"""Signatures that a mirror takes over from its source, verified as those that a user adds.

The words of the source decide nothing: each bundle must verify here over the files of the version
here. One that was refused is tried again by the next synchronisation.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hub.protocol import digests, problems, publishers, strict
from registry.models import User, Version
from registry.provenance.signature_models import VersionSignature
from registry.provenance.signatures import services
from registry.versions.mirrored_documents import Fetch

PATH = "signatures"


@dataclass(frozen=True, slots=True)
class SourceSignature:
    """A signature in the list of a source: its version, digest, and the public key as PEM."""

    number: int
    sha256: str
    public_key: str

    @property
    def hex_digest(self) -> str:
        """The digest as hex digits; raises InvalidRequest."""
        return digests.parse(self.sha256)


@dataclass(frozen=True, slots=True)
class SourceSignatures:
    """The list of a source."""

    items: list[SourceSignature]


def take(actor: User, versions: Mapping[int, Version], fetch: Fetch) -> Mapping[int, str]:
    """Add the signatures of the source that versions lack; returns why some were refused.

    Raises InvalidRequest where the list cannot be read.
    """
    present = set(
        VersionSignature.objects.filter(version__in=versions.values()).values_list(
            "version__number", "sha256"
        )
    )
    refusals: dict[int, list[str]] = defaultdict(list)
    for row in _source_signatures(fetch, versions):
        version = versions[row.number]
        try:
            if (row.number, row.hex_digest) not in present:
                bundle = _bundle(fetch, row)
                services.add(actor, version=version, bundle=bundle, public_key=row.public_key)
        except problems.Unreachable:
            raise
        except problems.Problem as error:
            refusals[row.number].append(
                f"The signature {row.sha256[:19]}… of the source was refused: {error}"
            )
    return {number: " ".join(texts) for number, texts in refusals.items()}


def _source_signatures(fetch: Fetch, versions: Mapping[int, Version]) -> Iterator[SourceSignature]:
    """The signatures that the source lists of these versions, as many as each may have."""
    try:
        content = fetch(PATH)
    except problems.NotFound:  # it offers no signatures
        return
    try:
        signatures = strict.Reader().read(SourceSignatures, json.loads(content)).items
    except (ValueError, RecursionError) as error:
        raise problems.InvalidRequest(
            f"The list of signatures of the source cannot be read: {error}."
        ) from None
    counts: Counter[int] = Counter()
    for row in signatures:
        counts[row.number] += 1
        if row.number in versions and counts[row.number] <= services.MOST_SIGNATURES:
            yield row


def _bundle(fetch: Fetch, row: SourceSignature) -> str:
    """The bundle of a signature; raises DigestMismatch, SignatureInvalid."""
    content = fetch(f"versions/{row.number}/{PATH}/{row.hex_digest}")
    if len(content) > publishers.MOST_BYTES:
        raise problems.SignatureInvalid(f"It has more than {publishers.MOST_BYTES:,} bytes.")
    if hashlib.sha256(content).hexdigest() != row.hex_digest:
        raise problems.DigestMismatch("The bundle does not have the digest in the list.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise problems.SignatureInvalid("The bundle is no text.") from None
