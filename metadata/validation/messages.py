"""Findings of shapes as sentences: the field of the card, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from hub.protocol import phrases
from metadata.rdf import quads
from metadata.rdf.terms import PREFIXES
from metadata.shapes.validator import Finding

_LONGEST = 80
_KINDS = {
    "Literal": "text or a number",
    "IRI": "the address (IRI) of a thing",
    "BlankNodeOrIRI": "the address (IRI) of a thing",
}
# Properties of MLDCAT-AP -> the field of a card that gives them.
FIELDS = {
    f"{PREFIXES['it6']}{term}": field
    for term, field in (
        ("trainedOn", "training_data"),
        ("testedOn", "tested_on"),
        ("validatedOn", "validated_on"),
        ("fineTunedFrom", "base_model"),
        ("carbonEmitted", "co2_eq_emissions"),
        ("shortDescription", "summary"),
        ("bias", "bias"),
        ("limitations", "limitations"),
    )
} | {
    f"{PREFIXES['dcterms']}license": "license",
    f"{PREFIXES['dcterms']}language": "language",
    f"{PREFIXES['dcterms']}creator": "creators",
}


def sentence(finding: Finding) -> str:
    """What is wrong, as the shape says it, and with which value; made up where it says nothing."""
    value = phrases.ellipsis(finding.value, _LONGEST)
    if finding.message:
        has_value = bool(value) and not value.startswith(finding.focus)
        return f"{finding.message} It is {value} now." if has_value else finding.message
    return f"{short(finding.path) or 'This thing'} {_reason(finding, value)}."


def _reason(finding: Finding, value: str) -> str:
    rule = finding.wanted
    kind = finding.component.removesuffix("ConstraintComponent")
    reasons = {
        "MinCount": f"is missing: at least {rule.get('minCount', '1')} is required",
        "MaxCount": f"is stated more than {_times(rule.get('maxCount', '1'))}",
        "Class": f"is {short(value)}, which is not declared as a {short(rule.get('class', ''))}",
        "Datatype": f"is {value}, which does not have the type {short(rule.get('datatype', ''))}",
        "NodeKind": f"is {short(value)}; {_kind(rule)} is required",
    }
    return reasons.get(kind, f"breaks the rule {kind} with {value or 'its value'}")


def _kind(rule: dict[str, str]) -> str:
    return _KINDS.get(rule.get("nodeKind", "").rpartition("#")[2], "another kind of value")


def _times(number: str) -> str:
    return "once" if number == "1" else f"{number} times"


def short(iri: str) -> str:
    """An IRI by its usual prefix, where it has one."""
    for prefix, base in _BY_LENGTH:
        if iri.startswith(base) and re.fullmatch(r"[A-Za-z0-9_.-]+", iri[len(base) :]):
            return f"{prefix}:{iri[len(base) :]}"
    return iri


_BY_LENGTH = sorted(PREFIXES.items(), key=lambda row: -len(row[1]))


def pointer(card: dict[str, Any], field: str, focus: str) -> str:
    """Where in a card the field of a shape is, for the thing that it was found at.

    Each `*` in ``field`` stands for a place in a list; it is cut where the place is not known.
    """
    if not field:
        return ""
    fragment = focus.partition("#")[2]
    path = field.split("/")
    part = next((steps for key, steps in _parts(card) if key == fragment), ())
    if part and part[0] != path[0]:  # the same thing may stand in another list
        return "/".join([*part, *path[-1:]])
    places = [step for step in part if step.isdecimal()]
    steps: list[str] = []
    for step in path:
        if step == "*" and not places:
            break
        steps.append(places.pop(0) if step == "*" else step)
    return "/".join(steps)


def _parts(card: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fragments that parts of a card become, each with the steps to its place in the card."""
    number = 0
    for model, row in _rows(card.get("model-index")):
        for result, result_row in _rows(row.get("results")):
            for metric, _ in _rows(result_row.get("metrics")):
                number += 1
                steps = ("model-index", model, "results", result, "metrics", metric)
                yield f"eval-{number}", steps
    for place, _ in _rows(card.get("eval_results")):
        number += 1
        yield f"eval-{number}", ("eval_results", place)
    for place, row in _rows(card.get("training_data")):
        name = str(row.get("name") or row.get("iri") or "").strip().lower()
        yield f"data-{quads.part(name)}", ("training_data", place)


def _rows(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, row in enumerate(value if isinstance(value, list) else ()):
        if isinstance(row, dict):
            yield str(place), row


def thing(focus: str, version: str) -> str:
    """What a finding is about, as people know it: the version, a file, or a part of it."""
    rest = focus.removeprefix(version)
    if not rest:
        return "the version"
    return unquote(rest.removeprefix("/files/") if rest.startswith("/files/") else rest)
