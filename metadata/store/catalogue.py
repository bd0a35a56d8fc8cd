"""The catalogue as harvesters read it: pages of models in DCAT 3, and a view in DCAT-AP.

The graph of the hub and those of its public models are put together; nothing is told that they do
not tell, but where the next page and the dump are. Sources: DCAT 3, DCAT-AP 3.0 (a catalogue lists
dcat:Dataset), the Hydra vocabulary for pages, VoID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from django.conf import settings

from metadata.models import GraphReference, NamedGraph
from metadata.rdf import quads
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import Graph
from metadata.rdf.terms import DCAT, DCTERMS, FOAF, PREFIXES, RDF, SPDX
from metadata.store import dump

if TYPE_CHECKING:
    from django.db.models import QuerySet

PAGE = 50
HYDRA = "http://www.w3.org/ns/hydra/core#"
VOID = "http://rdfs.org/ns/void#"
# A harvester's view: each model is a data set too, whose distributions are its newest files.
DCAT_AP = "dcat-ap"
_EXAMPLES = 3
_TYPE = f"<{RDF}type>"
_IANA = "https://www.iana.org/assignments/media-types/"


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
    shown = rows[:PAGE]
    graphs = [row.nquads for row in shown]
    if profile == DCAT_AP:
        graphs = [
            _as_dataset(places, row.iri.removesuffix("/metadata"), row.nquads) for row in shown
        ]
    told = Graph(places.catalogue)
    first = _address("", profile)
    last = shown[-1].iri.removesuffix("/metadata") if shown else ""
    following = _address(last, profile) if len(rows) > PAGE else ""
    here = places.home + _address(after, profile)
    _tell_page(told, places, here, places.home + first, following)
    _tell_dump(told, places)
    parts = ["" if after else _own(places), *graphs, *_named_in(shown), told.text()]
    lines = {line for text in parts for line in text.splitlines(keepends=True)}
    return CataloguePage("".join(sorted(lines)), first, following)


def description() -> str:
    """The hub as a VoID data set: how large, in which vocabularies, where to get it."""
    places = Places(settings.HUB_PUBLIC_URL)
    home = places.home
    document = f"{home}/.well-known/void"
    whole = f"{document}#dataset"
    graph = Graph(document)
    graph.type(document, f"{VOID}DatasetDescription")
    graph.add(document, f"{FOAF}primaryTopic", quads.link(whole))
    graph.type(whole, f"{VOID}Dataset")
    graph.add(whole, f"{DCTERMS}title", quads.string("ONNX models of this hub", "en"))
    graph.add(whole, f"{FOAF}homepage", quads.link(f"{home}/"))
    graph.add(whole, f"{DCTERMS}publisher", quads.link(places.worker))
    graph.add(whole, f"{VOID}uriSpace", quads.string(f"{home}/"))
    graph.add(whole, f"{VOID}rootResource", quads.link(places.catalogue))
    graph.add(whole, f"{VOID}sparqlEndpoint", quads.link(f"{home}/sparql"))
    for feature in ("Turtle", "RDF_XML", "N-Triples", "JSON-LD"):
        graph.add(whole, f"{VOID}feature", quads.link(f"http://www.w3.org/ns/formats/{feature}"))
    for prefix in sorted({*PREFIXES.values(), places.term("")}):
        graph.add(whole, f"{VOID}vocabulary", quads.link(prefix))
    for row in _models()[:_EXAMPLES]:
        model = row.iri.removesuffix("/metadata")
        graph.add(whole, f"{VOID}exampleResource", quads.link(model))
    models = _models().count()
    graph.add(whole, f"{VOID}entities", quads.whole(models))
    made = dump.servable()
    if made is not None:
        graph.add(whole, f"{VOID}dataDump", quads.link(f"{home}/{dump.FILENAME}"))
        graph.add(whole, f"{VOID}triples", quads.whole(made.quads))
        graph.add(whole, f"{DCTERMS}modified", quads.typed(made.made_at, "dateTime"))
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
    told = {"profile": profile, "after": after}
    query = "&".join(f"{name}={quote(value, safe='/:')}" for name, value in told.items() if value)
    return f"/catalog?{query}" if query else "/catalog"


def _tell_page(graph: Graph, places: Places, here: str, first: str, following: str) -> None:
    catalogue = places.catalogue
    graph.add(catalogue, f"{HYDRA}totalItems", quads.whole(models_count()))
    if here == first and not following:
        return
    # The first page has the catalogue's own address: a fragment keeps the two apart.
    view = f"{here}#page"
    graph.add(catalogue, f"{HYDRA}view", quads.link(view))
    graph.type(view, f"{HYDRA}PartialCollectionView")
    graph.add(view, f"{HYDRA}first", quads.link(first))
    graph.add(view, f"{HYDRA}next", quads.link(following and places.home + following))


def _tell_dump(graph: Graph, places: Places) -> None:
    """The dump as a distribution of the catalogue, while it is one that may be had."""
    made = dump.servable()
    if made is None:
        return
    address = f"{places.home}/{dump.FILENAME}"
    file = f"{address}#distribution"
    checksum = f"{address}#sha256"
    graph.add(places.catalogue, f"{DCAT}distribution", quads.link(file))
    graph.type(file, f"{DCAT}Distribution")
    graph.add(file, f"{DCTERMS}title", quads.string("Nightly dump of all public graphs", "en"))
    graph.add(file, f"{DCAT}downloadURL", quads.link(address))
    graph.add(file, f"{DCAT}accessURL", quads.link(address))
    graph.add(file, f"{DCAT}mediaType", quads.link(f"{_IANA}{dump.MEDIA_TYPE}"))
    graph.add(file, f"{DCAT}compressFormat", quads.link(f"{_IANA}application/gzip"))
    graph.add(file, f"{DCAT}byteSize", quads.count(made.size))
    graph.add(file, f"{DCTERMS}modified", quads.typed(made.made_at, "dateTime"))
    graph.add(file, f"{SPDX}checksum", quads.link(checksum))
    graph.type(checksum, f"{SPDX}Checksum")
    graph.add(checksum, f"{SPDX}algorithm", quads.link(f"{SPDX}checksumAlgorithm_sha256"))
    graph.add(checksum, f"{SPDX}checksumValue", quads.typed(made.sha256, "hexBinary"))


def _as_dataset(places: Places, model: str, nquads: str) -> str:
    """A model's graph, and what makes it a data set for harvesters of DCAT-AP."""
    name = graph_of(model)
    graph = Graph(name)
    graph.add(places.catalogue, f"{DCAT}dataset", quads.link(model))
    graph.type(model, f"{DCAT}Dataset")
    graph.add(model, f"{DCAT}landingPage", quads.link(model))
    newest = _object(nquads, f"{DCAT}hasCurrentVersion")
    lines = _version_lines(newest) if newest else []
    licence = f"<{newest}> <{DCTERMS}license> "
    rights = [line.split(" ")[2] for line in lines if line.startswith(licence)]
    start = f"<{newest}> <{DCAT}distribution> "
    for line in lines:
        if not line.startswith(start):
            continue
        file = line.split(" ")[2][1:-1]
        graph.add(model, f"{DCAT}distribution", quads.link(file))
        graph.type(file, f"{DCAT}Distribution")
        graph.add(file, f"{DCAT}accessURL", quads.link(file))
        graph.add(file, f"{DCTERMS}license", *rights)
    told = graph.text()
    files = {line.split(" ")[2] for line in told.splitlines() if f"<{DCAT}distribution>" in line}
    of_files = [
        f"{line.rpartition(' <')[0]} <{name}> .\n" for line in lines if line.split(" ")[0] in files
    ]
    return nquads + told + "".join(of_files)


def _own(places: Places) -> str:
    """What the hub says of itself, of tasks, tests and the like: on the first page alone."""
    found = NamedGraph.objects.filter(iri=places.catalogue).values_list("nquads", flat=True)
    return found.first() or ""


def _named_in(rows: list[NamedGraph]) -> list[str]:
    """The graphs of the agents and licences that these graphs name."""
    named = GraphReference.objects.filter(graph__in=rows).values("iri")
    return list(NamedGraph.objects.filter(iri__in=named).values_list("nquads", flat=True))


def _version_lines(version: str) -> list[str]:
    found = NamedGraph.objects.filter(iri=graph_of(version)).values_list("nquads", flat=True)
    return (found.first() or "").splitlines()


def _object(nquads: str, predicate: str) -> str:
    mark = f" <{predicate}> <"
    return next(
        (line.split(mark, 1)[1].partition(">")[0] for line in nquads.splitlines() if mark in line),
        "",
    )
