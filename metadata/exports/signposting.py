"""Typed links for programs: FAIR Signposting, levels 1 and 2.

Level 1 is the `Link` header of a page (RFC 8288), level 2 a set of links as a document (RFC 9264).
Source: signposting.org/FAIR.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from metadata.exports.sheet import Sheet
from metadata.store.negotiation import FORMATS, HTML

LINKSET = "application/linkset+json"
# Servers and proxies refuse long headers: what is beyond these is in the linkset alone.
AUTHORS, ITEMS = 10, 20
HEADER_BYTES = 6000
_FILE = "application/octet-stream"
_KINDS = ("https://schema.org/AboutPage", "https://schema.org/CreativeWork")


@dataclass(frozen=True, slots=True)
class Link:
    """One typed link from ``anchor`` to ``target``."""

    anchor: str
    relation: str
    target: str
    attributes: dict[str, str] = field(default_factory=dict)

    def header(self) -> str:
        """The link as a value of the `Link` header; targets are IRIs in ASCII already."""
        attributes = {"rel": self.relation} | self.attributes
        return f"<{self.target}>" + "".join(
            f'; {name}="{value}"' for name, value in attributes.items()
        )


def of_version(of: Sheet, extra: Sequence[tuple[str, str]] = ()) -> list[Link]:
    """All links of a version's page, its files and its descriptions.

    ``extra`` are more descriptions: address and media type.
    """
    page = of.iri
    cited = f"https://doi.org/{of.doi}" if of.doi else page
    authors = of.creators or (of.publisher,)
    links = [
        Link(page, "cite-as", cited),
        *_kinds(page),
        *(Link(page, "author", agent.iri) for agent in authors if agent.iri),
        *(Link(page, "license", licence) for licence in of.licences),
        *_descriptions(page, extra),
        *(Link(page, "item", file.iri, {"type": _FILE}) for file in of.files),
        _linkset(page),
    ]
    return links + [
        Link(file.iri, "collection", page, {"type": HTML, "title": of.ref}) for file in of.files
    ]


def of_model(model: str, newest: str = "", licences: Iterable[str] = ()) -> list[Link]:
    """All links of a model's page, which shows its newest version."""
    return [
        Link(model, "cite-as", model),
        *_kinds(model),
        *(Link(model, "license", licence) for licence in licences),
        *_descriptions(model, ()),
        *([Link(model, "latest-version", newest, {"type": HTML})] if newest else []),
        _linkset(model),
    ]


def header(links: Iterable[Link], anchor: str) -> str:
    """The `Link` header of the page ``anchor``: short enough for every server on the way."""
    counts: dict[str, int] = defaultdict(int)
    most = {"author": AUTHORS, "item": ITEMS}
    values: list[str] = []
    mine = [link for link in links if link.anchor == anchor]
    length = 0
    # The linkset first: it leads to the links that had no room.
    for link in sorted(
        mine, key=lambda link: (link.relation == "item", link.relation != "linkset")
    ):
        counts[link.relation] += 1
        value = link.header()
        if counts[link.relation] > most.get(link.relation, counts[link.relation]):
            continue
        if length + len(value) > HEADER_BYTES:
            continue
        length += len(value) + 2
        values.append(value)
    return ", ".join(values)


def back(page: str, relations: Sequence[str] = ("collection",)) -> str:
    """The `Link` header of a file, or of a description, that leads back to its page."""
    return ", ".join(Link("", relation, page, {"type": HTML}).header() for relation in relations)


def linkset(links: Iterable[Link]) -> bytes:
    """The links as a document of RFC 9264."""
    contexts: dict[str, dict[str, Any]] = {}
    for link in links:
        context = contexts.setdefault(link.anchor, {"anchor": link.anchor})
        target = {"href": link.target} | link.attributes
        context.setdefault(link.relation, []).append(target)
    return json.dumps({"linkset": list(contexts.values())}, indent=2).encode()


def _kinds(page: str) -> list[Link]:
    return [Link(page, "type", kind) for kind in _KINDS]


def _descriptions(page: str, extra: Sequence[tuple[str, str]]) -> list[Link]:
    rows = [(f"{page}.{ending}", form.media_type) for ending, form in FORMATS.items()]
    rows += extra
    return [
        link
        for address, kind in rows
        for link in (
            Link(page, "describedby", address, {"type": kind.partition(";")[0]}),
            Link(address, "describes", page, {"type": HTML}),
            Link(address, "collection", page, {"type": HTML}),
        )
    ]


def _linkset(page: str) -> Link:
    return Link(page, "linkset", f"{page}/linkset", {"type": LINKSET})
