"""What lists count: quantities with their units, and the numbers known of the newest versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """What a number counts.

    ``unit`` is its unit in the API, ``form_unit`` the one that forms ask in, with ``form_factor``
    units in it. Three tables give the number of units for a name in lower case: ``symbols`` for
    limits of the client (`20MB`), ``alone`` for words of a question that tell the quantity by
    themselves (`5 megabytes`), ``named`` for words beside its name (`5 million` parameters).
    """

    unit: str = ""
    form_unit: str = ""
    form_factor: int = 1
    symbols: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)
    named: Mapping[str, float] = field(default_factory=dict)
    is_whole: bool = True
    digits: int = 18


_DECIMAL: Final[dict[str, float]] = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_MULTIPLES: Final[dict[str, float]] = _DECIMAL | {
    "thousand": 10**3,
    "million": 10**6,
    "mio": 10**6,
    "b": 10**9,
    "bn": 10**9,
    "billion": 10**9,
}
_BYTES: Final[dict[str, float]] = {
    "bytes": 1,
    "byte": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "kilobytes": 10**3,
    "megabyte": 10**6,
    "megabytes": 10**6,
    "gigabyte": 10**9,
    "gigabytes": 10**9,
}
_TIMES: Final[dict[str, float]] = {
    "ms": 1,
    "msec": 1,
    "millisecond": 1,
    "milliseconds": 1,
    "us": 1e-3,
    "µs": 1e-3,
    "μs": 1e-3,
    "microseconds": 1e-3,
    "s": 1e3,
    "sec": 1e3,
    "second": 1e3,
    "seconds": 1e3,
}
_MACS: Final[dict[str, float]] = {
    f"{prefix}{word}": factor for prefix, factor in _DECIMAL.items() for word in ("mac", "macs")
}
BYTES: Final = Quantity(
    "B", "MB", 10**6, {f"{name}b": factor for name, factor in _DECIMAL.items()}, _BYTES, _BYTES
)
COUNT: Final = Quantity("", "million", 10**6, _DECIMAL, {}, _MULTIPLES)
MACS: Final = Quantity("MAC", "million", 10**6, _DECIMAL, _MACS, _MACS | _MULTIPLES)
MILLISECONDS: Final = Quantity(
    "ms", "ms", 1, {"ms": 1, "us": 1e-3, "s": 1e3}, _TIMES, _TIMES, is_whole=False
)
OPSETS: Final = Quantity("", "version", digits=5)
POINTS: Final = Quantity("percentage point", "points", 1, {"": 1, "pp": 1}, is_whole=False)
QUANTITIES: Final = (BYTES, COUNT, MACS, MILLISECONDS, OPSETS, POINTS)


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A number that lists know of the newest version of a model.

    ``column`` is that of its search document and, unless ``key`` is another, the key in the
    version that lists show. ``pattern`` binds it in the graphs to ``variable``.
    """

    column: str
    noun: str
    variable: str
    pattern: str
    quantity: Quantity = COUNT
    key: str = ""


SIZE: Final = Attribute(
    "size",
    "size",
    "?size",
    """{ SELECT ?version (SUM(?bytes) AS ?size) WHERE {
      ?version a fair4ml:MLModel ; dcat:distribution ?file .
      ?file dcat:byteSize ?bytes .
    } GROUP BY ?version }""",
    BYTES,
)
PARAMETERS: Final = Attribute(
    "parameters",
    "number of parameters",
    "?parameters",
    "?version it6:totalNumberOfParameters ?parameters .",
)
OPERATIONS: Final = Attribute(
    "macs", "number of operations", "?macs", "?version hub:macs ?macs .", MACS
)
MEMORY: Final = Attribute(
    "memory_bytes", "number of bytes", "?memory", "?version hub:memoryBytes ?memory .", BYTES
)
CARBON: Final = Attribute(
    "carbon_kg",
    "mass of CO2e",
    "?kg",
    "?version hub:trainingCO2eKg ?kg .",
    key="training_carbon_kg",
)
OPSET_VERSION: Final = Attribute(
    "opset", "opset", "?opset", "?version hub:opsetVersion ?opset .", OPSETS
)
