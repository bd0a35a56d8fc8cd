"""The catalogue as harvesters read it: pages of models in DCAT 3, and a view in DCAT-AP.

The graph of the hub and those of its public models are put together; only the places of the next
page and of the dump are added. Sources: DCAT 3, DCAT-AP 3.0 (a catalogue lists dcat:Dataset), the
Hydra vocabulary for pages, VoID.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from django.conf import settings
from django.db.models import QuerySet

from hub.protocol.ports import Port
from metadata.models import GraphReference, NamedGraph
from metadata.rdf import quads
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import link, string, typed
from metadata.rdf.terms import DCAT, DCTERMS, PREFIXES
from metadata.store import dump, texts

PAGE = 50
HYDRA = "http://www.w3.org/ns/hydra/core#"
VOID = "http://rdfs.org/ns/void#"
# A harvester's view: each model is a data set too, whose distributions are its newest files.
DCAT_AP = "dcat-ap"
_EXAMPLES = 3
_IANA = "https://www.iana.org/assignments/media-types/"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A way to query all public graphs: its property in VoID, and its path on this hub."""

    term: str
    path: str


endpoints = Port(Endpoint)


@dataclass(frozen=True, slots=True)
class CataloguePage:
    """One page: its statements, and the addresses of the first and the next page."""

    nquads: str
    first: str
    following: str


def page(after: str = "", *, profile: str = "") -> CataloguePage:
    """The models after the IRI ``after`` (the first ones where it is empty), by IRI."""
    places = Places(settings.HUB_PUBLIC_URL)
    rows = list(_models().filter(iri__gt=graph_of(after) if after else "")[: PAGE + 1])
    entries = rows[:PAGE]
    graphs = [
        _as_dataset(places, iri.removesuffix(graph_of("")), text) if profile == DCAT_AP else text
        for iri, text in texts.readable((row.iri, row.nquads) for row in entries)
    ]
    graph = Graph(places.catalogue, places)
    first = _address("", profile)
    last = entries[-1].iri.removesuffix(graph_of("")) if entries else ""
    following = _address(last, profile) if len(rows) > PAGE else ""
    here = places.home + _address(after, profile)
    _describe_page(graph, here, places.home + first, following)
    _describe_dump(graph)
    # What the hub says of itself, of tasks, tests and the like is on the first page alone.
    own = "" if after else texts.of(places.catalogue)
    parts = [own, *graphs, *_named_in(entries), graph.text()]
    lines = {line for text in parts for line in text.splitlines(keepends=True)}
    return CataloguePage("".join(sorted(lines)), first, following)


def description() -> str:
    """The hub as a VoID data set: how large, in which vocabularies, where to get it."""
    places = Places(settings.HUB_PUBLIC_URL)
    home = places.home
    document = f"{home}/.well-known/void"
    whole = f"{document}#dataset"
    formats = ("Turtle", "RDF_XML", "N-Triples", "JSON-LD")
    models = [row.iri.removesuffix(graph_of("")) for row in _models()[:_EXAMPLES]]
    graph = Graph(document, places)
    graph.type(document, f"{VOID}DatasetDescription")
    graph.describe_part(
        document,
        "foaf:primaryTopic",
        whole,
        f"{VOID}Dataset",
        {
            "dcterms:title": string("ONNX models of this hub", "en"),
            "foaf:homepage": link(f"{home}/"),
            "dcterms:publisher": link(places.worker),
            f"{VOID}uriSpace": string(f"{home}/"),
            f"{VOID}rootResource": link(places.catalogue),
            **{endpoint.term: link(f"{home}/{endpoint.path}") for endpoint in endpoints},
            f"{VOID}feature": [link(f"http://www.w3.org/ns/formats/{name}") for name in formats],
            f"{VOID}vocabulary": map(link, [*PREFIXES.values(), places.term("")]),
            f"{VOID}exampleResource": map(link, models),
            f"{VOID}entities": quads.whole(models_count()),
        },
    )
    latest = dump.servable()
    if latest is not None:
        graph.state(
            whole,
            {
                f"{VOID}dataDump": link(f"{home}/{dump.FILENAME}"),
                f"{VOID}triples": quads.whole(latest.quads),
                "dcterms:modified": typed(latest.made_at, "dateTime"),
            },
        )
    return graph.text()


def models_count() -> int:
    """How many public models there are."""
    return _models().count()


def _models() -> QuerySet[NamedGraph]:
    """The graphs of public models, by IRI; versions' graphs know their version."""
    places = Places(settings.HUB_PUBLIC_URL)
    rows = NamedGraph.objects.filter(version=None, iri__startswith=f"{places.home}/models/")
    return rows.exclude(nquads="").exclude(iri__contains="/v/").order_by("iri")


def _address(after: str, profile: str) -> str:
    fields = {"profile": profile, "after": after}
    query = "&".join(f"{name}={quote(value, safe='/:')}" for name, value in fields.items() if value)
    return f"/catalog?{query}" if query else "/catalog"


def _describe_page(graph: Graph, here: str, first: str, following: str) -> None:
    places = graph.places
    graph.add(places.catalogue, f"{HYDRA}totalItems", quads.whole(models_count()))
    if here == first and not following:
        return
    # The first page has the catalogue's own address: a fragment keeps the two apart.
    view = f"{here}#page"
    graph.add(places.catalogue, f"{HYDRA}view", link(view))
    graph.type(view, f"{HYDRA}PartialCollectionView")
    graph.state(
        view,
        {f"{HYDRA}first": link(first), f"{HYDRA}next": link(following and places.home + following)},
    )


def _describe_dump(graph: Graph) -> None:
    """The dump as a distribution of the catalogue, while it can be downloaded."""
    latest = dump.servable()
    if latest is None:
        return
    address = f"{graph.places.home}/{dump.FILENAME}"
    file = f"{address}#distribution"
    graph.describe_part(
        graph.places.catalogue,
        "dcat:distribution",
        file,
        "dcat:Distribution",
        {
            "dcterms:title": string("Nightly dump of all public graphs", "en"),
            "dcat:downloadURL dcat:accessURL": link(address),
            "dcat:mediaType": link(f"{_IANA}{dump.MEDIA_TYPE}"),
            "dcat:compressFormat": link(f"{_IANA}application/gzip"),
            "dcat:byteSize": quads.count(latest.size),
            "dcterms:modified": typed(latest.made_at, "dateTime"),
        },
    )
    graph.add_checksum(file, f"{address}#sha256", latest.sha256)


def _as_dataset(places: Places, model: str, nquads: str) -> str:
    """A model's graph, and what makes it a data set for harvesters of DCAT-AP."""
    name = graph_of(model)
    graph = Graph(name, places)
    graph.describe_part(
        places.catalogue, "dcat:dataset", model, "dcat:Dataset", {"dcat:landingPage": link(model)}
    )
    newest = _object(nquads, f"{DCAT}hasCurrentVersion")
    lines = texts.of(graph_of(newest)).splitlines() if newest else []
    licence = f"<{newest}> <{DCTERMS}license> "
    rights = [line.split(" ")[2] for line in lines if line.startswith(licence)]
    start = f"<{newest}> <{DCAT}distribution> "
    files: set[str] = set()
    for line in lines:
        if not line.startswith(start):
            continue
        file = line.split(" ")[2][1:-1]
        files.add(f"<{file}>")
        graph.add(model, "dcat:distribution", link(file))
        facts = {"dcat:accessURL": link(file), "dcterms:license": rights}
        graph.describe(file, "dcat:Distribution", facts)
    of_files = [
        f"{line.rpartition(' <')[0]} <{name}> .\n" for line in lines if line.split(" ")[0] in files
    ]
    return nquads + graph.text() + "".join(of_files)


def _named_in(rows: list[NamedGraph]) -> list[str]:
    """The graphs of the agents and licences that these graphs name."""
    named = GraphReference.objects.filter(graph__in=rows).values("iri")
    graphs = NamedGraph.objects.filter(iri__in=named).values_list("iri", "nquads")
    return [text for _, text in texts.readable(graphs)]


def _object(nquads: str, predicate: str) -> str:
    mark = f" <{predicate}> <"
    return next(
        (line.split(mark, 1)[1].partition(">")[0] for line in nquads.splitlines() if mark in line),
        "",
    )
