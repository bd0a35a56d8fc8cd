"""Data sets: the graph of one that is described here, and what a card claims of those it names.

A version points at a data set of this hub itself where its card means that, and at a part of its
own where its card claims something: no one's triples describe what is another's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from hub.protocol import stored
from hub.protocol.cards import Result, dataset_rows, results, texts
from metadata.graphs import entity_labels, tombstones
from metadata.graphs.facts import DatasetFacts, DatasetVersionFacts, FileFacts, VersionFacts
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import count, foreign, link, moment, part, string, typed, words
from registry.cards import data_categories, licences, mentions, resolution

LONGEST_LIST = 200
# Fields of a card that list data sets -> the terms that say what was done with them.
_USES = {
    "training_data": "it6:trainedOn fair4ml:trainedOn",
    "datasets": "it6:trainedOn fair4ml:trainedOn",
    "validated_on": "it6:validatedOn fair4ml:validatedOn",
    "tested_on": "it6:testedOn fair4ml:testedOn",
}
# What a card may say of personal data -> the term and class of DPV; "unknown" is neither.
PERSONAL_DATA = {
    "yes": ("dpv:hasPersonalData", "dpv:PersonalData"),
    "no": ("dpv:hasData", "dpv:NonPersonalData"),
    "anonymised": ("dpv:hasData", "dpv:AnonymisedData"),
}
# Fields of a row that are names; the others are claims.
_NAMES = ("iri", "doi", "url", "name", "id")


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
        # Key of a name -> all names that the card has for the same thing, in its order.
        self._same: dict[str, list[str]] = {}
        for names in _named(of.card):
            self._note(names)

    def entry(self, *names: str) -> str:
        """The data set of this hub that one of ``names`` is; empty where none is."""
        keys = (mentions.key(alias) for alias in self._aliases(*names))
        return next((self._entries[key] for key in keys if key in self._entries), "")

    def part(self, *names: str) -> str:
        """The part of the version that stands for a data set, whose names these are."""
        label = next(iter(self._aliases(*names)), "")
        return f"{self._version}#data" + (f"-{part(label.lower())}" if label else "")

    def iri(self, *names: str) -> str:
        """The IRI of a data set; empty without a name."""
        return self.entry(*names) or (self.part(*names) if any(map(str.strip, names)) else "")

    def describe(self, graph: Graph, *names: str) -> None:
        """State which data set a part of the version is, as far as its names tell."""
        aliases = self._aliases(*names)
        addresses = [self.places.elsewhere(mentions.name(name)) for name in aliases]
        addresses += [resolution.elsewhere(name, dataset=True) for name in aliases]
        same = self.entry(*names) or next(filter(None, addresses), "")
        title = words(aliases[0] if aliases else "")
        facts = {"dcterms:title": title, "prov:specializationOf": link(same)}
        graph.describe(self.part(*names), "dcat:Dataset", facts)

    def _aliases(self, *names: str) -> list[str]:
        """All names of what these name, in the card's order."""
        return [
            alias
            for name in names
            if name.strip()
            for alias in self._same.get(mentions.key(name), [name])
        ]

    def _note(self, names: list[str]) -> None:
        """Join what the card says elsewhere of one of these names."""
        groups = [self._same.get(mentions.key(name), []) for name in names]
        joined = list(dict.fromkeys([*itertools.chain.from_iterable(groups), *names]))
        for name in joined:
            self._same[mentions.key(name)] = joined


def dataset_graph(of: DatasetFacts, home: str) -> str:
    """The named graph of a data set that is described here: its owner's word."""
    places = Places(home)
    dataset = places.dataset(of.slug)
    graph = Graph(graph_of(dataset), places)
    same = foreign(of.iri)
    day = typed(of.collected_on.isoformat(), "date") if of.collected_on else ""
    _claims(graph, dataset, of)
    if of.withdrawal is not None:
        tombstones.describe(graph, dataset, of.withdrawal)
        return graph.text()
    graph.add(places.catalogue, "dcat:dataset", link(dataset))
    graph.state(
        dataset,
        {
            "dcterms:description": words(of.description),
            # No entry is the same as a thing of this hub, which has an owner of its own.
            "owl:sameAs": "" if same.startswith(f"{home}/") else link(same),
            "dcterms:modified": moment(of.updated_at),
            "it6:dataProvenance": words(of.source),
            "it6:numberOfDatapoints": count(of.rows),
            "dcat:byteSize": count(of.size_bytes),
            "it6:collectionDate": day,
        },
    )
    for version in of.versions:
        _version(graph, dataset, of, version)
    for newest in of.versions[:1]:
        node = dataset_version(dataset, newest.number)
        graph.add(dataset, "dcat:hasCurrentVersion", link(node))
        for file in newest.files:
            graph.add(dataset, "dcat:distribution", link(_file_of(node, file.path)))
    return graph.text()


def _claims(graph: Graph, dataset: str, of: DatasetFacts) -> None:
    """What stays true of a data set when it is withdrawn: its name, publisher and claims."""
    places = graph.places
    graph.describe(
        dataset,
        "dcat:Dataset dcat:Resource prov:Entity",
        {
            "dcterms:title": words(of.title),
            "dcterms:identifier": string(of.slug),
            "dcterms:created": moment(of.created_at),
            "dcterms:publisher prov:wasAttributedTo": link(places.agent(of.publisher.name)),
            "dcterms:license": [link(places.licence(name)) for name in of.licenses or ("",)],
        },
    )
    _personal(graph, dataset, of.personal_data, of.categories, of.legal_basis)


def dataset_version(dataset: str, number: int) -> str:
    """The IRI of a version of the data set with this IRI."""
    return f"{dataset}#v{number}"


def dataset_split(dataset: str, number: int, name: str) -> str:
    """The IRI of a split of a version of the data set with this IRI."""
    return f"{dataset_version(dataset, number)}-split-{part(name)}"


def _file_of(version: str, path: str) -> str:
    return f"{version}-file-{part(path, '/')}"


def _version(graph: Graph, dataset: str, of: DatasetFacts, version: DatasetVersionFacts) -> None:
    """Describe a version, its files, and its splits as parts of it."""
    node = dataset_version(dataset, version.number)
    graph.describe_part(
        dataset,
        "dcat:hasVersion",
        node,
        "dcat:Dataset dcat:Resource prov:Entity",
        {
            "dcterms:title": words(f"{of.title}, version {version.number}"),
            "dcterms:description": words(version.message),
            "dcterms:identifier": string(f"sha256:{version.sha256}"),
            "dcat:isVersionOf": link(dataset),
            "dcat:version": string(str(version.number)),
            "dcterms:issued": moment(version.created_at),
            "dcterms:license": [link(graph.places.licence(name)) for name in of.licenses or ("",)],
        },
    )
    for file in version.files:
        _distribution(graph, node, of.slug, version.number, file)
    for name, paths in version.splits:
        split = dataset_split(dataset, version.number, name)
        graph.describe_part(
            node,
            "dcterms:hasPart",
            split,
            "dcat:Dataset dcat:Resource prov:Entity",
            {
                "dcterms:title": words(name),
                "dcterms:isPartOf": link(node),
                "dcat:distribution": [link(_file_of(node, path)) for path in paths],
            },
        )


def _distribution(graph: Graph, version: str, slug: str, number: int, of: FileFacts) -> None:
    node = _file_of(version, of.path)
    address = f"{graph.places.home}/api/v1/datasets/{slug}/versions/{number}"
    graph.describe_part(
        version,
        "dcat:distribution",
        node,
        "dcat:Distribution",
        {
            "dcterms:title": string(of.path),
            "dcat:downloadURL": link(f"{address}/files/{part(of.path, '/')}"),
            "dcat:byteSize": count(of.size_bytes),
            "dcterms:format": link(entity_labels.format_of(graph.places, of.path)),
        },
    )
    graph.add_checksum(node, f"{version}-sha256-{part(of.path, '/')}", of.sha256)


def describe_uses(graph: Graph, version: str, card: dict[str, Any], names: Names) -> None:
    """Describe the data that a card says a version was trained and tested on."""
    general = card.get("personal_data")
    detailed = {key for row in stored.rows(card.get("training_data")) for key in _keys(row)}
    for field, predicates in _USES.items():
        rows = dataset_rows(card.get(field))
        if field == "datasets":
            rows = [row for row in rows if not detailed & set(_keys(row))]
        for row in rows[:LONGEST_LIST]:
            _use(graph, version, predicates, row, general, names)
    has_training_data = any(
        dataset_rows(card.get(field)) for field in ("training_data", "datasets")
    )
    if general is not None and not has_training_data:
        _use(graph, version, _USES["training_data"], {}, general, names)


def result_names(result: Result) -> list[str]:
    """The names of the data set that a reported result is on: its id first, if it has one."""
    return list(map(_doi, result.names))


def _named(card: dict[str, Any]) -> Iterator[list[str]]:
    """The names of each data set that a card names: the one that titles it first."""
    for field in _USES:
        for row in dataset_rows(card.get(field))[:LONGEST_LIST]:
            if names := _titles(row):
                yield names
    for result in itertools.islice(results(card), LONGEST_LIST):
        if names := result_names(result):
            yield names[:1]


def _titles(row: dict[str, Any]) -> list[str]:
    """The names of a row: the one for people first, then its addresses."""
    names = [str(row[field]) for field in ("name", "iri", "doi", "url") if row.get(field)]
    return [_doi(name.strip()) for name in names if name.strip()]


def _keys(row: dict[str, Any]) -> list[str]:
    """The names of a row in the form in which they are compared, the IRI first."""
    names = [str(row[field]) for field in _NAMES if row.get(field)]
    return [mentions.key(_doi(name)) for name in names if name.strip()]


def _doi(name: str) -> str:
    return f"doi:{name}" if name.startswith("10.") else name


def _use(
    graph: Graph, version: str, predicates: str, row: dict[str, Any], general: Any, names: Names
) -> None:
    """Describe a use: of the data set itself, and of a part where the card claims more of it.

    ``general`` is what the card claims of personal data in all of its data sets.
    """
    titles = _titles(row)
    entry = names.entry(*titles)
    if entry:
        graph.add(version, predicates, link(entry))
        claims = {key for key, value in row.items() if value not in (None, "", [])} - {*_NAMES}
        if not claims and _status(general) not in PERSONAL_DATA:
            return
    node = names.part(*titles)
    graph.add(version, predicates, link(node))
    names.describe(graph, *titles)
    licenses = licences.named(*texts(row.get("license")))
    graph.state(
        node,
        {
            "dcterms:license": [link(graph.places.licence(name)) for name in licenses],
            "dcterms:description": words(row.get("note")),
            "it6:dataProvenance": words(row.get("source")),
            "it6:numberOfDatapoints": count(row.get("rows")),
            "hub:split": string(row.get("split")),
            "dcat:version": string(row.get("version")),
            "it6:collectionDate": string(row.get("collected")),
        },
    )
    personal = row.get("personal_data", general)
    whole = stored.mapping(personal)
    categories = row.get("categories") or whole.get("categories")
    basis = row.get("legal_basis") or whole.get("legal_basis")
    _personal(
        graph,
        node,
        _status(personal),
        [
            data_categories.category(item)
            for item in (categories if isinstance(categories, list) else [categories])
            if isinstance(item, str)
        ],
        data_categories.legal_basis(basis) if isinstance(basis, str) else "",
    )


def _status(personal: Any) -> str:
    """YAML makes booleans of yes and no; a mapping has the word as its status."""
    word = personal.get("status") if isinstance(personal, dict) else personal
    if isinstance(word, bool):
        return "yes" if word else "no"
    return str(word).strip().lower()


def _personal(graph: Graph, node: str, status: str, categories: Iterable[str], basis: str) -> None:
    """State whether data are personal, of which categories, and on which legal basis."""
    predicate, kind = PERSONAL_DATA.get(status, ("", ""))
    graph.add(node, predicate, graph.term(kind))
    if status != "yes":
        return
    for name in categories:
        if name in data_categories.CATEGORIES:
            graph.add(node, predicate, graph.term(f"pd:{name}"))
        if name in data_categories.SPECIAL:
            graph.add(node, predicate, graph.term("dpv:SpecialCategoryPersonalData"))
    if basis in data_categories.LEGAL_BASES:
        graph.add(node, "dpv:hasLegalBasis", graph.term(f"dpv:{basis}"))
