"""Models by what they must achieve: limits with units, as filters of the list of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hub.protocol import problems
from hub.protocol.filters import LIMITS, MAX_LATENCY, Bound
from hub.protocol.sorts import DOWNLOADS, FASTEST

# The order where nothing decides one.
UNASKED_SORT: Final = DOWNLOADS.name
# Limits of measured accuracy: "accuracy@digits=0.9", several of these, or {"accuracy@digits": 0.9}.
Measured = str | Iterable[str] | Mapping[str, str | float] | None

_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)")


def filters(
    limits: dict[str, str | float | None], device: str | None, **accuracy: Measured
) -> dict[str, Any]:
    """The filters of `GET /models` for these limits; raises InvalidRequest for a bad one.

    With a limit the hub decides the order, as on its page. ``accuracy`` has `min` and `max`,
    whose metrics and data sets the hub checks, since it knows them.
    """
    for name in limits.keys() - LIMITS.keys():
        names = ", ".join(sorted(LIMITS))
        raise problems.InvalidRequest(f"Unknown limit {name!r}. Known: {names}.")
    values = {name: value for name, value in limits.items() if value is not None}
    measured = {name: _texts(value) for name, value in accuracy.items() if value}
    parameters: dict[str, Any] = {"device": device or None, **measured}
    if device and MAX_LATENCY.option not in values:
        parameters["sort"] = FASTEST.name
    elif not values and not measured:
        parameters["sort"] = UNASKED_SORT
    for name, value in values.items():
        bound = LIMITS[name]
        amount = quantity(bound, value)
        parameters[bound.name] = int(amount) if bound.quantity.is_whole else amount
    return parameters


def quantity(bound: Bound, value: str | float) -> float:
    """A number, or a text such as `20ms` or `1.5 GB`, in the unit of the limit."""
    if not isinstance(value, str):
        return value
    units = bound.quantity.symbols
    match = _QUANTITY.fullmatch(value.strip().lower().replace("µ", "u"))
    unit = match[2] if match else ""
    if match is None or (unit and unit not in units):
        unit_names = ", ".join(filter(None, units))
        raise problems.InvalidRequest(
            f"{bound.option} is a number with an optional unit ({unit_names}), such as "
            f"{bound.example}; not {value[:40]!r}."
        )
    return float(match[1]) * (units[unit] if unit else 1)


def _texts(written: Measured) -> list[str]:
    if isinstance(written, Mapping):
        return [f"{name}={value}" for name, value in written.items()]
    return [written] if isinstance(written, str) else list(written or ())
