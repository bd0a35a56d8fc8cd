"""Checks of single values: text, numbers, dates, identifiers. Each notes what is wrong.

A check is a function of the notes, the value's pointer and the value; values that are left empty
(null) never come here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from hub.protocol import stored
from hub.protocol.vocabularies import LICENCE_OF
from registry.cards import vocabularies
from registry.cards.findings import Notes, escaped

Check: TypeAlias = Callable[[Notes, str, Any], None]

_DOI = re.compile(r"10\.[0-9]{4,9}(?:\.[0-9]+)*/[^\s\"<>]+")
_DOI_AT = re.compile(r"(?:doi:|https?://(?:dx\.)?doi\.org/)(.*)", re.IGNORECASE | re.DOTALL)
_ORCID = re.compile(r"(?:https?://orcid\.org/)?([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])/?")
_ROR = re.compile(r"(?:https?://ror\.org/)?0[a-z0-9]{6}[0-9]{2}/?")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")


def kind(value: Any) -> str:
    """The kind of a value for messages."""
    if isinstance(value, bool):
        return "yes or no (write it in quotes if it is a word)"
    for of, words in ((str, "text"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, of):
            return words
    return "a mapping of fields" if isinstance(value, dict) else "nothing"


def text(notes: Notes, pointer: str, value: Any) -> None:
    """Words; a number or a yes that YAML read as such is not."""
    if not isinstance(value, str):
        notes.error(pointer, f"This must be text, not {kind(value)}.", "Write text in quotes.")


def word(notes: Notes, pointer: str, value: Any) -> None:
    """Words, or a number that stands for itself, as in a list of tags."""
    if not stored.is_scalar(value):
        notes.error(
            pointer, f"This must be a single word, not {kind(value)}.", "Write one word or name."
        )


def list_of(check: Check, *, expected: str, alone: bool = True) -> Check:
    """A list of what ``check`` takes; ``alone`` allows one of them without the list."""

    def each(notes: Notes, pointer: str, value: Any) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                if item is None:
                    notes.error(f"{pointer}/{index}", "This entry is empty.", "Fill or remove it.")
                else:
                    check(notes, f"{pointer}/{index}", item)
        elif alone and not isinstance(value, dict):
            check(notes, pointer, value)
        else:
            notes.error(
                pointer,
                f"This must be {expected} and is {kind(value)}.",
                "Start the line with a -.",
            )

    return each


def mapping(
    parts: Mapping[str, Check], *, expected: str, needs: Collection[str] = (), open_: bool = False
) -> Check:
    """A mapping with known parts; of ``needs``, one must be there. Others are kept.

    An unknown part whose name is like a known one is noted, unless ``open_``.
    """

    def inside(notes: Notes, pointer: str, value: Any) -> None:
        if not isinstance(value, dict):
            notes.error(
                pointer, f"This must be {expected} and is {kind(value)}.", "See docs/cards.md."
            )
            return
        for name, part in value.items():
            place = f"{pointer}/{escaped(name)}"
            if name in parts:
                if part is not None:
                    parts[name](notes, place, part)
            elif not open_ and (meant := notes.guess(name, parts)):
                notes.warn(
                    place,
                    f"{name} is not a valid field here.",
                    f"If you mean {meant}, write {meant}.",
                )
        if needs and not any(value.get(name) not in (None, "") for name in needs):
            notes.error(
                pointer, f"It has no {' and no '.join(needs)}.", f"Give {' or '.join(needs)}."
            )

    return inside


def one_of(words: Collection[str], *, what: str, guess: bool = True) -> Check:
    """One of a few words; with ``guess`` the one that was probably meant is named."""

    def one(notes: Notes, pointer: str, value: Any) -> None:
        if isinstance(value, str) and value.strip().lower() in words:
            return
        meant = notes.guess(value, words, 0.6) if guess and isinstance(value, str) else ""
        listing = ", ".join(sorted(words))
        cure = f"{value} -> {meant}." if meant else f"Write one of {listing}."
        message = f"{str(value)[:60]!r} is no {what}"
        if not isinstance(value, str):
            message = f"This must be a {what} and is {kind(value)}"
        notes.error(pointer, f"{message}.", cure)

    return one


def usual(
    words: Collection[str], *, what: str, spelling: Callable[[str], str] = str.strip
) -> Check:
    """A word that programs know; another one is allowed, with a warning.

    `spelling` is how lists and graphs write a word.
    """

    def one(notes: Notes, pointer: str, value: Any) -> None:
        text(notes, pointer, value)
        if not isinstance(value, str) or spelling(value).lower() in words:
            return
        meant = notes.guess(value, words)
        cure = (
            f"{value} -> {meant}." if meant else "Filters and other programs will not recognise it."
        )
        notes.warn(pointer, f"{str(value)[:60]!r} is not a known {what}.", cure)

    return one


def number(*, least: float = 0, unit: str = "", whole: bool = False) -> Check:
    """A number that is not below ``least``."""
    what = f"a {'whole ' if whole else ''}number{f' in {unit}' if unit else ''}"

    def one(notes: Notes, pointer: str, value: Any) -> None:
        if not stored.is_number(value):
            notes.error(pointer, f"This must be {what} and is {kind(value)}.", bare_number(value))
        elif whole and value != int(value):
            notes.error(pointer, f"This must be {what}.", "Write it without a fraction.")
        elif value < least:
            notes.error(
                pointer,
                f"{value} is not possible: the minimum is {least:g}.",
                "Correct the number.",
            )

    return one


def bare_number(value: Any) -> str:
    """How to write the number that a text holds, if it holds one."""
    digits = _NUMBER.search(value) if isinstance(value, str) else None
    if digits is None:
        return "Write digits alone, or leave it out if it is not known."
    return f"Write the digits alone, without unit and quotes: {digits.group().replace(',', '.')}."


def licence(notes: Notes, pointer: str, value: Any) -> None:
    """An id of SPDX or Hugging Face, an SPDX expression, or an address."""
    text(notes, pointer, value)
    if not isinstance(value, str):
        return
    if vocabularies.is_licence(value) or _IRI.fullmatch(value.strip()):
        return
    meant = notes.guess(value.removesuffix("license"), LICENCE_OF)
    cure = f"{value} -> {meant}." if meant else "Write an SPDX id, or other with license_name."
    notes.warn(pointer, f"{value[:60]!r} is not a licence known to SPDX or Hugging Face.", cure)


def language(notes: Notes, pointer: str, value: Any) -> None:
    """A language by its ISO 639 code, or a BCP 47 tag."""
    if value is False:
        notes.error(pointer, "YAML reads no as false.", 'Write "no" in quotes for Norwegian.')
        return
    text(notes, pointer, value)
    if not isinstance(value, str):
        return
    code = value.strip().lower()
    if code in vocabularies.LANGUAGES:
        notes.warn(
            pointer,
            f"{value} is a language name, not a code.",
            f"{value} -> {vocabularies.LANGUAGES[code]}.",
        )
    elif not (_LANGUAGE.fullmatch(code) or code in ("multilingual", "code")):
        notes.warn(pointer, f"{value[:60]!r} is not a language code.", "Write en, de, zh-Hant ...")


def date(notes: Notes, pointer: str, value: Any) -> None:
    """A day or a time as ISO 8601 writes it; a year alone may be a number."""
    day = str(value).strip() if not isinstance(value, bool) else ""
    cure = "Write it as 2026-01-31."
    if not _DATE.fullmatch(day):
        notes.error(pointer, f"{str(value)[:60]!r} is not a date.", cure)
        return
    try:
        datetime.datetime.fromisoformat(f"{day}-01-01"[:10] if len(day) < 10 else day)
    except ValueError as error:
        notes.error(pointer, f"{day} is not a date: {error}.", cure)


def doi(notes: Notes, pointer: str, value: Any) -> None:
    """A digital object identifier, alone or as an address (ISO 26324)."""
    text(notes, pointer, value)
    if isinstance(value, str):
        at = _DOI_AT.fullmatch(value.strip())
        if not _DOI.fullmatch(at.group(1) if at else value.strip()):
            notes.error(pointer, f"{value[:80]!r} is not a DOI.", "Write it like 10.24432/C50P49.")


def iri(notes: Notes, pointer: str, value: Any) -> None:
    """An address, or another IRI such as a DOI's."""
    text(notes, pointer, value)
    if not isinstance(value, str):
        return
    address = value.strip()
    if _DOI_AT.fullmatch(address):
        doi(notes, pointer, address)
    elif _DOI.fullmatch(address):
        notes.warn(pointer, "This is a DOI without its URL.", f"https://doi.org/{address}")
    elif not _IRI.fullmatch(address):
        notes.error(
            pointer, f"{address[:80]!r} is not a web address.", "Begin with https://, doi: or urn:."
        )


def orcid(notes: Notes, pointer: str, value: Any) -> None:
    """A person's ORCID iD with its check digit (ISO 7064 MOD 11-2)."""
    match = _ORCID.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        notes.error(
            pointer,
            f"{str(value)[:60]!r} is not an ORCID iD.",
            "Write it like 0000-0002-1825-0097.",
        )
    elif not is_orcid(match.group(1)):
        notes.error(
            pointer, f"The check digit of {match.group(1)} is wrong.", "Copy the ORCID iD again."
        )


def is_orcid(written: str) -> bool:
    """Whether four groups of four have the right check digit."""
    digits = written.replace("-", "")
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    return digits[-1] == ("X" if check == 10 else str(check))


def ror(notes: Notes, pointer: str, value: Any) -> None:
    """An organisation's ROR id."""
    if not isinstance(value, str) or not _ROR.fullmatch(value.strip()):
        notes.error(pointer, f"{str(value)[:60]!r} is not a ROR id.", "Write it like 05dxps055.")


def anything(notes: Notes, pointer: str, value: Any) -> None:
    """A field that is kept as it is."""
