"""The form that has a benchmark run: its fields, and the options that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frontend.parts import addresses
from frontend.presenters import measurements
from hub.protocol import problems
from registry.models import Variant
from runners.benchmarks import offers
from runners.engine.benchmark import bounds, provider_options

# The name of a form's field for the whole shape of an input begins with it.
SHAPE_FIELD = "shape:"
_WHOLE = ("batch", "threads", "concurrency")
_FRACTIONS = ("latency_bound_ms",)
_WORDS = ("scenario", "bound_percentile")


def form(variant: Variant | None) -> dict[str, Any]:
    """The form for a variant."""
    inputs = variant.typed_facts.inputs if variant is not None else ()
    names = dict.fromkeys(
        size for port in inputs for size in port.type.shape or () if isinstance(size, str)
    )
    setups = dict.fromkeys((offer.runtime, offer.provider) for offer in offers.live())
    return {
        "scenarios": tuple(measurements.SCENARIOS.items()),
        "percentiles": bounds.PERCENTILES,
        "sizes": tuple((name, addresses.SIZE_FIELD + name) for name in names),
        "shapes": tuple(
            (port.name, SHAPE_FIELD + port.name, "x".join(str(size or "?") for size in shape))
            for port in inputs
            if (shape := port.type.shape) and not all(isinstance(size, int) for size in shape)
        ),
        "setups": tuple(
            {
                "value": f"{runtime}/{provider}",
                "words": measurements.runtime(runtime, provider),
                "options": ", ".join(provider_options.kinds_of(runtime, provider)),
            }
            for runtime, provider in setups
        ),
    }


def options(sent: Mapping[str, str]) -> dict[str, Any]:
    """The arguments for `scheduling.ask` of a form that was sent: what is empty keeps its default.

    Raises InvalidRequest for what is no number, shape or option.
    """
    filled = {name: text.strip() for name, text in sent.items() if text.strip()}
    choices: dict[str, Any] = {name: filled[name] for name in _WORDS if name in filled}
    choices |= {name: _whole(name, filled[name]) for name in _WHOLE if name in filled}
    choices |= {name: _fraction(name, filled[name]) for name in _FRACTIONS if name in filled}
    runtime, _, provider = filled.get("setup", "").partition("/")
    choices |= {"runtime": runtime, "provider": provider} if runtime else {}
    several = {
        "shapes": {
            name.removeprefix(addresses.SIZE_FIELD): _whole(name, text)
            for name, text in filled.items()
            if name.startswith(addresses.SIZE_FIELD)
        },
        "input_shapes": {
            name.removeprefix(SHAPE_FIELD): _shape(name, text)
            for name, text in filled.items()
            if name.startswith(SHAPE_FIELD)
        },
        "provider_options": _provider_options(filled.get("provider_options", "")),
    }
    if several["provider_options"] and not runtime:
        raise problems.InvalidRequest.at(
            "/setup", "Choose the runtime and provider that the options are of."
        )
    if "latency_bound_ms" not in choices:
        # The select always has a value, which says nothing without a bound.
        choices.pop("bound_percentile", None)
    return choices | {name: values for name, values in several.items() if values}


def _whole(name: str, text: str) -> int:
    return problems.expect(
        addresses.whole(text, 9),
        problems.InvalidRequest.at(f"/{name}", f"{name} must be a whole number."),
    )


def _fraction(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be a number.") from None


def _shape(name: str, text: str) -> list[int]:
    sizes = [addresses.whole(size.strip()) for size in text.lower().split("x")]
    if None in sizes:
        raise problems.InvalidRequest.at(
            f"/{name}",
            f"The shape of {name.removeprefix(SHAPE_FIELD)[:100]} must be whole numbers with x "
            f"between them, such as 1x3x640x640; not {text[:60]!r}.",
        )
    return [size for size in sizes if size is not None]


def _provider_options(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
    for name, sign, value in pairs:
        if not (name.strip() and sign and value.strip()):
            raise problems.InvalidRequest.at(
                "/provider_options",
                f"Write one option per line as name=value, such as enable_mem_pattern=false; not "
                f"{name[:60]!r}.",
            )
    return {name.strip(): value.strip() for name, _, value in pairs}
