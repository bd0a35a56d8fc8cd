"""What a card says of a version in words: people, languages, papers, risks, uses and limits.

These are claims of the publisher, never measured here. A card's fields have whatever shape their
author gave them: what has another one is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hub.protocol.stored import rows
from metadata.rdf import languages, quads
from metadata.rdf.terms import BIRO, DCTERMS, FAIR4ML, FOAF, IT6, PROV, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph

LISTED = 200
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_DOI = re.compile(r"\b10\.[0-9]{4,9}/[^\s\"<>{}|\\^`,;]+")
_ARXIV_ID = re.compile(r"[0-9]{4}\.[0-9]{4,5}(?:v[0-9]+)?")
_ARXIV = re.compile(rf"arxiv(?:\.org/(?:abs|pdf)/|:)\s*({_ARXIV_ID.pattern})", re.IGNORECASE)
_ORCID = re.compile(r"\b([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])\b")
_ROR = re.compile(r"\bror\.org/(0[a-hj-km-np-tv-z0-9]{6}[0-9]{2})\b", re.IGNORECASE)
# Fields of text -> the term and its alias; those of the second table have one value at most.
_TEXTS = {
    "intended_use": (f"{IT6}intendedUse", f"{FAIR4ML}intendedUse"),
    "architecture": (f"{IT6}modelArchitecture", f"{FAIR4ML}modelCategory"),
}
_WHOLE = {
    "limitations": (f"{IT6}limitations",),
    "bias": (f"{IT6}bias", f"{FAIR4ML}modelRisksBiasLimitations"),
}
_OWN_TEXTS = ("preprocessing", "postprocessing")
_PARTS_OF_RISK = ("severity", "probability", "mitigation")


def tell(graph: Graph, places: Places, version: str, card: dict[str, Any]) -> None:
    """Tell of ``version`` what its card claims in words."""
    for field, predicates in _TEXTS.items():
        for predicate in predicates:
            graph.add(version, predicate, *map(quads.words, texts(card.get(field))))
    for field, terms_of_it in _WHOLE.items():
        for predicate in terms_of_it:
            graph.add(version, predicate, quads.words("\n".join(texts(card.get(field)))))
    for field in _OWN_TEXTS:
        graph.add(version, places.term(field), *map(quads.words, texts(card.get(field))))
    for code in texts(card.get("language")):
        graph.add(version, f"{DCTERMS}language", _language(code))
    _creators(graph, version, card)
    _references(graph, version, card)
    _risks(graph, version, card)


def texts(said: Any) -> list[str]:
    """One text or a list of them, as texts."""
    rows = said if isinstance(said, list) else [said]
    return [
        str(row)
        for row in rows
        if isinstance(row, str | int | float) and not isinstance(row, bool) and str(row).strip()
    ][:LISTED]


def _language(code: str) -> str:
    known = languages.iri(code)
    if known:
        return quads.link(known)
    return quads.string(code.strip().lower()) if _LANGUAGE.fullmatch(code.strip()) else ""


def _creators(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """People and organisations as parts of the version: nobody has verified who they are."""
    said = card.get("creators")
    rows = said if isinstance(said, list) else [said]
    for index, row in enumerate(rows[:LISTED], start=1):
        name, identity = _person(row)
        if not name:
            continue
        node = f"{version}#creator-{index}"
        for predicate in (f"{DCTERMS}creator", f"{SCHEMA}author"):
            graph.add(version, predicate, quads.link(node))
        graph.type(node, f"{FOAF}Agent", *_kinds(identity))
        graph.add(node, f"{FOAF}name", quads.string(name))
        graph.add(node, f"{PROV}specializationOf", quads.link(identity))


def _person(row: Any) -> tuple[str, str]:
    """A creator's name, and the IRI that the card gives for them."""
    if isinstance(row, str):
        identity = _identity(row)
        bare = re.sub(r"https?://\S+", "", _ORCID.sub("", row)).strip(" ()<>[],;")
        return bare or row.strip(), identity
    if not isinstance(row, dict):
        return "", ""
    written = [str(row[field]) for field in ("orcid", "ror", "url", "iri") if row.get(field)]
    found = [_identity(f"https://ror.org/{one}" if _is_ror(one) else one) for one in written]
    identity = next((one for one in found if one), "")
    return str(row.get("name") or identity).strip(), identity


def _is_ror(text: str) -> bool:
    return _ROR.search(f"ror.org/{text.strip()}") is not None and "/" not in text


def _identity(text: str) -> str:
    orcid = _ORCID.search(text)
    if orcid and _is_orcid(orcid[1]):
        return f"https://orcid.org/{orcid[1]}"
    ror = _ROR.search(text)
    if ror:
        return f"https://ror.org/{ror[1].lower()}"
    return next((iri for word in text.split() if (iri := quads.foreign(word.strip("()<>,;")))), "")


def _is_orcid(written: str) -> bool:
    """Whether the last character is the checksum of the others (ISO 7064 11,2)."""
    total = 0
    digits = written.replace("-", "")
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == digits[-1]


def _kinds(identity: str) -> list[str]:
    if identity.startswith("https://orcid.org/"):
        return [f"{PROV}Person"]
    return [f"{PROV}Organization"] if identity.startswith("https://ror.org/") else []


def _references(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """What to cite, and the papers that are named by DOI or arXiv number."""
    for index, text in enumerate(texts(card.get("citation")), start=1):
        node = f"{version}#citation-{index}"
        graph.add(version, f"{IT6}hasBibliographicReference", quads.link(node))
        graph.type(node, f"{BIRO}BibliographicReference")
        graph.add(node, f"{DCTERMS}bibliographicCitation", quads.string(text))
        kind = "BibTeX" if text.lstrip().startswith("@") else "text"
        graph.add(node, f"{DCTERMS}format", quads.string(kind))
        graph.add(node, f"{DCTERMS}references", *map(quads.link, _papers(text)))
    named = [*texts(card.get("doi")), *texts(card.get("tags"))]
    for text in named:
        graph.add(version, f"{DCTERMS}isReferencedBy", *map(quads.link, _papers(text)))
    for text in texts(card.get("arxiv")):
        number = _ARXIV_ID.search(text)
        if number:
            paper = quads.link(f"https://arxiv.org/abs/{number[0]}")
            graph.add(version, f"{DCTERMS}isReferencedBy", paper)


def _papers(text: str) -> Iterator[str]:
    for found in _DOI.findall(text):
        yield quads.foreign(f"https://doi.org/{found.rstrip('.)]')}")
    for found in _ARXIV.findall(text):
        yield f"https://arxiv.org/abs/{found}"


def _risks(graph: Graph, version: str, card: dict[str, Any]) -> None:
    said = card.get("risks")
    plain = [{"description": text} for text in texts(said)]
    for index, row in enumerate([*rows(said), *plain][:LISTED], start=1):
        words = [str(row[field]) for field in ("title", "description") if row.get(field)]
        if not words:
            continue
        node = f"{version}#risk-{index}"
        graph.add(version, f"{IT6}hasRisk", quads.link(node))
        graph.type(node, f"{IT6}HarmRisk")
        graph.add(node, f"{DCTERMS}title", quads.words(_short(words[0])))
        graph.add(node, f"{DCTERMS}description", quads.words(words[-1]))
        for part in _PARTS_OF_RISK:
            graph.add(node, f"{IT6}{part}", quads.words(_scalar(row.get(part))))


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99].rstrip()}…"


def _scalar(said: Any) -> Any:
    return said if isinstance(said, str | int | float) else None
