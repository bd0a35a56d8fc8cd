"""Data sets: the graph of one that is described here, and what a card claims of those it names.

A version points at a data set of this hub itself where its card means that, and at a part of its
own where its card claims something: nobody's triples tell of what is another's.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from hub.protocol import stored
from metadata.rdf import quads
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import Graph
from metadata.rdf.terms import DCAT, DCTERMS, DPV, FAIR4ML, IT6, OWL, PD, PROV
from registry.cards import licences, mentions, personal_data, resolution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata.graphs.facts import DatasetFacts, VersionFacts

LISTED = 200
# Fields of a card that list data sets -> the terms that say what was done with them.
_USES = {
    "training_data": (f"{IT6}trainedOn", f"{FAIR4ML}trainedOn"),
    "datasets": (f"{IT6}trainedOn", f"{FAIR4ML}trainedOn"),
    "validated_on": (f"{IT6}validatedOn", f"{FAIR4ML}validatedOn"),
    "tested_on": (f"{IT6}testedOn", f"{FAIR4ML}testedOn"),
}
# What a card may say of personal data -> the term and class of DPV; "unknown" is neither.
_PERSONAL = {
    "yes": ("hasPersonalData", "PersonalData"),
    "no": ("hasData", "NonPersonalData"),
    "anonymised": ("hasData", "AnonymisedData"),
}
# Words of a row that are names; whatever else it holds is a claim.
_NAMES = ("name", "iri", "url", "doi", "id")


class Names:
    """Finds what a name in a card means: one IRI for all the names that a card has for one thing.

    It is that of a data set of this hub where the card means it, else a part of the version, which
    answers wherever the version does. ``of`` is what is known of the version.
    """

    def __init__(self, places: Places, version: str, of: VersionFacts) -> None:
        self.places = places
        self._version = version
        self._entries = {
            key: places.dataset(entry.slug) for entry in of.entries for key in entry.keys
        }
        # Key of a name -> the names under which the card tells of the same thing, in its order.
        self._same: dict[str, list[str]] = {}
        for names in _named(of.card):
            self._note(names)

    def entry(self, *names: str) -> str:
        """The data set of this hub that one of ``names`` is; empty where none is."""
        every = [one for name in names for one in self._all(name)]
        found = (self._entries.get(mentions.key(name)) for name in every)
        return next((iri for iri in found if iri), "")

    def part(self, *names: str) -> str:
        """The part of the version that stands for a data set, whose names these are."""
        shown = next((self._all(name)[0] for name in names if name.strip()), "")
        return f"{self._version}#data" + (f"-{quads.part(shown.lower())}" if shown else "")

    def iri(self, *names: str) -> str:
        """The IRI of a data set; empty without a name."""
        return self.entry(*names) or (self.part(*names) if any(map(str.strip, names)) else "")

    def describe(self, graph: Graph, *names: str) -> None:
        """Say which data set a part of the version is, as far as its names tell."""
        node = self.part(*names)
        every = [one for name in names for one in self._all(name)]
        foreign = [quads.foreign(mentions.name(name)) for name in every]
        theirs = [resolution.elsewhere(name, dataset=True) for name in every]
        same = self.entry(*names) or next(filter(None, [*foreign, *theirs]), "")
        graph.type(node, f"{DCAT}Dataset")
        graph.add(node, f"{DCTERMS}title", quads.words(every[0] if every else ""))
        graph.add(node, f"{PROV}specializationOf", quads.link(same))

    def _all(self, name: str) -> list[str]:
        return self._same.get(mentions.key(name), [name]) if name.strip() else []

    def _note(self, names: list[str]) -> None:
        """Join what the card says elsewhere of one of these names."""
        known = [group for name in names if (group := self._same.get(mentions.key(name)))]
        groups = list({id(group): group for group in known}.values())
        joined = list(dict.fromkeys([*(one for group in groups for one in group), *names]))
        for name in joined:
            self._same[mentions.key(name)] = joined


def dataset_graph(of: DatasetFacts, home: str) -> str:
    """The named graph of a data set that is described here: its owner's word."""
    places = Places(home)
    dataset, publisher = places.dataset(of.slug), places.agent(of.publisher.name)
    graph = Graph(graph_of(dataset))
    graph.add(places.catalogue, f"{DCAT}dataset", quads.link(dataset))
    graph.type(dataset, f"{DCAT}Dataset", f"{DCAT}Resource", f"{PROV}Entity")
    graph.add(dataset, f"{DCTERMS}title", quads.words(of.title))
    graph.add(dataset, f"{DCTERMS}description", quads.words(of.description))
    graph.add(dataset, f"{DCTERMS}identifier", quads.string(of.slug))
    same = quads.foreign(of.iri)
    # Nobody's entry is the same as a thing of this hub, which has an owner of its own.
    graph.add(dataset, f"{OWL}sameAs", quads.link("" if same.startswith(f"{home}/") else same))
    graph.add(dataset, f"{DCTERMS}created", quads.moment(of.created_at))
    graph.add(dataset, f"{DCTERMS}modified", quads.moment(of.updated_at))
    for predicate in (f"{DCTERMS}publisher", f"{PROV}wasAttributedTo"):
        graph.add(dataset, predicate, quads.link(publisher))
    terms_of_use = [places.licence(name) for name in of.licenses or ("",)]
    graph.add(dataset, f"{DCTERMS}license", *map(quads.link, terms_of_use))
    graph.add(dataset, f"{IT6}dataProvenance", quads.words(of.source))
    graph.add(dataset, f"{IT6}numberOfDatapoints", quads.count(of.rows))
    graph.add(dataset, f"{DCAT}byteSize", quads.count(of.size_bytes))
    if of.collected_on is not None:
        day = quads.typed(of.collected_on.isoformat(), "date")
        graph.add(dataset, f"{IT6}collectionDate", day)
    _personal(graph, dataset, of.personal_data, of.categories, of.legal_basis)
    return graph.text()


def tell_uses(graph: Graph, version: str, card: dict[str, Any], names: Names) -> None:
    """Tell of the data that a card says a version learned from and was tried on."""
    detailed = {name for row in stored.rows(card.get("training_data")) for name in _written(row)}
    for field, predicates in _USES.items():
        rows = mentions.rows(card.get(field))
        if field == "datasets":
            rows = [row for row in rows if not detailed & set(_written(row))]
        for row in rows[:LISTED]:
            _use(graph, version, predicates, row, card.get("personal_data"), names)
    if card.get("personal_data") is not None and not _trained_on(card):
        nameless = _USES["training_data"]
        _use(graph, version, nameless, {}, card["personal_data"], names)


def _trained_on(card: dict[str, Any]) -> bool:
    return any(mentions.rows(card.get(field)) for field in ("training_data", "datasets"))


def _named(card: dict[str, Any]) -> Iterator[list[str]]:
    """The names of each data set that a card speaks of: the one that is shown first."""
    for field in _USES:
        for row in mentions.rows(card.get(field))[:LISTED]:
            if names := _shown(row):
                yield names
    for result in itertools.islice(mentions.results(card), LISTED):
        if names := result_names(result):
            yield names[:1]


def result_names(result: dict[str, Any]) -> list[str]:
    """The names of the data set that a reported result is on: its id first, if it has one."""
    said = result.get("dataset")
    on = said if isinstance(said, dict) else {"name": said}
    named = (on.get(field) for field in ("type", "id", "name"))
    return [_doi(one.strip()) for one in named if isinstance(one, str) and one.strip()]


def _shown(row: dict[str, Any]) -> list[str]:
    """The names of a row: the one for people first, then its addresses."""
    found = [str(row[field]) for field in ("name", "iri", "doi", "url") if row.get(field)]
    return [_doi(name.strip()) for name in found if name.strip()]


def _written(row: dict[str, Any]) -> list[str]:
    """The names of a row in the form in which they are compared, the IRI first."""
    found = [str(row[field]) for field in ("iri", "doi", "url", "name", "id") if row.get(field)]
    return [mentions.key(_doi(name)) for name in found if name.strip()]


def _doi(name: str) -> str:
    return f"doi:{name}" if name.startswith("10.") else name


def _use(
    graph: Graph,
    version: str,
    predicates: tuple[str, ...],
    row: dict[str, Any],
    general: Any,
    names: Names,
) -> None:
    """Tell of a use: of the data set itself, and of a part where the card claims more of it."""
    shown = _shown(row)
    entry = names.entry(*shown)
    if entry:
        for predicate in predicates:
            graph.add(version, predicate, quads.link(entry))
        told = {key for key, value in row.items() if value not in (None, "", [])} - set(_NAMES)
        if not told and not _says(general):
            return
    node = names.part(*shown)
    for predicate in predicates:
        graph.add(version, predicate, quads.link(node))
    names.describe(graph, *shown)
    _claims(graph, node, row, names)
    _told(graph, node, row, general)


def _claims(graph: Graph, node: str, row: dict[str, Any], names: Names) -> None:
    if row.get("license"):
        terms_of_use = map(names.places.licence, licences.named(row["license"]))
        graph.add(node, f"{DCTERMS}license", *map(quads.link, terms_of_use))
    graph.add(node, f"{DCTERMS}description", quads.words(row.get("note")))
    graph.add(node, f"{IT6}dataProvenance", quads.words(row.get("source")))
    graph.add(node, f"{IT6}numberOfDatapoints", quads.count(row.get("rows")))
    graph.add(node, names.places.term("split"), quads.string(row.get("split")))
    graph.add(node, f"{DCAT}version", quads.string(row.get("version")))
    graph.add(node, f"{IT6}collectionDate", quads.string(row.get("collected")))


def _told(graph: Graph, node: str, row: dict[str, Any], general: Any) -> None:
    """What is claimed of personal data: by the row, else by the card for all of them."""
    said = row.get("personal_data", general)
    whole = said if isinstance(said, dict) else {}
    categories = row.get("categories") or whole.get("categories")
    basis = row.get("legal_basis") or whole.get("legal_basis")
    named = categories if isinstance(categories, list) else [categories]
    _personal(
        graph,
        node,
        _status(said),
        [personal_data.category(one) for one in named if isinstance(one, str)],
        personal_data.legal_basis(basis) if isinstance(basis, str) else "",
    )


def _says(said: Any) -> bool:
    return _status(said) in _PERSONAL


def _status(said: Any) -> str:
    """YAML makes booleans of yes and no; a mapping has the word as its status."""
    word = said.get("status") if isinstance(said, dict) else said
    if isinstance(word, bool):
        return "yes" if word else "no"
    return str(word).strip().lower()


def _personal(graph: Graph, node: str, word: str, categories: Any, basis: str) -> None:
    predicate, kind = _PERSONAL.get(word, ("", ""))
    if not predicate:
        return
    graph.add(node, f"{DPV}{predicate}", quads.link(f"{DPV}{kind}"))
    if word != "yes":
        return
    for name in categories:
        if name in personal_data.CATEGORIES:
            graph.add(node, f"{DPV}hasPersonalData", quads.link(f"{PD}{name}"))
        if name in personal_data.SPECIAL:
            special = quads.link(f"{DPV}SpecialCategoryPersonalData")
            graph.add(node, f"{DPV}hasPersonalData", special)
    if basis in personal_data.LEGAL_BASES:
        graph.add(node, f"{DPV}hasLegalBasis", quads.link(f"{DPV}{basis}"))
