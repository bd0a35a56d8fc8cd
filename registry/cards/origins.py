"""Who and what a model came from, on a card: people, data, and whether those are about people."""

from __future__ import annotations

from typing import Any

from hub.protocol.cards import PERSONAL_DATA
from registry.cards import values
from registry.cards.findings import Notes
from registry.cards.values import (
    Check,
    date,
    doi,
    iri,
    licence,
    list_of,
    mapping,
    number,
    one_of,
    text,
    word,
)

_PERSONAL_PARTS: dict[str, Check] = {
    "categories": list_of(text, expected="a list of categories"),
    "legal_basis": text,
    "note": text,
}


def _status(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, bool):
        answer = "yes" if value else "no"
        notes.warn(
            pointer, f"YAML reads {answer} as {str(value).lower()}.", f'Write "{answer}" in quotes.'
        )
        return
    # The meaning of another word is never guessed: it is about people.
    status = one_of(PERSONAL_DATA, what="status of personal data", guess=False)
    status(notes, pointer, value)


def personal(notes: Notes, pointer: str, value: Any) -> None:
    """Whether data are about people: a word, or a mapping with the word as its status."""
    if not isinstance(value, dict):
        _status(notes, pointer, value)
        return
    parts: dict[str, Check] = {"status": _status, **_PERSONAL_PARTS}
    if value.get("status") is None:
        notes.error(pointer, "status is missing.", "Write yes, no, anonymised or unknown.")
    mapping(parts, expected="a word or a mapping")(notes, pointer, value)
    if value.get("status") in ("yes", True) and not value.get("legal_basis"):
        notes.warn(
            pointer,
            "legal_basis is missing.",
            "State the legal ground on which the data are processed.",
        )


_PERSON: dict[str, Check] = {
    "name": text,
    "orcid": values.orcid,
    "ror": values.ror,
    "affiliation": text,
    "url": iri,
    "email": text,
}


def person(notes: Notes, pointer: str, value: Any) -> None:
    """A person or organisation: a name, or a mapping with it."""
    if isinstance(value, str):
        return
    expected = "a name or a mapping with one"
    mapping(_PERSON, expected=expected, needs=("name", "orcid", "ror"))(notes, pointer, value)
    if isinstance(value, dict) and value.get("email"):
        notes.warn(
            f"{pointer}/email",
            "Published cards stay public, including this address.",
            "Give an ORCID iD instead.",
        )


people = list_of(person, expected="a list of people")
_DATASET: dict[str, Check] = {
    "name": text,
    "iri": iri,
    "url": iri,
    "doi": doi,
    "license": list_of(licence, expected="an SPDX id such as cc-by-4.0"),
    "creators": people,
    "source": text,
    "version": word,
    "rows": number(whole=True),
    "split": text,
    "collected": date,
    "personal_data": personal,
    "categories": _PERSONAL_PARTS["categories"],
    "legal_basis": text,
    "note": text,
}


def dataset(notes: Notes, pointer: str, value: Any) -> None:
    """A data set: its name or IRI, or a mapping with one of them."""
    if isinstance(value, str):
        return
    expected = "a data set, with name or iri"
    mapping(_DATASET, expected=expected, needs=("name", "iri"))(notes, pointer, value)


datasets = list_of(dataset, expected="a list of data sets", alone=False)
