"""A version in formats of other communities, each at a fixed address below the version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from metadata.exports import card, cyclonedx, schemaorg, sheet, spdx
from metadata.exports.sheet import Sheet
from metadata.rdf.iris import Places
from metadata.store import negotiation
from registry.cards import cards
from registry.models import Version


@dataclass(frozen=True, slots=True)
class Export:
    """One format: the last part of its address, its media type, and what people call it."""

    filename: str
    media_type: str
    title: str
    write: Callable[[Version], bytes]


def read(version: Version, nquads: str = "") -> Sheet:
    """The sheet of a version that the user may see, from its graph. Raises Withdrawn."""
    home = settings.HUB_PUBLIC_URL
    model = version.model
    iri = Places(home).version(model.namespace.slug, model.name, version.number)
    return sheet.read(iri, nquads or negotiation.of_version(version), home)


def front_of(version: Version) -> tuple[dict[str, object], str]:
    """A version's front matter and the text below it."""
    body = cards.body(version.readme)
    return dict(version.card), body


def _card(version: Version) -> bytes:
    return card.write(read(version), *front_of(version))


EXPORTS = {
    export.filename: export
    for export in (
        Export("README.md", "text/markdown; charset=utf-8", "Hugging Face card", _card),
        Export(
            "spdx.json",
            "application/ld+json",
            "SPDX 3.0.1, AI profile",
            lambda version: spdx.write(read(version)),
        ),
        Export(
            "cyclonedx.json",
            "application/vnd.cyclonedx+json; version=1.7",
            "CycloneDX 1.7, ML-BOM",
            lambda version: cyclonedx.write(read(version)),
        ),
        Export(
            "schema.json",
            "application/ld+json",
            "schema.org",
            lambda version: schemaorg.write(read(version)),
        ),
    )
}


def addresses(iri: str) -> list[tuple[str, str]]:
    """The address and the media type of each export of the version ``iri``."""
    return [(f"{iri}/export/{export.filename}", export.media_type) for export in EXPORTS.values()]
