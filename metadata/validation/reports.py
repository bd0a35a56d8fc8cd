"""Reports of MLDCAT-AP's shapes on published graphs, shown beside the version, never a gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from metadata.graphs import projection, selectors
from metadata.models import ShapeReport
from metadata.rdf import vocabulary
from metadata.shapes import validator
from metadata.store import maintenance, services
from metadata.validation import messages
from registry.core import outbox
from registry.core.prepared_queries import Prepared
from registry.models import Version

log = structlog.get_logger(__name__)

PROFILE: Literal["mldcat-ap"] = "mldcat-ap"
TITLE = "MLDCAT-AP"
# What changes a graph after its publication, or publishes it.
VERBS = ("version.published", "variant.added", "conformance.added")
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class GraphWithContext:
    """A version's graph as it is now, what it names in other graphs, and their digest."""

    nquads: str
    context: str

    @property
    def sha256(self) -> str:
        return services.digest(self.nquads + self.context)


def on_published(subject: outbox.Subject) -> None:
    """Report on a public version, unless this very graph has its report.

    Raises ShapesUnavailableError where there is no answer: the delivery is made again later.
    """
    version = maintenance.versions().filter(pk=subject.key, state__in=Version.SERVED).first()
    if version is not None and selectors.is_public(version):
        renew(version)


def renew(version: Version) -> bool:
    """Make the report of a public version; False where it is there for this graph and shapes."""
    graph, shapes = graph_of(version), vocabulary.shapes(PROFILE)
    existing = ShapeReport.objects.filter(version=version, profile=PROFILE)
    if existing.filter(graph_sha256=graph.sha256, shapes_sha256=shapes.sha256).exists():
        return False
    findings = validator.validate(graph.nquads, against=shapes, context=graph.context)
    rows = summed(findings, maintenance.version_iri(version).removesuffix("/metadata"))
    with transaction.atomic():
        if not Version.objects.filter(pk=version.pk).exists():
            return False
        ShapeReport.objects.update_or_create(
            version=version,
            profile=PROFILE,
            defaults={
                "shapes_title": shapes.title,
                "shapes_sha256": shapes.sha256,
                "official": shapes.official,
                "graph_sha256": graph.sha256,
                "conforms": not rows,
                "count": len(rows),
                "findings": rows,
                "at": timezone.now(),
            },
        )
    log.info("shapes_reported", version=version.ref, findings=len(rows))
    return True


def versions() -> QuerySet[Version]:
    """The versions that have a report."""
    return maintenance.versions().filter(state__in=Version.SERVED).order_by("pk")


def renew_all(tell: Callable[[], None] = lambda: None) -> int:
    """Make the reports that are missing or of other graphs or shapes; returns how many.

    ``tell`` is called after each of the `versions`.
    """
    count = 0
    for version in versions().iterator():
        count += selectors.is_public(version) and renew(version)
        tell()
    return count


def graph_of(version: Version) -> GraphWithContext:
    """A version's graph made from its rows, with those of its model and of the hub beside it."""
    home = settings.HUB_PUBLIC_URL
    nquads = projection.version_graph(selectors.version_facts(version), home)
    model = projection.model_graph(selectors.model_facts(version.model), home)
    others = maintenance.context_of(nquads, model)
    return GraphWithContext(nquads, model + projection.catalogue_graph(home) + others)


def of_version(version: Version) -> ShapeReport | None:
    """The report of a version; None if there is none, or it is not public any more."""
    if not selectors.is_public(version):
        return None
    return next(iter(_OF_VERSION.instances(version.pk)), None)


_OF_VERSION = Prepared(
    lambda version_id: ShapeReport.objects.filter(version=version_id, profile=PROFILE)[:1]
)


def summed(findings: list[validator.Finding], version: str) -> list[dict[str, Any]]:
    """Findings of one kind as one, with the number of times and some of the things concerned."""
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    for finding in findings:
        key = (finding.path, finding.component, *sorted(finding.wanted.values()))
        row = kinds.setdefault(
            key,
            {
                "code": "profile-shape",
                "severity": "warning",
                "message": messages.sentence(finding),
                "path": finding.path,
                "field": messages.FIELDS.get(finding.path, ""),
                "times": 0,
                "where": [],
            },
        )
        row["times"] += 1
        if len(row["where"]) < _EXAMPLES:
            row["where"].append(messages.thing(finding.focus, version))
    return list(kinds.values())
