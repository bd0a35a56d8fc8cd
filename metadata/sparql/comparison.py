"""A comparison of versions as SPARQL: one row for each fact that the graphs have of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metadata.rdf.iris import Places
from metadata.rdf.quads import part
from metadata.sparql import figures, list_patterns, listing

# Terms of a variant, then those of its version -> the fact's name in the result.
_OF_VARIANT = {
    "hub:opsetVersion": "opset",
    "hub:irVersion": "IR version",
    "hub:precision": "precision",
    "it6:totalNumberOfParameters": "parameters",
    "hub:macs": "operations (MACs)",
    "hub:memoryBytes": "memory, bytes",
}
_OF_VERSION = {
    "fair4ml:mlTask": "task",
    "dcterms:license": "licence",
    "dcterms:issued": "published",
    "hub:trainingCO2eKg": "training carbon, kg CO2e",
    "fair4ml:trainedOn": "training data",
    "prov:wasDerivedFrom": "derived from",
}


@dataclass(frozen=True, slots=True)
class ComparedVariant:
    """A variant of a public version, under the reference that its column has."""

    reference: str
    namespace: str
    name: str
    number: int
    variant: str


def of(columns: Sequence[ComparedVariant], home: str) -> str:
    """The query that gives what the graphs of the hub at ``home`` know of these."""
    places = Places(home)
    rows = "\n".join(f"    {_row(places, column)}" for column in columns)
    text = f"""SELECT ?reference ?fact ?value WHERE {{
  VALUES (?reference ?version ?variant) {{
{rows}
  }}
  {{
    ?variant ?term ?value .
    VALUES (?term ?fact) {{ {_named(_OF_VARIANT)} }}
  }} UNION {{
    ?version ?term ?value .
    VALUES (?term ?fact) {{ {_named(_OF_VERSION)} }}
  }} UNION {{
    ?variant dcat:distribution ?file . ?file dcat:byteSize ?value .
    BIND("bytes of the ONNX file" AS ?fact)
  }} UNION {{
    ?verdict hub:variant ?variant ; earl:test ?test ; earl:result/earl:outcome ?value .
    BIND(CONCAT("conformance, ", STRAFTER(STR(?test), "/tests/")) AS ?fact)
  }} UNION {{
    ?result hub:variant ?variant ; hub:hasFigure ?figure .
    {figures.pattern()}
    BIND(CONCAT(STRAFTER(STR(?metric), "/metrics/"), ", ", ?kind, ", ", ?status) AS ?fact)
  }}
}}
ORDER BY ?fact ?reference ?value
"""
    return f"{listing.prologue(text, home)}{text}"


def _row(places: Places, column: ComparedVariant) -> str:
    version = places.version(column.namespace, column.name, column.number)
    variant = f"{version}#variant-{part(column.variant)}"
    return f"({list_patterns.literal(column.reference)} <{version}> <{variant}>)"


def _named(terms: dict[str, str]) -> str:
    return " ".join(f'({term} "{name}")' for term, name in terms.items())
