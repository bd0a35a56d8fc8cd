"""Models by what they must achieve: limits with units, as filters of the list of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hub.protocol import problems

# The order where nothing decides one.
UNASKED_SORT: Final = "downloads"
# Limits of measured accuracy: "accuracy@digits=0.9", several of these, or {"accuracy@digits": 0.9}.
Measured = str | Iterable[str] | Mapping[str, str | float] | None

# Limit -> filter of `GET /models`, and its units with the factor of each; the first is the default.
_DECIMAL: Final[dict[str, float]] = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES: Final[dict[str, float]] = {
    "b" if not unit else f"{unit}b": factor for unit, factor in _DECIMAL.items()
}
LIMITS: Final[dict[str, tuple[str, dict[str, float]]]] = {
    "max_p50": ("max_p50", {"ms": 1, "us": 1e-3, "s": 1e3}),
    "max_memory": ("max_memory", {**_BYTES, "": 1}),
    "max_size": ("max_bytes", {**_BYTES, "": 1}),
    "max_macs": ("max_macs", _DECIMAL),
    "max_parameters": ("max_parameters", _DECIMAL),
}
_EXAMPLES = {"max_p50": "20ms", "max_memory": "500MB", "max_size": "100MB", "max_macs": "1G"}
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)")


def filters(
    limits: dict[str, str | float | None], device: str | None, **accuracy: Measured
) -> dict[str, Any]:
    """The filters of `GET /models` for these limits; raises InvalidRequest for a bad one.

    With a limit the hub decides the order, as on its page. ``accuracy`` has `min` and `max`,
    whose metrics and data sets the hub checks, since it knows them.
    """
    for name in limits.keys() - LIMITS.keys():
        names = ", ".join(LIMITS)
        raise problems.InvalidRequest(f"Unknown limit {name!r}. Known: {names}.")
    values = {name: value for name, value in limits.items() if value is not None}
    measured = {name: _texts(value) for name, value in accuracy.items() if value}
    parameters: dict[str, Any] = {"device": device or None, **measured}
    if device and "max_p50" not in values:
        parameters["sort"] = "fastest"
    elif not values and not measured:
        parameters["sort"] = UNASKED_SORT
    for name, value in values.items():
        field, units = LIMITS[name]
        amount = quantity(name, value, units)
        parameters[field] = amount if field == "max_p50" else int(amount)
    return parameters


def quantity(name: str, value: str | float, units: dict[str, float]) -> float:
    """A number, or a text such as `20ms` or `1.5 GB`, in the limit's first unit."""
    if not isinstance(value, str):
        return value
    match = _QUANTITY.fullmatch(value.strip().lower().replace("µ", "u"))
    unit = match[2] if match else ""
    if match is None or (unit and unit not in units):
        unit_names = ", ".join(filter(None, units))
        raise problems.InvalidRequest(
            f"{name} is a number with an optional unit ({unit_names}), such as "
            f"{_EXAMPLES.get(name, '10M')}; not {value[:40]!r}."
        )
    return float(match[1]) * (units[unit] if unit else 1)


def _texts(written: Measured) -> list[str]:
    if isinstance(written, Mapping):
        return [f"{name}={value}" for name, value in written.items()]
    return [written] if isinstance(written, str) else list(written or ())
