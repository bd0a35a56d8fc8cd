"""Facts as RDF: one pure function from the facts of a version to its named graph.

Profile: MLDCAT-AP 3.1 on DCAT 3, DCTERMS, PROV-O and EARL, with FAIR4ML and ML-Schema as aliases.
Every subject is a part of the version: its IRI, or a fragment of it.
"""

from __future__ import annotations

import dataclasses

from hub.protocol import arithmetic, phrases, stored
from hub.protocol.facts import Facts
from hub.protocol.variants import DERIVATIONS
from hub.protocol.vocabularies import DENOTED_MODALITIES, TASKS, task_name
from metadata.graphs import (
    assertions,
    card_statements,
    datasets,
    declared_inputs,
    entity_labels,
    evaluations,
    metrics,
    onnx_facts,
    origins,
    tombstones,
    training,
)
from metadata.graphs.datasets import dataset_graph
from metadata.graphs.facts import (
    AgentFacts,
    DeprecationFacts,
    FileFacts,
    ModelFacts,
    VariantFacts,
    VersionFacts,
    WithdrawalFacts,
)
from metadata.graphs.references import Entity
from metadata.rdf import terms
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, file_of, graph_of, variant_of
from metadata.rdf.quads import count, link, moment, part, string, truth, words
from metadata.rdf.terms import ACCESS

__all__ = [
    "catalogue_graph",
    "dataset_graph",
    "entity_graph",
    "model_graph",
    "version_graph",
]
# Characters of a description: the whole card is one of the version's files.
LONGEST = 20_000


def version_graph(of: VersionFacts, home: str) -> str:
    """The named graph of a version of the hub at ``home``, as canonical N-Quads."""
    places = Places(home)
    version = places.version(of.namespace, of.name, of.number)
    graph = Graph(graph_of(version), places)
    _identity(graph, version, of)
    if of.withdrawal is not None:
        _withdrawn(graph, version, of, of.withdrawal)
        return graph.text()
    _description(graph, version, of)
    names = datasets.Names(places, version, of)
    card_statements.describe(graph, version, of.card)
    datasets.describe_uses(graph, version, of.card, names)
    evaluations.describe_claims(graph, version, of.card, places.agent(of.namespace), names)
    for file in of.files:
        _file(graph, version, file)
    training.describe(graph, version, of)
    origins.describe(graph, version, of.card)
    _modalities(graph, version, of)
    _file_claims(graph, version, of)
    for index, variant in enumerate(of.variants):
        _variant(graph, version, variant)
        onnx_facts.describe(graph, variant_of(version, variant.name), version, variant)
        if index == 0:
            onnx_facts.describe(graph, version, version, variant)
    declared_inputs.describe(graph, version, of)
    main = of.variants[0].name if of.variants else ""
    for check in of.checks:
        assertions.describe_check(graph, version, check)
    for result in of.results:
        subject = (
            version if result.variant.name == main else variant_of(version, result.variant.name)
        )
        assertion = assertions.describe_result(graph, version, subject, result)
        evaluations.describe_figures(graph, subject, assertion, result.figures, assertion)
    for measured in of.measured:
        subject = (
            version if measured.variant.name == main else variant_of(version, measured.variant.name)
        )
        evaluations.describe_measured(graph, version, subject, measured)
    for describe in of.parts:
        describe(graph, version)
    return graph.text()


def model_graph(of: ModelFacts, home: str) -> str:
    """The named graph of a model: its place in the catalogue and its versions."""
    places = Places(home)
    space = of.namespace.name
    model, publisher = places.model(space, of.name), places.agent(space)
    graph = Graph(graph_of(model), places)
    ref = f"{space}/{of.name}"
    graph.describe(
        model,
        "dcat:Resource",
        {
            "dcterms:publisher": link(publisher),
            "dcterms:title": words(ref),
            "dcterms:identifier": string(ref),
            "dcterms:created": moment(of.created_at),
            "dcterms:issued": moment(of.published_at),
            "dcat:hasVersion": [
                link(places.version(space, of.name, number)) for number in of.versions
            ],
        },
    )
    if of.withdrawal is not None:
        licenses = [link(places.licence(name)) for name in of.licenses or ("",)]
        graph.add(model, "dcterms:license", *licenses)
        tombstones.describe(graph, model, of.withdrawal)
        return graph.text()
    graph.add(places.catalogue, "dcat:resource", link(model))
    graph.add(model, "dcterms:description", words(of.summary))
    _subject(graph, model, of)
    _deprecation(graph, model, of.deprecation)
    if _is_conflict(of.licenses, of.card_licenses):
        graph.add(model, "hub:licenceConflict", truth(True))
    for former in of.former:
        graph.add(model, "dcterms:replaces", link(places.model(former.namespace, former.name)))
        for number in former.versions:
            before = places.version(former.namespace, former.name, number)
            version = places.version(space, of.name, number)
            graph.add(version, "dcterms:replaces", link(before))
    if of.newest is not None:
        newest = places.version(space, of.name, of.newest)
        graph.add(model, "dcat:hasCurrentVersion", link(newest))
    return graph.text()


def catalogue_graph(home: str) -> str:
    """The graph of the hub itself: catalogue, tasks, tests, formats; each model joins it.

    That a model belongs to the catalogue is stated in the model's graph, so that a new model costs
    one small graph and never a rewriting of them all.
    """
    places = Places(home)
    graph = Graph(places.catalogue, places)
    graph.describe(
        places.catalogue,
        "dcat:Catalog",
        {
            "dcterms:title": string("ONNX models of this hub", "en"),
            "dcterms:description": string("Versioned ONNX models, each checked by the hub.", "en"),
            "dcterms:publisher": link(places.worker),
            "foaf:homepage": link(f"{home}/"),
        },
    )
    for task in TASKS.values():
        if not task.domain:
            continue
        for name in (task.name, task.domain):
            entity_labels.concept(graph, places.task(name), name, name.replace("-", " "))
        graph.add(places.task(task.name), "skos:broader", link(places.task(task.domain)))
    for names, is_part_of in assertions.TESTS:
        test = places.test(*names)
        title = string(" ".join(names), "en")
        graph.describe(test, "earl:TestCase", {"dcterms:title": title})
        if is_part_of:
            graph.add(test, "dcterms:isPartOf", link(places.test(*is_part_of)))
    entity_labels.describe(graph)
    return graph.text()


def entity_graph(entity: Entity, agent: AgentFacts | None, home: str) -> str:
    """The named graph of an agent, a licence or a metric; empty for an agent of None."""
    places = Places(home)
    graph = Graph(entity.graph(home), places)
    if entity.kind == "licences":
        entity_labels.describe_licence(graph, entity.name)
    elif entity.kind == "metrics":
        metrics.describe(graph, entity.name)
    elif entity.is_worker:
        name = string("ONNX Model Hub")
        classes = "foaf:Agent prov:SoftwareAgent earl:Software"
        graph.describe(places.worker, classes, {"foaf:name": name})
    elif agent is not None:
        kind = "prov:Organization" if agent.organisation else "prov:Person"
        name = string(agent.title or agent.name)
        graph.describe(places.agent(agent.name), f"foaf:Agent {kind}", {"foaf:name": name})
    return graph.text()


def _identity(graph: Graph, version: str, of: VersionFacts) -> None:
    places = graph.places
    uploader, publisher = places.agent(of.uploader), places.agent(of.namespace)
    graph.describe(
        version,
        "it6:MachineLearningModel fair4ml:MLModel mls:Model dcat:Resource prov:Entity",
        {
            "dcterms:identifier": string(f"{of.namespace}/{of.name}@{of.number}"),
            "dcat:version": string(of.number),
            "skos:altLabel": string(of.label),
            "dcat:isVersionOf": link(places.model(of.namespace, of.name)),
            "dcterms:created": moment(of.created_at),
            "dcterms:issued": moment(of.published_at),
            "dcterms:modified": moment(of.ended_at or of.published_at or of.created_at),
            "it6:hasUploader fair4ml:sharedBy": link(uploader),
            "prov:wasAttributedTo dcterms:publisher": link(publisher),
            "hub:manifestSha256": string(of.manifest_sha256),
        },
    )
    if of.previous is not None:
        before = places.version(of.namespace, of.name, of.previous)
        graph.add(version, "dcat:previousVersion", link(before))
    if of.state == "yanked":
        graph.state(version, {"owl:deprecated": truth(True), "skos:changeNote": words(of.reason)})
    _deprecation(graph, version, of.deprecation)


def _deprecation(graph: Graph, subject: str, of: DeprecationFacts | None) -> None:
    """State that a model or version is deprecated, why, and what replaces it."""
    if of is None:
        return
    graph.state(subject, {"owl:deprecated": truth(True), "skos:changeNote": words(of.message)})
    if of.successor is not None:
        places = graph.places
        successor = places.model(*of.successor)
        if of.number is not None:
            successor = places.version(*of.successor, of.number)
        graph.add(subject, "dcterms:isReplacedBy", link(successor))


def _withdrawn(graph: Graph, version: str, of: VersionFacts, withdrawal: WithdrawalFacts) -> None:
    """What stays true of a withdrawn version: name, licence, its data and what it came from."""
    rest = dataclasses.replace(of, card=tombstones.claims(of.card), variants=())
    graph.add(version, "dcterms:title schema:name", words(of.name))
    licenses = [link(graph.places.licence(name)) for name in of.licenses or ("",)]
    graph.add(version, "dcterms:license", *licenses)
    datasets.describe_uses(graph, version, rest.card, datasets.Names(graph.places, version, rest))
    training.describe(graph, version, rest)
    tombstones.describe(graph, version, withdrawal)


def _description(graph: Graph, version: str, of: VersionFacts) -> None:
    documentation = of.variants[0].facts.doc if of.variants else ""
    text = str(of.body or of.summary or documentation or "")
    graph.state(
        version,
        {
            "dcterms:title schema:name": words(of.name),
            "dcterms:description": words(phrases.ellipsis(text, LONGEST)),
            "it6:shortDescription": words(of.summary),
            "hub:licenceExpression": string(of.license_expression),
        },
    )
    _subject(graph, version, of)


def _subject(graph: Graph, subject: str, of: VersionFacts | ModelFacts) -> None:
    """Licence, access, task and keywords of a model or a version; no licence is stated too."""
    places = graph.places
    graph.state(
        subject,
        {
            "dcterms:license": [link(places.licence(name)) for name in of.licenses or ("",)],
            "dcterms:accessRights": link(f"{ACCESS}{'RESTRICTED' if of.is_gated else 'PUBLIC'}"),
            "fair4ml:mlTask dcterms:type": link(places.task(of.task)),
            "dcat:keyword": map(words, of.keywords),
        },
    )


def _file(graph: Graph, version: str, of: FileFacts) -> None:
    file = file_of(version, of.path)
    if not of.derived:
        graph.add(version, "dcat:distribution", link(file))
    graph.describe_part(
        version,
        "it6:hasFile",
        file,
        "it6:File dcat:Resource prov:Entity",
        {
            "dcterms:title dcterms:identifier": string(of.path),
            "dcat:downloadURL it6:url": link(file),
            "dcat:byteSize": count(of.size_bytes),
            "dcterms:format": link(entity_labels.format_of(graph.places, of.path)),
        },
    )
    if of.source:
        graph.state(
            file,
            {
                "prov:wasDerivedFrom": link(file_of(version, of.source)),
                "prov:wasAttributedTo": link(graph.places.worker),
            },
        )
    graph.add_checksum(file, f"{version}#sha256-{part(of.path, '/')}", of.sha256)


def _modalities(graph: Graph, version: str, of: VersionFacts) -> None:
    """What goes in and out: as the main variant denotes it, else as the declared task implies."""
    main = of.variants[0].facts if of.variants else Facts()
    task = TASKS.get(task_name(of.task))
    for predicate, ports, implied in (
        ("it6:hasInputModality", main.inputs, task.inputs if task else ()),
        ("it6:hasOutputModality", main.outputs, task.outputs if task else ()),
    ):
        denoted = filter(None, (DENOTED_MODALITIES.get(port.denotation.upper()) for port in ports))
        for name in tuple(denoted) or implied:
            graph.add(version, predicate, link(graph.places.modality(name)))


def _file_claims(graph: Graph, version: str, of: VersionFacts) -> None:
    """Author and licence as the file itself has them, and whether the card says otherwise."""
    properties = of.variants[0].facts.properties if of.variants else {}
    licence = properties.get("model_license", "")
    graph.add(version, "hub:authorInFile", string(properties.get("model_author", "")))
    if licence.strip():
        graph.add(version, "hub:licenceInFile", link(graph.places.licence(licence)))
    if _is_conflict(of.licenses, (licence,)):
        graph.add(version, "hub:licenceConflict", truth(True))


def _is_conflict(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether no licence is on both sides; names unknown to SPDX are no conflict."""
    ids, theirs = ([terms.spdx_id(name) for name in names] for names in (some, others))
    if not (ids and theirs and all(ids) and all(theirs)):
        return False
    return not any(terms.is_same_licence(own, other) for own in ids for other in theirs)


def _variant(graph: Graph, version: str, of: VariantFacts) -> None:
    variant = variant_of(version, of.name)
    graph.describe_part(
        version,
        "hub:hasVariant",
        variant,
        "hub:Variant prov:Entity",
        {
            "dcterms:title": string(of.name),
            "hub:variantOrigin": string(of.origin),
            "hub:proofStrength": string(of.proof_strength),
            "hub:proofStatement": string(of.proof_sentence),
            "dcat:distribution": link(file_of(version, of.entry)),
            "hub:hasVariantFile": [
                link(file_of(version, path)) for path in (of.entry, *of.external)
            ],
        },
    )
    if of.source:
        _generation(graph, version, variant, of)


def _generation(graph: Graph, version: str, variant: str, of: VariantFacts) -> None:
    """The step that derived a variant, and the worst figures of the variant against its source.

    What a conversion measured on generated inputs alone stays out: it needs data to be a figure.
    """
    step = f"{version}#generation-{part(of.name)}"
    source, worker = link(variant_of(version, of.source)), link(graph.places.worker)
    graph.state(
        variant,
        {
            "prov:wasDerivedFrom": source,
            "prov:wasGeneratedBy": link(step),
            "prov:wasAttributedTo": worker,
        },
    )
    graph.describe(
        step,
        f"prov:Activity mls:Run hub:{DERIVATIONS[of.origin].term}",
        {
            "prov:used": source,
            "prov:wasAssociatedWith": worker,
            "hub:recipe": string(of.derivation.get("recipe")),
        },
    )
    if of.job is not None:
        graph.state(
            step,
            {
                "prov:startedAtTime": moment(of.job.started_at),
                "prov:endedAtTime": moment(of.job.finished_at),
                "rdfs:seeAlso": link(graph.places.job(str(of.job.pk))),
            },
        )
    parity = stored.mapping(of.derivation.get("parity"))
    worst = stored.mapping(parity.get("worst")) or parity
    here = f"{version}#parity-{part(of.name)}"
    rows = [worst, stored.mapping(parity.get("half"))] if worst else []
    how = arithmetic.sentence(parity)
    evaluations.describe_figures(graph, variant, here, rows, step, how)
