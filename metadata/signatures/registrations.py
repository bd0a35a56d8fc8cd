"""Signatures in the graph of their version, which follows when signers are declared or removed."""

from __future__ import annotations

from metadata.graphs.version_parts import Describe, VersionPart, version_parts
from metadata.rdf.graph import Graph
from metadata.rdf.quads import link, moment, string
from metadata.store import maintenance
from registry.core import outbox
from registry.models import Version
from registry.provenance.signature_models import VersionSignature
from registry.provenance.signatures import selectors
from registry.provenance.signatures.selectors import Signature

# The predicate of model-signing's statements says of what form a bundle is.
FORM = "https://model_signing/signature/v1.0"


def register(package: str) -> None:
    """Plug into the graphs."""
    version_parts.register(package, VersionPart(part_of))
    outbox.subscribe("metadata.signatures", ("version.signed",), _on_signed)
    outbox.subscribe("metadata.signers", ("signer.",), _on_signer, apart=True)


def part_of(version: Version) -> Describe:
    """What describes the signatures of a version."""
    rows, ref, number = selectors.of_version(version), version.model.ref, version.number

    def describe(graph: Graph, iri: str) -> None:
        for row in rows:
            _describe(graph, iri, row, ref, number)

    return describe


def _describe(graph: Graph, version: str, row: Signature, ref: str, number: int) -> None:
    """A signature is a proof of the version, attributed to the namespace if that declares it."""
    node = f"{version}#signature-{row.sha256[:16]}"
    key = f"{node}-key"
    graph.describe_part(
        version,
        "sec:proof",
        node,
        "sec:Proof prov:Entity",
        {
            "dcterms:created": moment(row.created_at),
            "dcterms:conformsTo": link(FORM),
            "dcat:downloadURL": link(
                f"{graph.places.home}/api/v1/models/{ref}/versions/{number}/signatures/{row.sha256}"
            ),
        },
    )
    name = row.names[0] if row.names else ""
    key_facts = {"dcterms:identifier": string(row.key), "dcterms:title": string(name)}
    graph.describe_part(node, "sec:verificationMethod", key, "sec:VerificationMethod", key_facts)
    if row.counts:
        publisher = graph.places.agent(version.rpartition("/models/")[2].partition("/")[0])
        graph.add(node, "prov:wasAttributedTo", link(publisher))


def _on_signed(subject: outbox.Subject) -> None:
    """A signature concerns the graph of its version."""
    if Version.objects.filter(pk=subject.key, state__in=Version.VISIBLE).exists():
        maintenance.refresh_version(int(subject.key))


def _on_signer(subject: outbox.Subject) -> None:
    """A signer concerns the graphs of all signed versions of the namespace."""
    rows = VersionSignature.objects.filter(version__model__namespace=int(subject.key))
    versions = rows.order_by("version").values_list("version", flat=True).distinct()
    maintenance.refresh_versions(list(versions))
