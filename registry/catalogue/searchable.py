"""What of a version can be asked for in a search, beside the columns of its document.

Cards and the facts of files have whatever shape others gave them: what has another one says
nothing. The graphs tell the same of the same rows, so that both give one answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from hub.protocol import stored
from registry.cards import licences, mentions, resolution
from registry.catalogue import tags

if TYPE_CHECKING:
    from hub.protocol.facts import Facts
    from registry.models import Variant, Version

Fact = tuple[str, str]
Reader = Callable[["Version"], Iterable[Fact]]

VALUE_CHARACTERS = 96
# Values of onnx docs/MetadataProps.md, whose keys and values are compared without case.
_PIXEL_FORMAT = "image.bitmappixelformat"
PIXEL_FORMATS = ("Gray8", "Rgb8", "Bgr8", "Rgba8", "Bgra8")
EVIDENCE = ("carbon", "federated", "upgrade")
PERSONAL_DATA = ("yes", "no", "anonymised", "unknown")

# Words of a row that are names; whatever else it holds is a claim.
_NAMES = frozenset({"name", "iri", "url", "doi", "id"})

_readers: list[Reader] = []


def contribute(reader: Reader) -> None:
    """Have ``reader`` tell more facts of a version, from rows that this room does not know.

    Use ``documents.contribute``, which also listens to what changes those rows.
    """
    if reader not in _readers:
        _readers.append(reader)


def facts_of(version: Version, main: Variant | None) -> set[Fact]:
    """Each fact of a version as (group, value); ``main`` is the variant that a list shows."""
    found = {
        *(("personal_data", status) for status in personal_data(version)),
        *([("evidence", "carbon")] if training_carbon_kg(version.card) is not None else []),
        *([("evidence", "federated")] if hasattr(version, "federated_round") else []),
        *((tags.GROUP, word) for word in tags.of_card(version.card)),
        *(("license", name) for name in several_licences(version)),
        *(fact for reader in _readers for fact in reader(version)),
    }
    if main is not None:
        found |= {("operator", one.title) for one in main.typed_facts.operators}
        found |= {("evidence", "upgrade")} if _is_upgraded(version, main) else set()
        found |= {("pixel_format", name) for name in pixel_formats(main.typed_facts)}
    return {(group, value) for group, value in found if value and len(value) <= VALUE_CHARACTERS}


def several_licences(version: Version) -> tuple[str, ...]:
    """The licences of a version in lower case, where it has more than one; else none."""
    card = stored.mapping(version.card)
    names = licences.named(card.get("license") or version.model.license)
    return tuple(name.lower() for name in names) if len(names) > 1 else ()


def _is_upgraded(version: Version, main: Variant) -> bool:
    """Whether a variant stands ready that was brought to a higher opset than the main one has."""
    own = main.opset
    return own is not None and any(
        row.origin == "upgraded" and row.is_chosen and row.opset is not None and row.opset > own
        for row in version.variants.all()
    )


def training_carbon_kg(card: Any) -> float | None:
    """Kilograms of CO2e that training took, from the grams of a Hugging Face card; None if untold.

    Source: Hugging Face hub-docs, model-cards-co2.
    """
    said = card.get("co2_eq_emissions") if isinstance(card, dict) else None
    grams = said.get("emissions") if isinstance(said, dict) else said
    if isinstance(grams, bool) or not isinstance(grams, int | float | str):
        return None
    try:
        found = float(grams)
    except (ValueError, OverflowError):
        return None
    return found / 1000 if math.isfinite(found) and found >= 0 else None


def pixel_formats(facts: Facts) -> list[str]:
    """What an image input's pixels are, as ONNX spells it."""
    value = facts.properties.get(_PIXEL_FORMAT, "").strip().lower()
    return [word for word in PIXEL_FORMATS if word.lower() == value]


def personal_data(version: Version) -> set[str]:
    """The statuses of the data that a card says were trained on, each one of PERSONAL_DATA.

    What an entry here tells of a data set counts beside what the card claims of it, where the
    card's name for it means that entry; what the card says of all its data goes for those of which
    it says nothing else.
    """
    card = version.card
    if not isinstance(card, dict):
        return set()
    general = card.get("personal_data")
    rows = _training_rows(card)
    known = resolution.datasets_of(version.model, (name for row in rows for name in _names(row)))
    found = set()
    for row in rows:
        matched = (known.get(mentions.key(name)) for name in _names(row))
        entry = next((entry for entry in matched if entry), None)
        if entry is not None:
            found.add(str(entry.personal_data))
        claims = {key for key, value in row.items() if value not in (None, "", [])} - _NAMES
        if entry is None or claims or _status(general) != "unknown":
            found.add(_status(row.get("personal_data", general)))
    return found or ({_status(general)} if general is not None else set())


def _training_rows(card: dict[str, Any]) -> list[dict[str, Any]]:
    """Each data set of a card's training as a mapping; ``training_data`` tells more of one."""
    detailed, plain = mentions.rows(card.get("training_data")), mentions.rows(card.get("datasets"))
    told = {mentions.key(name) for row in detailed for name in _names(row)}
    return [
        *detailed,
        *(row for row in plain if not told & {mentions.key(name) for name in _names(row)}),
    ]


def _names(row: dict[str, Any]) -> list[str]:
    """The names of a row, the IRI first."""
    found = (str(row[field]) for field in ("iri", "doi", "url", "name") if row.get(field))
    return [f"doi:{name}" if name.startswith("10.") else name for name in found if name.strip()]


def _status(said: Any) -> str:
    """YAML makes booleans of yes and no; a mapping has the word as its status."""
    word = said.get("status") if isinstance(said, dict) else said
    if isinstance(word, bool):
        word = "yes" if word else "no"
    found = str(word).strip().lower()
    return found if found in PERSONAL_DATA else "unknown"
