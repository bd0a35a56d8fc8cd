"""The pattern that asks for figures, in the form that `metadata.graphs.figures` gives them."""

from __future__ import annotations


def pattern(
    figure: str = "?figure",
    *,
    metric: str = "?metric",
    value: str = "?value",
    kind: str = "?kind",
    status: str = "?status",
) -> str:
    """The triples of a figure; each part is a variable or a term."""
    return (
        f"{figure} dqv:isMeasurementOf {metric} ; dqv:value {value} ; "
        f"hub:figureKind {kind} ; hub:figureStatus {status} ."
    )
