"""``CITATION.cff`` (Citation File Format 1.2): the authors and the work to cite."""

from __future__ import annotations

import re
from typing import Any

from registry.cards import values
from registry.cards.imports.files import Proposal, refused, rows, words, yaml_of

KIND = "CITATION.cff"
_DOI_AT = re.compile(r"(?:doi:|https?://(?:dx\.)?doi\.org/)", re.IGNORECASE)


def read(text: str) -> Proposal:
    """Citation, creators with their ORCID iDs, and the DOI."""
    document = yaml_of(text, KIND)
    if not isinstance(document, dict) or "cff-version" not in document:
        raise refused(KIND, "it has no cff-version.")
    notes: list[str] = []
    preferred = document.get("preferred-citation")
    work = preferred if isinstance(preferred, dict) else document
    if work is not document:
        notes.append("The file's preferred citation is used.")
    people = [person for row in rows(document.get("authors")) if (person := _person(row, notes))]
    cited = [person for row in rows(work.get("authors")) if (person := _person(row, []))]
    fields: dict[str, Any] = {}
    if people:
        fields["creators"] = people
    doi = _doi(work) or _doi(document)
    if doi:
        fields["doi"] = doi
    if citation := _citation(work, cited or people, doi):
        fields["citation"] = citation
    if not fields:
        raise refused(KIND, "it has no title, authors or DOI.")
    if document.get("license"):
        licence = ", ".join(words(row, 64) for row in rows(document["license"]))
        notes.append(
            f"The file gives the licence {licence} for the cited work; it is not used for the "
            "model."
        )
    return Proposal("citation", fields, notes)


def _person(row: Any, notes: list[str]) -> Any:
    if not isinstance(row, dict):
        return None
    parts = [row.get(part) for part in ("given-names", "name-particle", "family-names")]
    name = " ".join(filter(None, (words(part, 200) for part in parts))) or words(row.get("name"))
    name = name or words(row.get("alias"), 200)
    person: dict[str, Any] = {"name": name} if name else {}
    orcid = re.search(r"[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]", words(row.get("orcid"), 100))
    if orcid and values.is_orcid(orcid.group()):
        person["orcid"] = orcid.group()
    elif row.get("orcid"):
        notes.append(f"The ORCID iD of {name or 'an author'} is wrong and was left out.")
    if affiliation := words(row.get("affiliation"), 200):
        person["affiliation"] = affiliation
    return name if person == {"name": name} else person or None


def _doi(work: dict[str, Any]) -> str:
    candidates = [work.get("doi")]
    candidates += [
        row.get("value")
        for row in rows(work.get("identifiers"))
        if isinstance(row, dict) and row.get("type") == "doi"
    ]
    for each in candidates:
        doi = _DOI_AT.sub("", words(each, 200))
        if re.fullmatch(r"10\.[0-9]{4,9}(?:\.[0-9]+)*/\S+", doi):
            return doi
    return ""


def _citation(work: dict[str, Any], people: list[Any], doi: str) -> str:
    names = [person if isinstance(person, str) else person.get("name", "") for person in people]
    year = words(work.get("year")) or words(work.get("date-released"))[:4]
    title = words(work.get("title"), 500)
    if not title:
        return ""
    parts = [", ".join(filter(None, names[:20])), f"({year})" if year else ""]
    head = " ".join(filter(None, parts))
    where = words(work.get("journal"), 200) or words(work.get("publisher"), 200)
    address = f"https://doi.org/{doi}" if doi else words(work.get("url"), 500)
    return " ".join(
        filter(None, [f"{head}." if head else "", f"{title}.", where and f"{where}.", address])
    )
