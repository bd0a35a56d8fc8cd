"""Which data sets and models a card names, kept beside its version from its submission on.

A card's fields have whatever shape their author gave them: what has another one names nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from registry.models import Mention
from registry.models.mentions import NAME_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from registry.models import Dataset, Version

MOST = 400
# Fields whose items are names of data sets, or mappings with `name` and `iri`.
DATASET_FIELDS = ("datasets", "training_data", "validated_on", "tested_on")
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


def name(written: str) -> str:
    """A name as it should be kept: a DOI as its address, whatever way it was written."""
    text = written.strip()
    found = _DOI.fullmatch(text)
    return f"https://doi.org/{found[1]}" if found else text


def key(written: str) -> str:
    """What a name is compared by, whatever its case."""
    return name(written).lower()[:NAME_CHARACTERS]


def keys_of(dataset: Dataset) -> list[str]:
    """The keys under which cards may name a data set."""
    return [dataset.slug, *([key(dataset.iri)] if dataset.iri else [])]


def dataset_names(card: dict[str, Any]) -> list[str]:
    """The data sets that a card names, as it writes them: what was learned from or tried on."""
    fields = (one for field in DATASET_FIELDS for one in _names(card.get(field)))
    tried = (one for result in results(card) for one in _names([result.get("dataset")]))
    return [*fields, *tried]


def datasets_in(card: dict[str, Any]) -> set[str]:
    """The keys of the data sets that a card names."""
    return _keys(dataset_names(card))


def models_in(card: dict[str, Any]) -> set[str]:
    """The keys of the models that a card is based on, without version or variant."""
    return {found.partition("@")[0] for found in _keys(_names(card.get("base_model")))} - {""}


def note(version: Version) -> None:
    """Keep what a version's card names; what an earlier card of it named is forgotten."""
    named = [
        *(("dataset", found) for found in sorted(datasets_in(version.card))),
        *(("model", found) for found in sorted(models_in(version.card))),
    ]
    Mention.objects.filter(version=version).delete()
    Mention.objects.bulk_create(
        [Mention(version=version, kind=kind, name=found) for kind, found in named[:MOST]]
    )


def results(card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every result that a card reports: of `model-index` and of `eval_results`."""
    index = card.get("model-index")
    for row in index if isinstance(index, list) else ():
        results = row.get("results") if isinstance(row, dict) else None
        yield from (one for one in _listed(results) if isinstance(one, dict))
    yield from (one for one in _listed(card.get("eval_results")) if isinstance(one, dict))


def rows(said: Any) -> list[dict[str, Any]]:
    """The data sets that a field of a card names, names and mappings alike as mappings."""
    items = said if isinstance(said, list) else [said]
    plain = [
        {"name": str(row)} if isinstance(row, str | int | float) else row
        for row in items
        if isinstance(row, dict) or (isinstance(row, str | int | float) and str(row).strip())
    ]
    return [row for row in plain if row]


def _names(said: Any) -> Iterator[str]:
    for item in said if isinstance(said, list) else [said]:
        if isinstance(item, str | int | float):
            yield str(item)
        elif isinstance(item, dict):
            for field in ("iri", "name", "type", "id"):
                if isinstance(item.get(field), str):
                    yield item[field]


def _listed(said: Any) -> list[Any]:
    return said if isinstance(said, list) else []


def _keys(names: Iterable[str]) -> set[str]:
    return {found for one in names if (found := key(one))}
