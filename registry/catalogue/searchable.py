"""What of a version can be asked for in a search, beside the columns of its document.

The graphs are made from the same rows, so that both give one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hub.protocol import filters
from hub.protocol.cards import Card, CardDataset
from hub.protocol.facts import Facts
from registry.cards import licences, mentions, resolution
from registry.catalogue import tags
from registry.catalogue.query import Query
from registry.models import DocumentFact, Variant, Version

Fact = tuple[str, str]
Reader = Callable[["Version"], Iterable[Fact]]

VALUE_CHARACTERS = 96
# Values of onnx docs/MetadataProps.md, whose keys and values are compared without case.
_PIXEL_FORMAT = "image.bitmappixelformat"

_EVIDENCE = filters.EVIDENCE.name
_readers: list[Reader] = []


def contribute(reader: Reader) -> None:
    """Have ``reader`` give more facts of a version, from rows that this room does not know.

    Use ``documents.contribute``, which also listens to what changes those rows.
    """
    if reader not in _readers:
        _readers.append(reader)


def facts_of(version: Version, main: Variant | None) -> set[Fact]:
    """Each fact of a version as (group, value); ``main`` is the variant that a list shows."""
    card = version.typed_card
    facts = {
        *((filters.PERSONAL_DATA.name, status) for status in personal_statuses(version)),
        *([(filters.WITHDRAWN_DATA.name, "yes")] if uses_withdrawn_data(version) else []),
        *((filters.RISK.name, word) for word in _risk_words(card)),
        *([(_EVIDENCE, "carbon")] if card.emissions.grams is not None else []),
        *((tags.GROUP, word) for word in tags.of_card(card)),
        *((filters.LICENCE.name, name) for name in several_licences(version)),
        *(fact for reader in _readers for fact in reader(version)),
    }
    if main is not None:
        facts |= {(filters.OPERATOR.name, row.title) for row in main.typed_facts.operators}
        facts |= {(_EVIDENCE, "upgrade")} if _is_upgraded(version, main) else set()
        facts |= {(filters.PIXEL_FORMAT.name, name) for name in pixel_formats(main.typed_facts)}
    return {(group, value) for group, value in facts if value and len(value) <= VALUE_CHARACTERS}


def several_licences(version: Version) -> tuple[str, ...]:
    """The licences of a version in lower case, where it has more than one; else none."""
    names = licences.named(*(version.typed_card.licenses or (version.model.license,)))
    return tuple(name.lower() for name in names) if len(names) > 1 else ()


def _is_upgraded(version: Version, main: Variant) -> bool:
    """Whether a variant stands ready that was brought to a higher opset than the main one has."""
    own = main.opset
    return own is not None and any(
        row.origin == "upgraded" and row.is_chosen and row.opset is not None and row.opset > own
        for row in version.variants.all()
    )


def pixel_formats(facts: Facts) -> list[str]:
    """What an image input's pixels are, as ONNX spells it."""
    value = facts.properties.get(_PIXEL_FORMAT, "").strip().lower()
    return [word for word in filters.PIXEL_FORMATS if word.lower() == value]


def personal_statuses(version: Version) -> set[str]:
    """The statuses of the data that a card says were trained on, each one of PERSONAL_DATA.

    What an entry here states of a data set counts beside what the card claims of it, where the
    card's name for it means that entry; what the card says of all its data goes for those of which
    it says nothing else.
    """
    card = version.typed_card
    datasets = _trained_on(card)
    entries = resolution.datasets_of(
        version.model, (name for dataset in datasets for name in dataset.names)
    )
    statuses = set()
    for dataset in datasets:
        matches = (entries.get(mentions.key(name)) for name in dataset.names)
        entry = next((entry for entry in matches if entry), None)
        if entry is not None:
            statuses.add(str(entry.personal_data))
        general = card.personal_data or "unknown"
        if entry is None or dataset.is_described or general != "unknown":
            statuses.add(dataset.personal_data or general)
    return statuses or ({card.personal_data} if card.personal_data else set())


def _risk_words(card: Card) -> set[str]:
    """The values of the filter of risks that a card has."""
    severities = {risk.severity.lower() for risk in card.risks} & filters.RISK.values.keys()
    unmitigated = {"unmitigated" for risk in card.risks if not risk.mitigation}
    return severities | unmitigated | {"stated" if card.risks else "unstated"}


def uses_withdrawn_data(version: Version) -> bool:
    """Whether a version was trained on a data set of this hub that was withdrawn."""
    entries = resolution.datasets_of(version.model, mentions.training_names(version.typed_card))
    return any(entry.withdrawn_at is not None for entry in entries.values())


def asks_of_data(query: Query) -> bool:
    """Whether a query asks for the data that models were trained on."""
    return bool(query[filters.PERSONAL_DATA] or query[filters.WITHDRAWN_DATA])


def documents_on_withdrawn_data(pks: Iterable[int]) -> set[int]:
    """Of some documents those of models that were trained on withdrawn data."""
    rows = DocumentFact.objects.filter(document__in=pks, group=filters.WITHDRAWN_DATA.name)
    return set(rows.values_list("document", flat=True))


def _trained_on(card: Card) -> list[CardDataset]:
    """Each data set of a card's training; ``training_data`` is more detailed."""
    detailed = {mentions.key(name) for dataset in card.training_data for name in dataset.names}
    return [
        *card.training_data,
        *(
            dataset
            for dataset in card.datasets
            if not detailed & {mentions.key(name) for name in dataset.names}
        ),
    ]
