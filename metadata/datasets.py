"""Data sets: the graph of one that is described here, and what a card claims of those it names.

A version points at a data set of this hub itself, and at a part of its own where its card claims
something: nobody's triples tell of what is another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metadata import declarations, quads
from metadata.places import Places, graph_of
from metadata.quads import Graph
from metadata.terms import DCAT, DCTERMS, DPV, FAIR4ML, IT6, OWL, PD, PROV
from registry import mentions, personal_data

if TYPE_CHECKING:
    from metadata.facts import DatasetFacts, VersionFacts

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
    """Finds what a name in a card means: a data set of this hub, of the world, or nothing known."""

    def __init__(self, places: Places, of: VersionFacts) -> None:
        self.places = places
        self._known = {
            key: places.dataset(entry.slug) for entry in of.entries for key in entry.keys
        }

    def entry(self, *names: str) -> str:
        """The data set of this hub that one of ``names`` is; empty where none is."""
        found = (self._known.get(mentions.key(name)) for name in names if name)
        return next((iri for iri in found if iri), "")

    def iri(self, *names: str) -> str:
        """The IRI of a data set, whether or not this hub knows more of it."""
        foreign = (quads.foreign(mentions.name(name)) for name in names if name)
        plain = (self.places.dataset(name) for name in names if name)
        found = (self.entry(*names), *foreign, *plain)
        return next((iri for iri in found if iri), "")


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
    graph.add(dataset, f"{OWL}sameAs", quads.link(quads.foreign(of.iri)))
    graph.add(dataset, f"{DCTERMS}created", quads.moment(of.created_at))
    graph.add(dataset, f"{DCTERMS}modified", quads.moment(of.updated_at))
    for predicate in (f"{DCTERMS}publisher", f"{PROV}wasAttributedTo"):
        graph.add(dataset, predicate, quads.link(publisher))
    graph.add(dataset, f"{DCTERMS}license", quads.link(places.licence(of.license)))
    declarations.licence(graph, places, of.license)
    graph.add(dataset, f"{IT6}dataProvenance", quads.words(of.source))
    graph.add(dataset, f"{IT6}numberOfDatapoints", quads.count(of.rows))
    graph.add(dataset, f"{DCAT}byteSize", quads.count(of.size_bytes))
    if of.collected_on is not None:
        day = quads.typed(of.collected_on.isoformat(), "date")
        graph.add(dataset, f"{IT6}collectionDate", day)
    _personal(graph, dataset, of.personal_data, of.categories, of.legal_basis)
    title = of.publisher.title or of.publisher.name
    declarations.agent(graph, publisher, title, organisation=of.publisher.organisation)
    return graph.text()


def tell_uses(graph: Graph, version: str, card: dict[str, Any], names: Names) -> None:
    """Tell of the data that a card says a version learned from and was tried on."""
    detailed = {name for row in mappings(card.get("training_data")) for name in _written(row)}
    for field, predicates in _USES.items():
        rows = _rows(card.get(field))
        if field == "datasets":
            rows = [row for row in rows if not detailed & set(_written(row))]
        for row in rows[:LISTED]:
            _use(graph, version, predicates, row, card.get("personal_data"), names)
    if card.get("personal_data") is not None and not _trained_on(card):
        nameless = _USES["training_data"]
        _use(graph, version, nameless, {}, card["personal_data"], names)


def mappings(said: Any) -> list[dict[str, Any]]:
    """The mappings of a list, whatever else is in it; none where it is no list."""
    return [row for row in said if isinstance(row, dict)] if isinstance(said, list) else []


def _trained_on(card: dict[str, Any]) -> bool:
    return any(_rows(card.get(field)) for field in ("training_data", "datasets"))


def _rows(said: Any) -> list[dict[str, Any]]:
    """Names and mappings alike as mappings."""
    rows = said if isinstance(said, list) else [said]
    plain = [
        {"name": str(row)} if isinstance(row, str | int | float) else row
        for row in rows
        if isinstance(row, dict) or (isinstance(row, str | int | float) and str(row).strip())
    ]
    return [row for row in plain if row]


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
    written = [_doi(str(row[field])) for field in ("iri", "doi", "url", "name") if row.get(field)]
    entry = names.entry(*written)
    if entry:
        for predicate in predicates:
            graph.add(version, predicate, quads.link(entry))
        told = {key for key, value in row.items() if value not in (None, "", [])} - set(_NAMES)
        if not told and not _says(general):
            return
    shown = str(row.get("name") or row.get("iri") or row.get("doi") or row.get("url") or "").strip()
    node = f"{version}#data-{quads.part(shown.lower())}" if shown else f"{version}#data"
    for predicate in predicates:
        graph.add(version, predicate, quads.link(node))
    graph.type(node, f"{DCAT}Dataset")
    graph.add(node, f"{DCTERMS}title", quads.words(shown))
    graph.add(node, f"{PROV}specializationOf", quads.link(names.iri(*written)))
    _claims(graph, node, row, names)
    _told(graph, node, row, general)


def _claims(graph: Graph, node: str, row: dict[str, Any], names: Names) -> None:
    if row.get("license"):
        licence = names.places.licence(str(row["license"]))
        graph.add(node, f"{DCTERMS}license", quads.link(licence))
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
