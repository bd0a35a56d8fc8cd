"""What a card states of a version: people, languages, papers, risks, uses and limits.

These are claims of the publisher, never measured here. A card's fields have any shape that their
author gave them: what has another one is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hub.protocol import phrases, stored
from hub.protocol.cards import risks
from metadata.rdf import languages
from metadata.rdf.graph import Graph
from metadata.rdf.quads import foreign, link, string, words
from registry.cards.values import is_orcid

LONGEST_LIST = 200
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_DOI = re.compile(r"\b10\.[0-9]{4,9}/[^\s\"<>{}|\\^`,;]+")
_ARXIV_ID = re.compile(r"[0-9]{4}\.[0-9]{4,5}(?:v[0-9]+)?")
_ARXIV = re.compile(rf"arxiv(?:\.org/(?:abs|pdf)/|:)\s*({_ARXIV_ID.pattern})", re.IGNORECASE)
_ORCID = re.compile(r"\b([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])\b")
_ROR = re.compile(r"\bror\.org/(0[a-hj-km-np-tv-z0-9]{6}[0-9]{2})\b", re.IGNORECASE)
# Fields of text -> the term and its alias.
_TEXTS = {
    "intended_use": "it6:intendedUse fair4ml:intendedUse",
    "architecture": "it6:modelArchitecture fair4ml:modelCategory",
    "preprocessing": "hub:preprocessing",
    "postprocessing": "hub:postprocessing",
}
# Those that have one value at most.
_JOINED_TEXTS = {
    "limitations": "it6:limitations",
    "bias": "it6:bias fair4ml:modelRisksBiasLimitations",
}


def describe(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """State the texts and people of a card."""
    for field, predicates in _TEXTS.items():
        graph.add(version, predicates, *map(words, texts(card.get(field))))
    for field, predicates in _JOINED_TEXTS.items():
        graph.add(version, predicates, words("\n".join(texts(card.get(field)))))
    for code in texts(card.get("language")):
        graph.add(version, "dcterms:language", _language(code))
    _creators(graph, version, card)
    _references(graph, version, card)
    _risks(graph, version, card)


def texts(value: Any) -> list[str]:
    """One text or a list of them, as texts."""
    items = value if isinstance(value, list) else [value]
    return [str(item) for item in items if stored.is_scalar(item) and str(item).strip()][
        :LONGEST_LIST
    ]


def _language(code: str) -> str:
    iri = languages.iri(code)
    if iri:
        return link(iri)
    return string(code.strip().lower()) if _LANGUAGE.fullmatch(code.strip()) else ""


def _creators(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """People and organisations as parts of the version: their identity is not verified."""
    creators = card.get("creators")
    rows = creators if isinstance(creators, list) else [creators]
    for index, row in enumerate(rows[:LONGEST_LIST], start=1):
        name, identity = _person(row)
        if name:
            node = f"{version}#creator-{index}"
            graph.add(version, "dcterms:creator schema:author", link(node))
            facts = {"foaf:name": string(name), "prov:specializationOf": link(identity)}
            graph.describe(node, f"foaf:Agent {_kind(identity)}", facts)


def _person(row: Any) -> tuple[str, str]:
    """A creator's name, and the IRI that the card gives for them."""
    if isinstance(row, str):
        bare = re.sub(r"https?://\S+", "", _ORCID.sub("", row)).strip(" ()<>[],;")
        return bare or row.strip(), _identity(row)
    if not isinstance(row, dict):
        return "", ""
    addresses = [str(row[field]) for field in ("orcid", "ror", "url", "iri") if row.get(field)]
    identities = (
        _identity(f"https://ror.org/{address}" if _is_ror(address) else address)
        for address in addresses
    )
    identity = next(filter(None, identities), "")
    return str(row.get("name") or identity).strip(), identity


def _is_ror(text: str) -> bool:
    return _ROR.search(f"ror.org/{text.strip()}") is not None and "/" not in text


def _identity(text: str) -> str:
    orcid = _ORCID.search(text)
    if orcid and is_orcid(orcid[1]):
        return f"https://orcid.org/{orcid[1]}"
    ror = _ROR.search(text)
    if ror:
        return f"https://ror.org/{ror[1].lower()}"
    return next((iri for word in text.split() if (iri := foreign(word.strip("()<>,;")))), "")


def _kind(identity: str) -> str:
    if identity.startswith("https://orcid.org/"):
        return "prov:Person"
    return "prov:Organization" if identity.startswith("https://ror.org/") else ""


def _references(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """What to cite, and the papers that are named by DOI or arXiv number."""
    for index, text in enumerate(texts(card.get("citation")), start=1):
        node = f"{version}#citation-{index}"
        graph.describe_part(
            version,
            "it6:hasBibliographicReference",
            node,
            "biro:BibliographicReference",
            {
                "dcterms:bibliographicCitation": string(text),
                "dcterms:format": string("BibTeX" if text.lstrip().startswith("@") else "text"),
                "dcterms:references": map(link, _papers(text)),
            },
        )
    for text in [*texts(card.get("doi")), *texts(card.get("tags"))]:
        graph.add(version, "dcterms:isReferencedBy", *map(link, _papers(text)))
    for text in texts(card.get("arxiv")):
        number = _ARXIV_ID.search(text)
        if number:
            paper = link(f"https://arxiv.org/abs/{number[0]}")
            graph.add(version, "dcterms:isReferencedBy", paper)


def _papers(text: str) -> Iterator[str]:
    for doi in _DOI.findall(text):
        yield foreign(f"https://doi.org/{doi.rstrip('.)]')}")
    for number in _ARXIV.findall(text):
        yield f"https://arxiv.org/abs/{number}"


def _risks(graph: Graph, version: str, card: dict[str, Any]) -> None:
    for index, risk in enumerate(risks(card.get("risks"))[:LONGEST_LIST], start=1):
        node = f"{version}#risk-{index}"
        graph.describe_part(
            version,
            "it6:hasRisk",
            node,
            "it6:HarmRisk",
            {
                "dcterms:title": words(phrases.ellipsis(risk.title or risk.description, 100)),
                "dcterms:description": words(risk.description or risk.title),
                "it6:severity": words(risk.severity),
                "it6:probability": words(risk.probability),
                "it6:mitigation": words(risk.mitigation),
            },
        )
