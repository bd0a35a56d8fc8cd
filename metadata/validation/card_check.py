"""The check `card`: the graph of a submitted version must conform to the hub's shapes.

Its graph is made as it would be after publication, and the hub's shapes are asked. What they say is
reported in the card's own terms: the field and its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings

from metadata.graphs import cycles, projection, selectors
from metadata.rdf.iris import Places
from metadata.rdf.vocabulary import ShapesUnavailableError
from metadata.shapes import validator
from metadata.store import maintenance
from metadata.validation import messages
from registry.cards import cards
from registry.cards.findings import dotted
from registry.core import outbox
from registry.models import Check, Version
from registry.versions.services import checks
from runners.engine.reports import FileCheck, Finding

log = structlog.get_logger(__name__)

KIND = "card"


@dataclass(frozen=True, slots=True)
class CardFinding(Finding):
    """A finding with the field of the card and its line, where the card is at fault."""

    field: str = ""
    line: int | None = None


def on_submitted(subject: outbox.Subject) -> None:
    """Check a submitted version once; harmless when called twice or late."""
    version = (
        Version.objects.filter(pk=subject.key, state=Version.State.SUBMITTED)
        .select_related("model__namespace", "created_by")
        .first()
    )
    if version is None:
        return
    waiting = Check.objects.filter(version=version, kind=KIND, outcome=Check.Outcome.PENDING)
    if not waiting.exists():
        return
    outcome, report = judge(version)
    checks.settle(
        version=version,
        manifest_sha256=version.manifest_sha256,
        kind=KIND,
        outcome=outcome,
        report=report,
    )


def judge(version: Version) -> tuple[str, dict[str, Any]]:
    """The outcome of the check and its report, whose findings are in the order of the card.

    It fails for faults of the card; for faults of the hub, or without an answer, it is an error.
    """
    home = settings.HUB_PUBLIC_URL
    try:
        nquads = projection.version_graph(selectors.version_facts(version), home)
        context = projection.catalogue_graph(home) + maintenance.context_of(nquads)
        violations = validator.validate(nquads, against="hub", context=context)
    except ShapesUnavailableError as error:
        log.exception("card_not_checked", version=version.ref)
        reason = f"The card could not be checked: {error} Submit the draft again."
        return Check.Outcome.ERRORED.value, _report([_finding("shapes-unavailable", reason)])
    findings = [
        _shape_finding(version, violation)
        for violation in violations
        if violation.severity == "Violation"
    ]
    findings += _foreign_subjects(version, nquads)
    if path := cycles.find_cycle(version):
        findings.append(_cycle(version, path))
    if not findings:
        return Check.Outcome.PASSED.value, _report([])
    mendable = any(finding.field for finding in findings)
    outcome = Check.Outcome.FAILED if mendable else Check.Outcome.ERRORED
    return outcome.value, _report(
        sorted(findings, key=lambda finding: (finding.line or 0, finding.code))
    )


def _report(findings: list[CardFinding]) -> dict[str, Any]:
    """Findings by file, as every check reports them: these are all of the card."""
    return {"files": [FileCheck(cards.CARD_PATH, tuple(findings)).to_json()]}


def _shape_finding(version: Version, finding: validator.Finding) -> CardFinding:
    pointer = messages.pointer(version.card, finding.field, finding.focus)
    code = "card-shape" if pointer else "graph-shape"
    return _finding(code, messages.sentence(finding), version.readme, pointer, finding.focus)


def _foreign_subjects(version: Version, nquads: str) -> list[CardFinding]:
    """Statements about what is not a part of the version: no card may make any."""
    model = version.model
    own = Places(settings.HUB_PUBLIC_URL).version(model.namespace.slug, model.name, version.number)
    iris = {line.partition("> ")[0].removeprefix("<") for line in nquads.splitlines()}
    words = "The graph describes something that does not belong to this version."
    return [
        CardFinding("graph-subject", "error", words, iri)
        for iri in sorted(iris)
        if iri != own and not iri.startswith((f"{own}#", f"{own}/"))
    ]


def _cycle(version: Version, path: list[str]) -> CardFinding:
    steps = " from ".join([*path, version.ref])
    message = f"{version.ref} would be derived from itself: it derives from {steps}."
    return _finding(
        "lineage-circle", f"{message} Correct base_model.", version.readme, "base_model"
    )


def _finding(
    code: str, message: str, readme: str = "", field: str = "", focus: str = ""
) -> CardFinding:
    """A finding as reports have it; ``field`` is steps divided by slashes, `license` or deeper."""
    pointer = f"/{field}" if field else ""
    line = cards.line_of(readme, pointer) if pointer and readme else None
    place = [f"line {line}"] if line else []
    place += [dotted(pointer)] if pointer else []
    where = ", ".join(place) or focus.rpartition("/")[2]
    return CardFinding(code, "error", message, where, dotted(pointer), line)
