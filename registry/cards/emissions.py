"""Carbon and energy on a card: their units, how they were determined, and probable slips."""

from __future__ import annotations

import re
from typing import Any

from hub.protocol import stored
from hub.protocol.cards import Emissions
from registry.cards.findings import Notes
from registry.cards.values import Check, mapping, number, one_of, text

# How a figure was determined: stated without a method, computed from assumptions, or metered.
KINDS = ("declared", "estimated", "measured")
# Tools that compute emissions from assumptions about machines and grids.
_ESTIMATING = re.compile(
    r"code ?carbon|ml ?co2|machine learning (co2 )?impact|carbontracker|eco2ai|autotrain"
    r"|green algorithms|experiment.impact.tracker|cloud carbon",
    re.IGNORECASE,
)
# The carbon of a kilowatt-hour: the cleanest and the dirtiest grids lie well inside.
LEAST_G_PER_KWH, MOST_G_PER_KWH = 1.0, 2000.0


def kind_of(emissions: Emissions) -> str:
    """One of KINDS for the emissions of a card: its own word, else by the tool it names.

    A number without either is declared: how it was determined is unknown.
    """
    if emissions.kind in KINDS:
        return emissions.kind
    methods = " ".join(emissions.methods)[:2000]
    return "estimated" if _ESTIMATING.search(methods) else "declared"


def carbon(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, dict):
        parts: dict[str, Check] = {
            "emissions": _grams,
            "source": text,
            "kind": one_of(KINDS, what="kind of figure"),
            "training_type": text,
            "geographical_location": text,
            "hardware_used": text,
        }
        mapping(parts, expected="grams, or a mapping with emissions")(notes, pointer, value)
    else:
        _grams(notes, pointer, value)


_UNITS = {"mg": 0.001, "g": 1, "kg": 1000, "t": 1_000_000}


def _grams(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, str):
        match = re.match(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(mg|kg|g|t)\b", value)
        cure = "Write grams, digits only; leave it out if it was not measured."
        if match:
            grams = float(match.group(1)) * _UNITS[match.group(2)]
            cure = f"Write grams, digits only: {grams:.10g}."
        notes.error(pointer, f"{value[:60]!r} is text; emissions are a number in grams.", cure)
        return
    number(unit="grams")(notes, pointer, value)


_ENERGY: dict[str, Check] = {
    "kwh": number(unit="kWh"),
    "cpu_kwh": number(unit="kWh"),
    "gpu_kwh": number(unit="kWh"),
    "ram_kwh": number(unit="kWh"),
    "hours": number(unit="hours"),
    "location": text,
    "method": text,
}


def energy(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, dict):
        mapping(_ENERGY, expected="kilowatt-hours, or a mapping with kwh")(notes, pointer, value)
    else:
        number(unit="kWh")(notes, pointer, value)


def suspect(notes: Notes, pointer: str, grams: float, energy: Any) -> None:
    """Warn of a number that is probably in another unit than grams."""
    kwh = energy.get("kwh") if isinstance(energy, dict) else energy
    if stored.is_number(kwh) and kwh > 0:
        rate = grams / kwh
        if rate < LEAST_G_PER_KWH:
            _kilograms(notes, pointer, grams, f"{rate:.3g} g for each kWh is less than any grid")
        elif rate > MOST_G_PER_KWH:
            notes.warn(
                pointer,
                f"{rate:.3g} g for each kWh is more than any grid emits.",
                "Check both units: emissions are grams, energy is kWh.",
            )
    elif grams < 1:
        _kilograms(notes, pointer, grams, "less than one gram for a training is rare")


def _kilograms(notes: Notes, pointer: str, grams: float, why: str) -> None:
    notes.warn(
        pointer,
        f"{grams:g} looks like kilograms: {why}.",
        f"Emissions are grams; CodeCarbon writes kilograms. If so, write {grams * 1000:g}.",
    )
