"""What a choice of the list's filters says in SPARQL: lines of a pattern for each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol import filters
from metadata.graphs.datasets import PERSONAL_DATA
from metadata.rdf import quads
from metadata.rdf.iris import Places
from registry.cards import licences
from registry.models.files import sufficient

NOTHING = "FILTER(false)"
_EVIDENCE = {
    "carbon": "?version hub:trainingCO2eKg ?emitted .",
    "federated": "FILTER EXISTS { ?version prov:wasGeneratedBy/a hub:FederatedRound }",
}


def literal(text: str) -> str:
    """A plain string as a term of SPARQL."""
    return quads.string(text) or '""'


@dataclass(frozen=True, slots=True)
class _OneOf:
    """A pattern whose object is one of several values, each written as a term."""

    pattern: str
    variable: str
    term: Callable[[Places, str], str]

    def __call__(self, places: Places, values: tuple[str, ...]) -> list[str]:
        terms = [term for value in values if (term := self.term(places, value))]
        if len(terms) == 1:
            return [f"{self.pattern} {terms[0]} ."]
        variable = self.variable
        return [f"{self.pattern} {variable} . VALUES {variable} {{ {' '.join(terms)} }}"]


def _licences(places: Places, values: tuple[str, ...]) -> list[str]:
    """One of the licences; a value that names several asks for a model that has them all."""
    patterns = dict.fromkeys(
        " ".join(
            f"?version dcterms:license <{places.licence(name)}> ."
            for name in licences.named(value) or (value,)
        )
        for value in values
    )
    if len(patterns) == 1:
        return list(patterns)
    # A model under two of them is listed once.
    return [f"FILTER EXISTS {{ {' UNION '.join(f'{{ {pattern} }}' for pattern in patterns)} }}"]


def _keywords(_: Places, values: tuple[str, ...]) -> list[str]:
    words = ", ".join(literal(value.lower()) for value in values)
    return [
        (
            "FILTER EXISTS { ?version dcat:keyword ?keyword . "
            f"FILTER(LCASE(STR(?keyword)) IN ({words})) }}"
        )
    ]


def _operators(places: Places, values: tuple[str, ...]) -> list[str]:
    """Operators as lists name them: by name alone where ONNX defines them, else after a domain."""
    pairs = [(value.rpartition(".")[0], value.rpartition(".")[2]) for value in values]
    terms = ", ".join(f"<{places.operator(domain, name)}>" for domain, name in pairs)
    return [f"FILTER EXISTS {{ ?version hub:usesOperator ?used . FILTER(?used IN ({terms})) }}"]


def _personal(_: Places, values: tuple[str, ...]) -> list[str]:
    statements = [" ".join(PERSONAL_DATA[value]) for value in values if value in PERSONAL_DATA]
    if not statements:
        return [NOTHING]
    union = " UNION ".join(f"{{ ?data {statement} }}" for statement in statements)
    return [f"FILTER EXISTS {{ ?version fair4ml:trainedOn ?data . {union} }}"]


def _withdrawn(_: Places, values: tuple[str, ...]) -> list[str]:
    if "yes" not in values:
        return [NOTHING]
    data = "?version fair4ml:trainedOn/prov:specializationOf? ?withdrawn"
    return [f"FILTER EXISTS {{ {data} . ?withdrawn adms:status ?status }}"]


def _derived(places: Places, values: tuple[str, ...]) -> list[str]:
    named = [value.strip().split("/") for value in values if value.strip().count("/") == 1]
    if not named:
        return [NOTHING]
    bases = ", ".join(f"<{places.model(space, name)}>" for space, name in named)
    path = "?version prov:wasDerivedFrom+/dcat:isVersionOf ?base"
    return [f"FILTER EXISTS {{ {path} . FILTER(?base IN ({bases})) }}"]


def _risks(_: Places, values: tuple[str, ...]) -> list[str]:
    """One of the values holds: that there are risks or none, or what one of them is."""
    whole = {
        "stated": "EXISTS { ?version it6:hasRisk ?risk }",
        "unstated": "NOT EXISTS { ?version it6:hasRisk ?risk }",
        "unmitigated": "EXISTS { ?version it6:hasRisk ?risk . "
        "FILTER NOT EXISTS { ?risk it6:mitigation ?mitigation } }",
    }
    conditions = [
        whole.get(value)
        or "EXISTS { ?version it6:hasRisk/it6:severity ?severity . "
        f"FILTER(LCASE(STR(?severity)) = {literal(value)}) }}"
        for value in values
    ]
    return [f"FILTER({' || '.join(conditions)})"]


def _passes(places: Places, values: tuple[str, ...]) -> list[str]:
    """As runners.proofs.verdicts has it, for each runtime.

    A check passed, none failed, and the runtime agrees with the bundled data or the reference,
    wherever there is one of these to compare with.
    """
    lines = []
    for value in values:
        ran = f"earl:subject ?version ; hub:runtime {literal(value)} ; earl:result/earl:outcome"
        tests = ", ".join(f"<{places.test(value, check)}>" for check in ("bundled", "reference"))
        passed, unjudged = (
            f"{{ ?test earl:test ?one ; {ran} earl:{outcome} . FILTER(?one IN ({tests})) }}"
            for outcome in ("passed", "cantTell")
        )
        lines += [
            f"FILTER EXISTS {{ ?test {ran} earl:passed }}",
            f"FILTER NOT EXISTS {{ ?test {ran} earl:failed }}",
            f"FILTER(EXISTS {passed} || NOT EXISTS {unjudged})",
        ]
    return lines


def _fails(_: Places, values: tuple[str, ...]) -> list[str]:
    """On one of the runtimes the model or one of its variants failed a check."""
    names = ", ".join(literal(value) for value in values)
    return [
        (
            "FILTER EXISTS { ?version hub:hasVariant? ?tried . ?trial earl:subject ?tried ; "
            "hub:runtime ?runtime ; earl:result/earl:outcome earl:failed . "
            f"FILTER(?runtime IN ({names})) }}"
        )
    ]


def _evidence(_: Places, values: tuple[str, ...]) -> list[str]:
    conditions = _EVIDENCE | {"upgrade": _upgraded()}
    return [conditions.get(value, NOTHING) for value in values]


def _upgraded() -> str:
    """A variant of a higher opset stands in for the original on this hub."""
    strengths = ", ".join(map(literal, sorted(sufficient())))
    return (
        "FILTER EXISTS { ?version hub:opsetVersion ?own ; hub:hasVariant ?ready . "
        "?ready hub:proofStrength ?strength ; hub:opsetVersion ?new . "
        f"FILTER(?new > ?own && ?strength IN ({strengths})) }}"
    )


def _measured(places: Places, values: tuple[str, ...]) -> list[str]:
    """A worker of the hub timed the model or one of its variants on one of these devices."""
    devices = ", ".join(f"<{places.device(value)}>" for value in values)
    return [
        (
            "FILTER EXISTS { ?version hub:hasBenchmark ?timed . "
            f"?timed prov:wasAttributedTo <{places.worker}> ; hub:device ?device . "
            f"FILTER(?device IN ({devices})) }}"
        )
    ]


def _task(places: Places, name: str) -> str:
    return f"<{places.task(name)}>" if name.strip() else ""


def _literal(_: Places, value: str) -> str:
    return literal(value)


# Group of a list's filters -> the lines that say the same.
WRITERS: dict[str, Callable[[Places, tuple[str, ...]], list[str]]] = {
    filters.NAMESPACE.name: _OneOf(
        "?model dcterms:publisher", "?publisher", lambda places, name: f"<{places.agent(name)}>"
    ),
    filters.TASK.name: _OneOf("?version fair4ml:mlTask", "?task", _task),
    filters.DOMAIN.name: _OneOf("?version fair4ml:mlTask/skos:broader", "?domain", _task),
    filters.LICENCE.name: _licences,
    filters.PRECISION.name: _OneOf("?version hub:precision", "?precision", _literal),
    filters.KEYWORD.name: _keywords,
    filters.OPERATOR.name: _operators,
    filters.PIXEL_FORMAT.name: _OneOf("?version hub:bitmapPixelFormat", "?pixels", _literal),
    filters.PERSONAL_DATA.name: _personal,
    filters.WITHDRAWN_DATA.name: _withdrawn,
    filters.DERIVED_FROM.name: _derived,
    filters.RISK.name: _risks,
    filters.PASSES_ON.name: _passes,
    filters.FAILS_ON.name: _fails,
    filters.EVIDENCE.name: _evidence,
    filters.MEASURED_ON.name: _measured,
}
