"""Facts of model files as pages show them: operators by category, shapes of ports."""

from __future__ import annotations

from collections import Counter
from typing import Any

from frontend.parts.svg.barcode import CATEGORIES
from hub.protocol.facts import Facts, Port, Type
from registry.models import Variant
from runners.engine.onnx_files.vocabulary import CATEGORIES as FAMILIES
from runners.engine.onnx_files.vocabulary import CATEGORY_OF, OTHER


def of(variant: Variant | None) -> Facts:
    """The facts of a variant; empty where no file has been read."""
    return variant.typed_facts if variant else Facts()


def operators(facts: Facts) -> list[tuple[str, int]]:
    """Each operator with the number of its nodes, the most frequent first."""
    counts = ((operator.title, operator.count) for operator in facts.operators if operator.count)
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def shares(facts: Facts) -> list[dict[str, Any]]:
    """Nodes by category, in the order of the legend; a cell of the barcode may be several."""
    counts: Counter[str] = Counter()
    for operator in facts.operators:
        counts[FAMILIES[CATEGORY_OF.get(operator.title.rpartition(".")[2], OTHER)]] += (
            operator.count
        )
    return [
        {
            "category": category,
            "words": words,
            "count": counts[category],
        }
        for category, words in CATEGORIES.items()
        if counts[category]
    ]


def sizes(of: Type) -> list[tuple[str, bool]]:
    """Each size of a shape as text, and whether it is free: a symbol, or "?" for nothing."""
    return [
        ("?" if size is None else str(size), not isinstance(size, int)) for size in of.shape or ()
    ]


def signature(port: Port) -> str:
    """A port's type and shape: float32[N, 3, 64, 64]."""
    if port.type.shape is None:
        return str(port.type)
    return f"{port.type}[{', '.join(size for size, _ in sizes(port.type))}]"
