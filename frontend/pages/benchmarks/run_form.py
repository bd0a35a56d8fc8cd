"""The form that has a benchmark run: its fields, and the options that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frontend.parts import addresses
from frontend.presenters import measurements
from hub.protocol import problems
from runners.engine.benchmark import bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from registry.models import Variant

_WHOLE = ("batch", "threads", "concurrency")
_FRACTIONS = ("latency_bound_ms",)
_WORDS = ("scenario", "bound_percentile")


@dataclass(frozen=True, slots=True)
class RunForm:
    """What somebody may choose for a run of one variant: loads, percentiles, free dimensions."""

    scenarios: tuple[tuple[str, str], ...]
    percentiles: tuple[str, ...]
    sizes: tuple[tuple[str, str], ...]


def form(variant: Variant | None) -> RunForm:
    """The form for a variant; ``sizes`` are names of free dimensions, each with its field."""
    inputs = variant.typed_facts.inputs if variant is not None else ()
    names = dict.fromkeys(
        size for one in inputs for size in one.type.shape or () if isinstance(size, str)
    )
    return RunForm(
        scenarios=tuple(measurements.SCENARIOS.items()),
        percentiles=bounds.PERCENTILES,
        sizes=tuple((name, addresses.SIZE_FIELD + name) for name in names),
    )


def options(sent: Mapping[str, str]) -> dict[str, Any]:
    """The options of a form that was sent: what is empty keeps its default.

    Raises InvalidRequest for what is no number.
    """
    filled = {name: text.strip() for name, text in sent.items() if text.strip()}
    chosen: dict[str, Any] = {name: filled[name] for name in _WORDS if name in filled}
    chosen |= {name: _whole(name, filled[name]) for name in _WHOLE if name in filled}
    chosen |= {name: _fraction(name, filled[name]) for name in _FRACTIONS if name in filled}
    sizes = {
        name.removeprefix(addresses.SIZE_FIELD): _whole(name, text)
        for name, text in filled.items()
        if name.startswith(addresses.SIZE_FIELD)
    }
    if "latency_bound_ms" not in chosen:
        # The select always has a value, which says nothing without a bound.
        chosen.pop("bound_percentile", None)
    return chosen | ({"shapes": sizes} if sizes else {})


def _whole(name: str, text: str) -> int:
    number = addresses.whole(text, 9)
    if number is None:
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be a whole number.")
    return number


def _fraction(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be a number.") from None
