"""The check `card`: what a submitted version says of itself has to make a sound graph.

Its graph is made as it would be after publication, and the hub's shapes are asked. What they say is
told in the card's own terms: the field, and the line on which it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings

from metadata.graphs import cycles, projection, subjects
from metadata.rdf.iris import Places
from metadata.rdf.vocabulary import ShapesUnavailableError
from metadata.shapes import validator
from metadata.store import maintenance
from metadata.validation import messages
from registry.cards import cards
from registry.cards.findings import dotted
from registry.models import Check, Version
from registry.versions.services import checks

if TYPE_CHECKING:
    from registry.core import outbox

log = structlog.get_logger(__name__)

KIND = "card"


def on_submitted(subject: outbox.Subject) -> None:
    """Judge a submitted version once; harmless when told twice or late."""
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

    It fails for what the card can mend; where only the hub can, or there is no answer, it errs.
    """
    home = settings.HUB_PUBLIC_URL
    try:
        nquads = projection.version_graph(subjects.version_facts(version), home)
        context = projection.catalogue_graph(home) + maintenance.context_of(nquads)
        found = validator.validate(nquads, against="hub", context=context)
    except ShapesUnavailableError as error:
        log.exception("card_not_checked", version=version.ref)
        reason = f"The card could not be checked: {error} Submit the draft again."
        return Check.Outcome.ERRORED.value, _report([_finding("shapes-unavailable", reason)])
    findings = [_told(version, one) for one in found if one.severity == "Violation"]
    findings += _strangers(version, nquads)
    if way := cycles.circle(version):
        findings.append(_round(version, way))
    if not findings:
        return Check.Outcome.PASSED.value, _report([])
    mendable = any(one["field"] for one in findings)
    outcome = Check.Outcome.FAILED if mendable else Check.Outcome.ERRORED
    return outcome.value, _report(sorted(findings, key=lambda one: (one["line"] or 0, one["code"])))


def _report(findings: list[dict[str, Any]]) -> dict[str, Any]:
    """Findings by file, as every check reports them: these are all of the card."""
    return {"files": [{"path": cards.CARD_PATH, "findings": findings}]}


def _told(version: Version, found: validator.Finding) -> dict[str, Any]:
    pointer = messages.pointer(version.card, found.field, found.focus)
    code = "card-shape" if pointer else "graph-shape"
    return _finding(code, messages.sentence(found), version.readme, pointer, found.focus)


def _strangers(version: Version, nquads: str) -> list[dict[str, Any]]:
    """Statements about what is not a part of the version: no card may make any."""
    model = version.model
    own = Places(settings.HUB_PUBLIC_URL).version(model.namespace.slug, model.name, version.number)
    told = {line.partition("> ")[0].removeprefix("<") for line in nquads.splitlines()}
    return [
        _finding(
            "graph-subject",
            "The graph describes something that does not belong to this version.",
            "",
        )
        | {"where": iri}
        for iri in sorted(told)
        if iri != own and not iri.startswith((f"{own}#", f"{own}/"))
    ]


def _round(version: Version, way: list[str]) -> dict[str, Any]:
    steps = " from ".join([*way, version.ref]) if way else "itself"
    message = f"{version.ref} would be derived from itself: it derives from {steps}."
    return _finding(
        "lineage-circle", f"{message} Correct base_model.", version.readme, "base_model"
    )


def _finding(
    code: str, message: str, readme: str = "", field: str = "", focus: str = ""
) -> dict[str, Any]:
    """A finding as reports have it; ``field`` is steps divided by slashes, `license` or deeper."""
    pointer = f"/{field}" if field else ""
    line = cards.line_of(readme, pointer) if pointer and readme else None
    place = [f"line {line}"] if line else []
    place += [dotted(pointer)] if pointer else []
    return {
        "code": code,
        "severity": "error",
        "message": message,
        "where": ", ".join(place) or focus.rpartition("/")[2],
        "field": dotted(pointer),
        "line": line,
    }
