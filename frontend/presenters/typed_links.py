"""What a version's page says to programs: schema.org in the page, typed links in its head."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from metadata import exports
from metadata.exports import schemaorg, signposting
from metadata.store.negotiation import FORMATS
from registry.models import Version


@dataclass(frozen=True, slots=True)
class Metadata:
    """The block of schema.org, the `Link` header, and the addresses that people may follow."""

    block: SafeString
    header: str
    formats: tuple[tuple[str, str], ...]
    exports: tuple[tuple[str, str], ...]
    linkset: str


def of_version(version: Version, address: str) -> Metadata | None:
    """What the page at the path ``address`` says; None of a version that is out or not yet in."""
    if not version.is_served:
        return None
    sheet = exports.read(version)
    links = signposting.of_version(sheet, exports.addresses(sheet.iri))
    return Metadata(
        # The block is escaped so that nothing in it ends it.
        block=SafeString(schemaorg.embed(sheet)),
        header=signposting.header(links, sheet.iri),
        formats=tuple((form.title, f"{address}.{form.ending}") for form in FORMATS.values()),
        exports=tuple(
            (export.title, f"{address}/export/{export.filename}")
            for export in exports.EXPORTS.values()
        ),
        linkset=f"{address}/linkset",
    )
