"""What names in cards mean: the one rule for how a name leads to an entry of this hub.

A name leads to an entry of the card's own namespace, to one that is named by its address here, and
to one that a maintainer of the model confirmed; to nothing else. Anyone may register a name that
other people's cards hold already; what they publish under it must not change those cards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Lower

from registry.cards import mentions
from registry.models import Dataset, Mention, NameConfirmation, RegisteredModel, Version
from registry.models.registered_models import listed_for_everybody

_HUGGINGFACE = "https://huggingface.co"
# An id of Hugging Face, whose cards name models and data sets so (hub-docs, repositories).
_ID = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,94}[A-Za-z0-9])?/[\w.-]{1,96}", re.ASCII)
_MODELS = 200


def datasets_of(model: RegisteredModel, names: Iterable[str]) -> dict[str, Dataset]:
    """The entries that names in a model's cards mean, by the key of each name that has one.

    A withdrawn entry is still what a card means.
    """
    keys = {mentions.key(name) for name in names} - {""}
    if not keys:
        return {}
    addressed = {key: slug for key in keys if (slug := _slug(key))}
    confirmations = NameConfirmation.objects.filter(
        model=model, kind=Mention.Kind.DATASET, name__in=keys
    )
    confirmed = dict(confirmations.values_list("name", "dataset"))
    rows = Dataset.objects.alias(same=Lower("iri"))
    rows = rows.filter(
        Q(slug__in={*addressed.values(), *keys}) | Q(pk__in=confirmed.values()) | Q(same__in=keys)
    )
    entries: dict[str, Dataset] = {}
    for entry in rows.order_by("slug"):
        is_ours = entry.namespace_id == model.namespace_id
        names_of = set(mentions.keys_of(entry))
        for key in keys:
            if key in addressed:
                means = addressed[key] == entry.slug
            elif key in confirmed:
                means = confirmed[key] == entry.pk
            else:
                means = is_ours and key in names_of
            if means:
                entries[key] = entry
    return entries


def like(dataset: Dataset) -> QuerySet[Mention]:
    """The names in submitted cards that mean a data set, or did before it or its names changed."""
    return Mention.objects.filter(kind=Mention.Kind.DATASET, name__in=_names_of([dataset]))


def meanings(datasets: Sequence[Dataset]) -> QuerySet[Any]:
    """The names in submitted cards that mean one of some data sets, each with its ``meaning``."""
    confirmed = NameConfirmation.objects.filter(
        model=OuterRef("version__model"), kind=Mention.Kind.DATASET, name=OuterRef("name")
    )
    whens = [
        *(When(name=address_key(dataset), then=Value(dataset.pk)) for dataset in datasets),
        When(confirmed__isnull=False, then=F("confirmed")),
        *(
            When(
                name__in=mentions.keys_of(dataset),
                version__model__namespace=dataset.namespace_id,
                then=Value(dataset.pk),
            )
            for dataset in datasets
        ),
    ]
    rows = Mention.objects.filter(kind=Mention.Kind.DATASET, name__in=_names_of(datasets))
    rows = rows.annotate(confirmed=Subquery(confirmed.values("dataset")[:1]))
    rows = rows.annotate(meaning=Case(*whens, output_field=IntegerField()))
    return rows.filter(meaning__in=[dataset.pk for dataset in datasets])


def models_of(
    model: RegisteredModel, names: Iterable[str], visible: QuerySet[RegisteredModel]
) -> dict[str, int]:
    """The models that names in a model's cards mean, among those ``visible``: by name their keys.

    ``names`` are of the form `namespace/name`, without a number, in lower case.
    """
    keys = set(names)
    confirmed = {name: pk for (_, name), pk in confirmed_models([model.pk], keys).items()}
    visible_keys = set(visible.filter(pk__in=confirmed.values()).values_list("pk", flat=True))
    models = {name: pk for name, pk in confirmed.items() if pk in visible_keys}
    own = {name for name in keys - confirmed.keys() if is_own(model, name)}
    if own:
        rows = visible.filter(namespace=model.namespace_id).alias(own=Lower("name"))
        rows = rows.filter(own__in={name.partition("/")[2] for name in own})
        here = {
            f"{model.namespace.slug}/{name}".lower(): pk
            for name, pk in rows.values_list("name", "pk")[:_MODELS]
        }
        if lacking := own - here.keys():
            former = visible.filter(former_names__name__in=lacking)
            here |= dict(former.values_list("former_names__name", "pk")[:_MODELS])
        models |= {name: pk for name, pk in here.items() if name in own}
    return models


def models_named(visible: QuerySet[RegisteredModel], names: set[str]) -> dict[str, int]:
    """Keys of the visible models with these names, former ones included.

    ``names`` are of the form `namespace/name` in lower case; others mean no model.
    """
    names = {name for name in names if name.count("/") == 1}
    if not names:
        return {}
    spaces, own = zip(*(name.split("/") for name in names), strict=True)
    rows = (
        visible.alias(space=Lower("namespace__slug"), own=Lower("name"))
        .filter(space__in=set(spaces), own__in=set(own))
        .values_list("namespace__slug", "name", "pk")[:_MODELS]
    )
    models = {f"{space}/{name}".lower(): pk for space, name, pk in rows}
    if missing := names - models.keys():
        former = visible.filter(former_names__name__in=missing)
        models |= dict(former.values_list("former_names__name", "pk")[:_MODELS])
    return {name: pk for name, pk in models.items() if name in names}


def is_own(model: RegisteredModel, name: str) -> bool:
    """Whether `namespace/name` is in the namespace of a model's cards."""
    return name.partition("/")[0] == model.namespace.slug.lower()


def confirmed_models(models: Iterable[int], names: Iterable[str]) -> dict[tuple[int, str], int]:
    """What maintainers of some models confirmed names of base models to mean."""
    rows = NameConfirmation.objects.filter(
        kind=Mention.Kind.MODEL, model__in=set(models), name__in=set(names)
    )
    return {(model, name): base for model, name, base in rows.values_list("model", "name", "base")}


def undecided(version: Version, names: Iterable[str]) -> set[str]:
    """Of names `namespace/name` in a version's card those that may mean a model of this hub.

    Where they mean none that the reader may see, it is not known that one elsewhere is meant.
    """
    keys = set(names)
    own = {name for name in keys if is_own(version.model, name)}
    confirmed = {name for _, name in confirmed_models([version.model_id], keys)}
    return own | confirmed | _namesakes(keys, before=version.created_at)


def _namesakes(names: Iterable[str], *, before: datetime) -> set[str]:
    """Of names `namespace/name` those that a public model of this hub had at a time, or has had.

    A model that comes later changes nothing that older cards say.
    """
    keys = set(names)
    if not keys:
        return set()
    public = RegisteredModel.objects.filter(listed_for_everybody(), created_at__lt=before)
    spaces, own = zip(*(name.split("/", 1) for name in keys), strict=True)
    rows = public.alias(space=Lower("namespace__slug"), own=Lower("name"))
    here = rows.filter(space__in=spaces, own__in=own).values_list("namespace__slug", "name")
    former = public.filter(former_names__name__in=keys).values_list("former_names__name")
    names = {f"{space}/{name}".lower() for space, name in here} | {name for (name,) in former}
    return names & keys


def elsewhere(written: str, *, dataset: bool = False) -> str:
    """The address at Hugging Face of what a card names by an id of theirs; empty for other names.

    Only for names that mean nothing here.
    """
    text = written.strip()
    if not _ID.fullmatch(text):
        return ""
    return f"{_HUGGINGFACE}/datasets/{text}" if dataset else f"{_HUGGINGFACE}/{text}"


def address_key(dataset: Dataset) -> str:
    """The key of a data set's address at this hub."""
    return mentions.key(f"{settings.HUB_PUBLIC_URL}/datasets/{dataset.slug}")


def _slug(key: str) -> str:
    """The slug in a key that is the address of a data set of this hub; empty for other keys."""
    ours = f"{settings.HUB_PUBLIC_URL}/datasets/".lower()
    return unquote(key.removeprefix(ours)) if key.startswith(ours) else ""


def _names_of(datasets: Sequence[Dataset]) -> set[str]:
    """Every key under which cards name some data sets."""
    confirmed = NameConfirmation.objects.filter(dataset__in=datasets).values_list("name", flat=True)
    names = {
        key for dataset in datasets for key in (*mentions.keys_of(dataset), address_key(dataset))
    }
    return names | set(confirmed)
