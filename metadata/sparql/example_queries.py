"""Eighteen SPARQL 1.1 queries on the public graphs: the examples of the query page.

The files of `queries` hold them. They ask of the newest published version of each model where they
list models, so that each is there once. The version, data set and device class of a query are
public ones of this hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from django.contrib.auth.models import AnonymousUser

from metadata.rdf import quads
from metadata.rdf.iris import Places, graph_of
from metadata.sparql.listing import prologue
from registry.cards import mentions, resolution
from registry.models import Mention, Version
from registry.models.registered_models import listed_for_everybody
from runners.benchmarks import selectors
from runners.models import Measurement


@dataclass(frozen=True, slots=True)
class ExampleQuery:
    """A query with its permalink's word, its title, and one sentence on what it answers."""

    slug: str
    title: str
    words: str
    query: str


def _read(file: Path) -> ExampleQuery:
    """A query as its file has it: the first comment is its title, the others its sentence."""
    header, _, query = file.read_text(encoding="utf-8").partition("\n\n")
    title, _, *words = (line.removeprefix("#").strip() for line in header.splitlines())
    return ExampleQuery(file.stem.partition("-")[2], title, " ".join(words), query.strip())


# {H} is the hub's address, {V} a version, {G} its graph, {D} a data set, {C} a device class;
# prefixes are added where they are used.
_QUERIES = tuple(_read(file) for file in sorted(Path(__file__).parent.glob("queries/*.rq")))


def all_of(home: str) -> tuple[ExampleQuery, ...]:
    """Every query for the hub at ``home``, with public subjects."""
    return filled(home, about(home))


def find(slug: str, home: str) -> ExampleQuery | None:
    """The query of that name, with public subjects at ``home``."""
    if slug not in {query.slug for query in _QUERIES}:
        return None
    return next(query for query in all_of(home) if query.slug == slug)


def filled(home: str, subject: Mapping[str, str]) -> tuple[ExampleQuery, ...]:
    """Every query on ``subject``: the IRIs of a version ``V`` and of a data set ``D``.

    And that of a device class ``C``; without one, a class without devices is used.
    """
    values = {"H": home, "G": graph_of(subject["V"]), "C": f"{home}/devices/none", **subject}
    return tuple(replace(example, query=_filled(example.query, values)) for example in _QUERIES)


def about(home: str) -> dict[str, str]:
    """The subjects of the queries: the newest public version that names a base, or any.

    And the data set that the newest public card names. Where there are none yet, the first sample
    and its data set are used.
    """
    places = Places(home)
    rows = Version.objects.filter(listed_for_everybody("model__"), state__in=Version.SERVED)
    newest = rows.select_related("model__namespace").order_by("-pk")
    bases = Mention.objects.filter(kind=Mention.Kind.MODEL).values("version")
    version = newest.filter(pk__in=bases).first() or newest.first()
    named = Mention.objects.filter(kind=Mention.Kind.DATASET, version__in=rows).order_by("-pk")
    mention = named.select_related("version__model__namespace").first()
    return {
        "V": places.version(version.model.namespace.slug, version.model.name, version.number)
        if version
        else places.version("zoo", "digits-cnn", 1),
        "D": _dataset(places, mention) if mention else "https://doi.org/10.24432/C50P49",
        "C": places.device(_device()),
    }


def _device() -> str:
    """The device class on which a public model was measured last."""
    rows = selectors.trusted(AnonymousUser()).filter(status=Measurement.Status.ACCEPTED)
    newest = rows.order_by("-pk").values_list("device", flat=True)[:1]
    return next(iter(newest), "none")


def _dataset(places: Places, mention: Mention) -> str:
    """The IRI that graphs use for results on a data set that a card names."""
    model = mention.version.model
    names = mentions.dataset_names(mention.version.typed_card)
    name = next(
        (candidate for candidate in names if mentions.key(candidate) == mention.name), mention.name
    )
    for entry in resolution.datasets_of(model, [name]).values():
        return places.dataset(entry.slug)
    iri = quads.foreign(mentions.name(name)) or resolution.elsewhere(name, dataset=True)
    version = places.version(model.namespace.slug, model.name, mention.version.number)
    return iri or f"{version}#data-{quads.part(mention.name)}"


def _filled(query: str, values: Mapping[str, str]) -> str:
    """A query with its values, below the prefixes that it uses."""
    for name, value in values.items():
        query = query.replace(f"{{{name}}}", value)
    prefixes = prologue(query, values["H"]).removesuffix("\n")
    return f"{prefixes}{query}\n"
