"""Which data sets and models a card names, kept beside its version from its submission on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from hub.protocol.cards import Card, CardDataset
from registry.models import Dataset, Mention, Version
from registry.models.mentions import NAME_CHARACTERS

MOST = 400
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


def name(written: str) -> str:
    """A name as it should be kept: a DOI as its address, whatever way it was written.

    A former address of this hub is the present one.
    """
    text = written.strip()
    for url in settings.HUB_FORMER_URLS:
        if text.lower().startswith(f"{url}/".lower()):
            return settings.HUB_PUBLIC_URL + text[len(url) :]
    doi = _DOI.fullmatch(text)
    return f"https://doi.org/{doi[1]}" if doi else text


def key(written: str) -> str:
    """What a name is compared by, whatever its case."""
    return name(written).lower()[:NAME_CHARACTERS]


def keys_of(dataset: Dataset) -> list[str]:
    """The keys under which cards may name a data set."""
    return [dataset.slug, *([key(dataset.iri)] if dataset.iri else [])]


def dataset_names(card: Card) -> list[str]:
    """The data sets that a card names, as it writes them: what was learned from or tried on."""
    tried = (*card.validated_on, *card.tested_on, *card.evaluated_on)
    return [*training_names(card), *_names(tried)]


def training_names(card: Card) -> list[str]:
    """The data sets that a card names as those that the model was trained on."""
    return _names((*card.datasets, *card.training_data))


def _names(datasets: Iterable[CardDataset]) -> list[str]:
    return [
        name
        for mention in datasets
        for name in (mention.iri, mention.name, mention.type, mention.id)
        if name
    ]


def datasets_in(card: Card) -> set[str]:
    """The keys of the data sets that a card names."""
    return _keys(dataset_names(card))


def models_in(card: Card) -> set[str]:
    """The keys of the models that a card is based on, without version or variant."""
    return {name.partition("@")[0] for name in _keys(card.base_models)} - {""}


def note(version: Version) -> None:
    """Keep what a version's card names; what an earlier card of it named is forgotten."""
    names = [
        *(("dataset", name) for name in sorted(datasets_in(version.typed_card))),
        *(("model", name) for name in sorted(models_in(version.typed_card))),
    ]
    Mention.objects.filter(version=version).delete()
    Mention.objects.bulk_create(
        [Mention(version=version, kind=kind, name=name) for kind, name in names[:MOST]]
    )


def follow_address() -> int:
    """Note again what cards name by a former address of this hub; returns of how many versions."""
    named = Q()
    for url in settings.HUB_FORMER_URLS:
        named |= Q(name__startswith=f"{url}/".lower())
    versions = Mention.objects.filter(named).values_list("version", flat=True) if named else []
    rows = Version.objects.filter(pk__in=versions)
    for version in rows:
        with transaction.atomic():
            note(version)
    return len(rows)


def _keys(names: Iterable[str]) -> set[str]:
    return {key(name) for name in names} - {""}
