"""Facts as RDF: one pure function from what is known of a version to its named graph.

Profile: MLDCAT-AP 3.1 on DCAT 3, DCTERMS, PROV-O and EARL, with FAIR4ML and ML-Schema as aliases.
Whatever is told is a part of the version: its IRI, or a fragment of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hub.protocol import stored
from hub.protocol.facts import Facts
from hub.protocol.vocabularies import DENOTED_MODALITIES, TASKS
from metadata.graphs import (
    assertions,
    benchmarks,
    card_statements,
    datasets,
    declared_inputs,
    entity_labels,
    evaluations,
    metrics,
    onnx_facts,
    origins,
    rounds,
    training,
)
from metadata.graphs.datasets import dataset_graph
from metadata.rdf import quads, terms
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import Graph
from metadata.rdf.terms import (
    ACCESS,
    DCAT,
    DCTERMS,
    EARL,
    FAIR4ML,
    FOAF,
    IT6,
    MLS,
    OWL,
    PROV,
    RDFS,
    SCHEMA,
    SKOS,
    SPDX,
)

if TYPE_CHECKING:
    from metadata.graphs.facts import AgentFacts, FileFacts, ModelFacts, VariantFacts, VersionFacts
    from metadata.graphs.references import Entity

__all__ = ["catalogue_graph", "dataset_graph", "entity_graph", "model_graph", "version_graph"]
# Characters of a description: the whole card is one of the version's files.
LONGEST = 20_000
_MADE_BY = {"upgrade": "Conversion", "convert": "Quantization"}


def version_graph(of: VersionFacts, home: str) -> str:
    """The named graph of a version of the hub at ``home``, as canonical N-Quads."""
    places = Places(home)
    version = places.version(of.namespace, of.name, of.number)
    graph = Graph(graph_of(version))
    publisher = places.agent(of.namespace)
    _identity(graph, places, version, of)
    _description(graph, places, version, of)
    graph.add(version, places.term("licenceExpression"), quads.string(of.license_expression))
    names = datasets.Names(places, version, of)
    card_statements.tell(graph, places, version, of.card)
    datasets.tell_uses(graph, version, of.card, names)
    evaluations.tell_claims(graph, version, of.card, publisher, names)
    for measured in of.measured:
        evaluations.tell_measured(graph, version, measured, names)
    for file in of.files:
        _file(graph, places, version, file)
    training.tell(graph, places, version, of)
    origins.tell(graph, version, of.card)
    rounds.tell(graph, places, version, of)
    _modalities(graph, places, version, of)
    _file_claims(graph, places, version, of)
    for index, variant in enumerate(of.variants):
        _variant(graph, places, version, variant)
        onnx_facts.tell(graph, places, _variant_iri(version, variant.name), version, variant)
        if index == 0:
            onnx_facts.tell(graph, places, version, version, variant)
    declared_inputs.tell(graph, places, version, of.card, of.variants, of.files)
    main = of.variants[0].name if of.variants else ""
    for check in of.checks:
        assertions.tell_check(graph, places, version, check)
    for result in of.results:
        subject = version if result.variant == main else _variant_iri(version, result.variant)
        assertions.tell_result(graph, places, version, subject, result)
        here = f"{version}#conf-{result.key}"
        evaluations.tell_figures(graph, places, subject, here, result.figures, here)
    for run in of.benchmarks:
        subject = version if run.variant == main else _variant_iri(version, run.variant)
        benchmarks.tell(graph, places, version, subject, run)
    return graph.text()


def model_graph(of: ModelFacts, home: str) -> str:
    """The named graph of a model: its place in the catalogue and its versions."""
    places = Places(home)
    model = places.model(of.namespace.name, of.name)
    graph = Graph(graph_of(model))
    publisher = places.agent(of.namespace.name)
    ref = f"{of.namespace.name}/{of.name}"
    graph.add(places.catalogue, f"{DCAT}resource", quads.link(model))
    graph.type(model, f"{DCAT}Resource")
    graph.add(model, f"{DCTERMS}title", quads.words(ref))
    graph.add(model, f"{DCTERMS}identifier", quads.string(ref))
    graph.add(model, f"{DCTERMS}publisher", quads.link(publisher))
    graph.add(model, f"{DCTERMS}created", quads.moment(of.created_at))
    graph.add(model, f"{DCTERMS}issued", quads.moment(of.published_at))
    graph.add(model, f"{DCTERMS}description", quads.words(of.summary))
    _subject(graph, places, model, of)
    if _is_conflict(of.licenses, of.card_licenses):
        graph.add(model, places.term("licenceConflict"), quads.truth(True))
    for number in of.versions:
        version = places.version(of.namespace.name, of.name, number)
        graph.add(model, f"{DCAT}hasVersion", quads.link(version))
    for former in of.former:
        graph.add(
            model, f"{DCTERMS}replaces", quads.link(places.model(former.namespace, former.name))
        )
        for number in former.versions:
            before = places.version(former.namespace, former.name, number)
            version = places.version(of.namespace.name, of.name, number)
            graph.add(version, f"{DCTERMS}replaces", quads.link(before))
    if of.newest is not None:
        newest = places.version(of.namespace.name, of.name, of.newest)
        graph.add(model, f"{DCAT}hasCurrentVersion", quads.link(newest))
    return graph.text()


def catalogue_graph(home: str) -> str:
    """The graph of the hub itself: catalogue, tasks, tests, formats; each model joins it.

    That a model belongs to the catalogue is told in the model's graph, so that a new model costs
    one small graph and never a rewriting of them all.
    """
    places = Places(home)
    graph = Graph(places.catalogue)
    catalogue = places.catalogue
    graph.type(catalogue, f"{DCAT}Catalog")
    graph.add(catalogue, f"{DCTERMS}title", quads.string("ONNX models of this hub", "en"))
    description = "Versioned ONNX models, each checked by the hub."
    graph.add(catalogue, f"{DCTERMS}description", quads.string(description, "en"))
    graph.add(catalogue, f"{DCTERMS}publisher", quads.link(places.worker))
    graph.add(catalogue, f"{FOAF}homepage", quads.link(f"{home}/"))
    for task in filter(lambda one: one.domain, TASKS.values()):
        for name in (task.name, task.domain):
            graph.type(places.task(name), f"{SKOS}Concept")
            graph.add(places.task(name), f"{SKOS}notation", quads.string(name))
            label = quads.string(name.replace("-", " "), "en")
            graph.add(places.task(name), f"{SKOS}prefLabel", label)
        broader = quads.link(places.task(task.domain))
        graph.add(places.task(task.name), f"{SKOS}broader", broader)
    for names, is_part_of in assertions.TESTS:
        test = places.test(*names)
        graph.type(test, f"{EARL}TestCase")
        graph.add(test, f"{DCTERMS}title", quads.string(" ".join(names), "en"))
        if is_part_of:
            graph.add(test, f"{DCTERMS}isPartOf", quads.link(places.test(*is_part_of)))
    entity_labels.tell(graph, places)
    return graph.text()


def entity_graph(entity: Entity, agent: AgentFacts | None, home: str) -> str:
    """The named graph of an agent, a licence or a metric; of nobody's where ``agent`` is None."""
    places = Places(home)
    graph = Graph(entity.graph(home))
    if entity.kind == "licences":
        entity_labels.licence(graph, places, entity.name)
    elif entity.kind == "metrics":
        metrics.tell(graph, places, entity.name)
    elif entity.is_worker:
        graph.type(places.worker, f"{FOAF}Agent", f"{PROV}SoftwareAgent", f"{EARL}Software")
        graph.add(places.worker, f"{FOAF}name", quads.string("ONNX Model Hub"))
    elif agent is not None:
        iri = places.agent(agent.name)
        kind = "Organization" if agent.organisation else "Person"
        graph.type(iri, f"{FOAF}Agent", f"{PROV}{kind}")
        graph.add(iri, f"{FOAF}name", quads.string(agent.title or agent.name))
    return graph.text()


def _identity(graph: Graph, places: Places, version: str, of: VersionFacts) -> None:
    uploader, publisher = places.agent(of.uploader), places.agent(of.namespace)
    model = places.model(of.namespace, of.name)
    graph.type(
        version,
        f"{IT6}MachineLearningModel",
        f"{FAIR4ML}MLModel",
        f"{MLS}Model",
        f"{DCAT}Resource",
        f"{PROV}Entity",
    )
    graph.add(
        version, f"{DCTERMS}identifier", quads.string(f"{of.namespace}/{of.name}@{of.number}")
    )
    graph.add(version, f"{DCAT}version", quads.string(of.number))
    graph.add(version, f"{SKOS}altLabel", quads.string(of.label))
    graph.add(version, f"{DCAT}isVersionOf", quads.link(model))
    if of.previous is not None:
        before = places.version(of.namespace, of.name, of.previous)
        graph.add(version, f"{DCAT}previousVersion", quads.link(before))
    graph.add(version, f"{DCTERMS}created", quads.moment(of.created_at))
    graph.add(version, f"{DCTERMS}issued", quads.moment(of.published_at))
    modified = of.ended_at or of.published_at or of.created_at
    graph.add(version, f"{DCTERMS}modified", quads.moment(modified))
    graph.add(version, f"{IT6}hasUploader", quads.link(uploader))
    graph.add(version, f"{FAIR4ML}sharedBy", quads.link(uploader))
    graph.add(version, f"{PROV}wasAttributedTo", quads.link(publisher))
    graph.add(version, f"{DCTERMS}publisher", quads.link(publisher))
    graph.add(version, places.term("manifestSha256"), quads.string(of.manifest_sha256))
    if of.state == "yanked":
        graph.add(version, f"{OWL}deprecated", quads.truth(True))
        graph.add(version, f"{SKOS}changeNote", quads.words(of.reason))


def _description(graph: Graph, places: Places, version: str, of: VersionFacts) -> None:
    for predicate in (f"{DCTERMS}title", f"{SCHEMA}name"):
        graph.add(version, predicate, quads.words(of.name))
    fallback = of.variants[0].facts.doc if of.variants else ""
    told = str(of.body or of.summary or fallback or "")
    shown = told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"
    graph.add(version, f"{DCTERMS}description", quads.words(shown))
    graph.add(version, f"{IT6}shortDescription", quads.words(of.summary))
    _subject(graph, places, version, of)


def _subject(graph: Graph, places: Places, of_iri: str, of: VersionFacts | ModelFacts) -> None:
    """Licence, access, task and keywords of a model or a version; no licence is told too."""
    licences = [places.licence(name) for name in of.licenses or ("",)]
    graph.add(of_iri, f"{DCTERMS}license", *map(quads.link, licences))
    rights = f"{ACCESS}{'RESTRICTED' if of.is_gated else 'PUBLIC'}"
    graph.add(of_iri, f"{DCTERMS}accessRights", quads.link(rights))
    for predicate in (f"{FAIR4ML}mlTask", f"{DCTERMS}type"):
        graph.add(of_iri, predicate, quads.link(places.task(of.task)))
    graph.add(of_iri, f"{DCAT}keyword", *map(quads.words, of.keywords))


def _file(graph: Graph, places: Places, version: str, of: FileFacts) -> None:
    file = _file_iri(version, of.path)
    checksum = f"{version}#sha256-{quads.part(of.path, '/')}"
    graph.add(version, f"{DCAT}distribution", *([] if of.derived else [quads.link(file)]))
    graph.add(version, f"{IT6}hasFile", quads.link(file))
    graph.type(file, f"{IT6}File", f"{DCAT}Resource", f"{PROV}Entity")
    for predicate in (f"{DCTERMS}title", f"{DCTERMS}identifier"):
        graph.add(file, predicate, quads.string(of.path))
    for predicate in (f"{DCAT}downloadURL", f"{IT6}url"):
        graph.add(file, predicate, quads.link(file))
    if of.source:
        graph.add(file, f"{PROV}wasDerivedFrom", quads.link(_file_iri(version, of.source)))
        graph.add(file, f"{PROV}wasAttributedTo", quads.link(places.worker))
    graph.add(file, f"{DCAT}byteSize", quads.count(of.size_bytes))
    graph.add(file, f"{SPDX}checksum", quads.link(checksum))
    graph.type(checksum, f"{SPDX}Checksum")
    graph.add(checksum, f"{SPDX}algorithm", quads.link(f"{SPDX}checksumAlgorithm_sha256"))
    graph.add(checksum, f"{SPDX}checksumValue", quads.typed(of.sha256, "hexBinary"))
    graph.add(file, f"{DCTERMS}format", quads.link(entity_labels.format_of(places, of.path)))


def _modalities(graph: Graph, places: Places, version: str, of: VersionFacts) -> None:
    """What goes in and out: as the main variant denotes it, else as the declared task implies."""
    main = of.variants[0].facts if of.variants else Facts()
    task = TASKS.get(of.task.strip().lower())
    sides = (
        (f"{IT6}hasInputModality", main.inputs, task.inputs if task else ()),
        (f"{IT6}hasOutputModality", main.outputs, task.outputs if task else ()),
    )
    for predicate, ports, by_task in sides:
        words = [DENOTED_MODALITIES.get(port.denotation.upper(), "") for port in ports]
        for name in sorted(filter(None, words)) or by_task:
            graph.add(version, predicate, quads.link(places.modality(name)))


def _file_claims(graph: Graph, places: Places, version: str, of: VersionFacts) -> None:
    """Author and licence as the file itself has them, and whether the card says otherwise."""
    props = of.variants[0].facts.properties if of.variants else {}
    author, licence = (props.get(f"model_{what}", "") for what in ("author", "license"))
    graph.add(version, places.term("authorInFile"), quads.string(author))
    if licence.strip():
        named = quads.link(places.licence(licence))
        graph.add(version, places.term("licenceInFile"), named)
    if _is_conflict(of.licenses, (licence,)):
        graph.add(version, places.term("licenceConflict"), quads.truth(True))


def _is_conflict(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether no licence is on both sides; of names that SPDX does not know nobody can tell."""
    ids, theirs = ([terms.spdx_id(name) for name in names] for names in (some, others))
    if not (ids and theirs and all(ids) and all(theirs)):
        return False
    return not any(terms.is_same_licence(one, other) for one in ids for other in theirs)


def _variant(graph: Graph, places: Places, version: str, of: VariantFacts) -> None:
    variant = _variant_iri(version, of.name)
    graph.add(version, places.term("hasVariant"), quads.link(variant))
    graph.type(variant, places.term("Variant"), f"{PROV}Entity")
    graph.add(variant, f"{DCTERMS}title", quads.string(of.name))
    graph.add(variant, places.term("variantOrigin"), quads.string(of.origin))
    graph.add(variant, places.term("proofStrength"), quads.string(of.proof_strength))
    graph.add(variant, places.term("proofStatement"), quads.string(of.proof_sentence))
    graph.add(variant, f"{DCAT}distribution", quads.link(_file_iri(version, of.entry)))
    if not of.source:
        return
    made = f"{version}#generation-{quads.part(of.name)}"
    source = quads.link(_variant_iri(version, of.source))
    graph.add(variant, f"{PROV}wasDerivedFrom", source)
    graph.add(variant, f"{PROV}wasGeneratedBy", quads.link(made))
    graph.add(variant, f"{PROV}wasAttributedTo", quads.link(places.worker))
    task = str(of.derivation.get("task", ""))
    kind = "Conversion" if of.derivation.get("recipe") == "fp16" else _MADE_BY.get(task, "")
    graph.type(made, f"{PROV}Activity", f"{MLS}Run", *([places.term(kind)] if kind else []))
    graph.add(made, f"{PROV}used", source)
    graph.add(made, f"{PROV}wasAssociatedWith", quads.link(places.worker))
    here = f"{version}#parity-{quads.part(of.name)}"
    evaluations.tell_figures(graph, places, variant, here, _parity(of.derivation), made)
    graph.add(made, places.term("recipe"), quads.string(of.derivation.get("recipe")))
    if of.job is not None:
        graph.add(made, f"{PROV}startedAtTime", quads.moment(of.job.started_at))
        graph.add(made, f"{PROV}endedAtTime", quads.moment(of.job.finished_at))
        graph.add(made, f"{RDFS}seeAlso", quads.link(places.job(of.job.uuid)))


def _parity(derivation: dict[str, Any]) -> list[Any]:
    """The worst figures of a derived variant against its source, as upgrades or conversions have.

    What a conversion measured on made inputs alone stays out: they go where no data goes.
    """
    told = stored.mapping(derivation.get("parity"))
    worst = stored.mapping(told.get("worst")) or told
    return [worst] if worst else []


def _file_iri(version: str, path: str) -> str:
    return f"{version}/files/{quads.part(path, '/')}"


def _variant_iri(version: str, name: str) -> str:
    return f"{version}#variant-{quads.part(name)}"
