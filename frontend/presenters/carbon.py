"""What training took, as a version's card declares it, and the same of others of its task.

Only the grid intensity is computed, from two declared figures, with its formula. A missing value
says why. Units: kilograms of CO2e, kilowatt-hours, grams per kilowatt-hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts.svg import diagrams
from frontend.presenters import figures, measurements
from hub.protocol.benchmark_metrics import CARBON, ENERGY
from hub.protocol.cards import Card
from hub.protocol.figures import Figure, Kind
from registry.cards import emissions
from registry.models import SearchDocument, Version
from runners.models import Measurement

# Others that are shown; of as many more it is said that they are there.
OTHERS = 12
COUNT_CAP = 100
_CLIPPED = 600


def training(card: Card) -> list[dict[str, Any]]:
    """Each fact of the training, whether declared or not."""
    energy, kilograms = card.energy, card.emissions.kilograms
    amount = _fact("Amount", "")
    if kilograms is not None:
        kind = emissions.kind_of(card.emissions)
        note = "" if kind == "declared" else "from the card"
        amount = {
            "name": "Amount",
            "value": formatting.carbon(kilograms),
            "kind": kind,
            "note": note,
        }
    parts = (("GPU", energy.gpu_kwh), ("CPU", energy.cpu_kwh), ("memory", energy.ram_kwh))
    shares = ", ".join(f"{words} {_kwh(value)}" for words, value in parts if value is not None)
    hours = formatting.figure(energy.hours)
    methods = (*card.emissions.methods, *energy.methods)
    return [
        amount,
        _fact("Energy", _kwh(energy.kwh), shares),
        _fact("Kind of training", _clip(card.training_type)),
        _fact("Time", f"{hours}{formatting.NARROW}h" if hours else ""),
        _fact("Hardware", ", ".join(map(_clip, card.hardware))),
        _fact("Place", _clip(card.location)),
        _intensity(card),
        _fact("Method", " ".join(dict.fromkeys(map(_clip, methods)))),
        _fact("Uncertainty", ""),
    ]


def inference(row: Measurement | None) -> list[dict[str, Any]]:
    """What running it takes, of the newest result that tells energy; not measured where none does.

    Carbon is never measured: it is energy times what the grid gives off on the yearly mean.
    """
    names = ("Amount for 1 000 runs", "Energy for 1 000 runs", "Device", "Grid intensity")
    if row is None:
        return [
            {
                "name": name,
                "value": figures.or_unmeasured(""),
                "kind": "none",
            }
            for name in names
        ]
    energy, carbon = row.typed_record.energy, row.typed_record.carbon
    boundary = ", ".join(filter(None, (energy.method, energy.boundary)))
    device = f"{row.device_label}, {measurements.runtime_of(row)}"
    emissions = row.figure(CARBON)
    grid = _fact(names[3], "")
    if emissions.value is not None:
        grams = f"{carbon.grid_g_per_kwh}{formatting.NARROW}g{formatting.NARROW}CO₂e/kWh"
        source = f"{carbon.grid_source}, {carbon.grid_year}"
        grid = _fact(names[3], grams, f"{carbon.grid_region}: {source}")
    return [
        _measured(names[0], emissions, "energy times grid intensity"),
        _measured(names[1], row.figure(ENERGY), boundary),
        {
            "name": names[2],
            "value": device,
            "kind": Kind.MEASURED,
        },
        grid,
    ]


def comparison(version: Version, others: Sequence[SearchDocument]) -> dict[str, Any]:
    """This version and other models of its task, the least first; bars share one axis from 0."""
    own = version.typed_card.emissions.kilograms
    first = list(others[:OTHERS])
    rows = [
        (
            row.carbon_kg or 0.0,
            f"{row.namespace_slug}/{row.model.name}",
            reverse("model", args=[row.namespace_slug, row.model.name]),
            False,
        )
        for row in first
    ]
    if own is not None:
        rows.append((own, version.ref, "", True))
    rows.sort(key=lambda row: (row[0], row[1]))
    most = max((kilograms for kilograms, *_ in rows), default=0.0) or 1.0
    bars = tuple(
        {
            "name": name,
            "url": url,
            "amount": formatting.carbon(kilograms),
            "length": f"{kilograms / most * 100:.2f}",
            "own": is_own,
        }
        for kilograms, name, url, is_own in rows
    )
    return {
        "bars": bars,
        "more": max(0, len(others) - OTHERS),
        "many": len(others) > COUNT_CAP,
        "sentence": _sentence(own, [row.carbon_kg or 0.0 for row in others]),
    }


def _sentence(own: float | None, others: Sequence[float]) -> str:
    if not others:
        return "No other public model of this task declares its training carbon."
    many = f"{COUNT_CAP} or more" if len(others) > COUNT_CAP else formatting.grouped(len(others))
    words = f"{many} other public model{'s' if len(others) != 1 else ''} of this task"
    words += " declare training carbon" if len(others) != 1 else " declares training carbon"
    if own is None:
        return f"{words}; this version does not."
    below = sum(other < own for other in others)
    if not below:
        return f"{words}; none declares less than this version."
    above = "at least " if len(others) > COUNT_CAP else ""
    return f"{words}; {above}{formatting.grouped(below)} of them declare less than this version."


def _intensity(card: Card) -> dict[str, Any]:
    """The carbon of a kilowatt-hour: cards have no field for it, two others may imply it."""
    grams, kwh = card.emissions.grams, card.energy.kwh
    if grams is None or not kwh:
        return _fact("Grid intensity", "")
    value = f"{formatting.figure(grams / kwh)}{formatting.NARROW}g{formatting.NARROW}CO₂e/kWh"
    formula = (
        f"{formatting.figure(grams)}{formatting.NARROW}g ÷ {_kwh(kwh)}, the two declared figures; "
        "the intensity itself is not declared"
    )
    return {
        "name": "Grid intensity",
        "value": value,
        "kind": "estimated",
        "note": formula,
    }


def _fact(name: str, value: str, note: str = "") -> dict[str, Any]:
    return (
        {
            "name": name,
            "value": value,
            "kind": "declared",
            "note": note,
        }
        if value
        else {
            "name": name,
            "value": "not declared",
            "kind": "none",
        }
    )


def _measured(name: str, figure: Figure, note: str) -> dict[str, Any]:
    if figure.value is None:
        return {
            "name": name,
            "value": figures.text(figure),
            "kind": "none",
        }
    return {
        "name": name,
        "value": figures.text(figure),
        "kind": figure.kind,
        "note": note,
    }


def _kwh(value: float | None) -> str:
    return "" if value is None else f"{formatting.figure(value)}{formatting.NARROW}kWh"


def _clip(text: str) -> str:
    return diagrams.cut(text, _CLIPPED)
