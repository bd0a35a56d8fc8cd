"""Packages in the graph of their version: the layout, components, findings, and generation."""

from __future__ import annotations

from datetime import datetime

from hub.protocol.generation import Outcome
from hub.protocol.packages import Component, PackageFinding, Severity, may_be_one
from metadata.graphs import assertions
from metadata.graphs.version_parts import Describe, VersionPart, version_parts
from metadata.rdf.graph import Graph
from metadata.rdf.iris import file_of
from metadata.rdf.quads import link, part, string
from metadata.store import maintenance
from registry.core import outbox
from registry.models import Version
from registry.packages import selectors

# What a finding says of the test that it stands for, in the words of EARL.
_OUTCOMES = {Severity.ERROR: "failed", Severity.WARNING: "cantTell", Severity.INFO: "passed"}
_UNTESTED = "untested"


def register(package: str) -> None:
    """Plug into the graphs."""
    version_parts.register(package, VersionPart(part_of))
    outbox.subscribe("metadata.packages", ("package.",), _on_package)


def part_of(version: Version) -> Describe:
    """What describes the package of a version and its decoder."""
    row = measured = None
    # The graph needs the files anyway; a version that is a single model needs no further query.
    if may_be_one(file.path for file in version.files.all() if not file.derived):
        row, measured = selectors.of(version), selectors.generation_of(version)
    generation = measured.generation if measured is not None else None

    def describe(graph: Graph, iri: str) -> None:
        if row is not None:
            graph.add(iri, "hub:packageLayout", string(row.package.layout))
            for component in row.package.components:
                _component(graph, iri, component)
            for number, finding in enumerate(row.package.findings, start=1):
                _finding(graph, iri, f"{iri}#finding-{number}", finding, row.checked_at)
        if measured is not None and generation is not None:
            for check in generation.checks:
                outcome = _UNTESTED if check.outcome == Outcome.UNMEASURED else check.outcome
                subject, node = file_of(iri, generation.model), f"{iri}#generation-{check.kind}"
                result = assertions.describe_test(
                    graph, node, subject, check.title, outcome, measured.measured_at
                )
                graph.add(result, "earl:info", string(check.message, "en"))

    return describe


def _component(graph: Graph, version: str, component: Component) -> None:
    """A component is a part of the version, with its name, its role and its files."""
    graph.describe_part(
        version,
        "dcterms:hasPart",
        f"{version}#component-{part(component.name)}",
        "prov:Entity",
        {
            "dcterms:title": string(component.name),
            "hub:componentRole": string(component.role),
            "it6:hasFile": [link(file_of(version, path)) for path in component.files],
        },
    )


def _finding(graph: Graph, version: str, node: str, finding: PackageFinding, at: datetime) -> None:
    """A finding is the result of a test, named by its code, of the version."""
    outcome = _OUTCOMES[finding.severity]
    result = assertions.describe_test(graph, node, version, finding.code, outcome, at)
    words = f"{finding.where}: {finding.message} {finding.cure}"
    graph.add(result, "earl:info", string(words, "en"))


def _on_package(subject: outbox.Subject) -> None:
    """What was found concerns the graph of its version."""
    if Version.objects.filter(pk=subject.key, state__in=Version.VISIBLE).exists():
        maintenance.refresh_version(int(subject.key))
