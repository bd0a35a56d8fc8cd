"""CodeCarbon's ``emissions.csv``: kilograms and kilowatt-hours of runs, with where and on what.

Source: mlco2/codecarbon 3.2 (EmissionsData). Names of projects, hosts, places on a map and folders
are never taken.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from hub import counting
from registry.cards.imports.files import Proposal, refused, words

KIND = "CodeCarbon emissions.csv"
LIMIT_ROWS = 10_000
_NEEDED = ("emissions", "duration")
_ENERGIES = {
    "kwh": "energy_consumed",
    "cpu_kwh": "cpu_energy",
    "gpu_kwh": "gpu_energy",
    "ram_kwh": "ram_energy",
}


def read(text: str) -> Proposal:
    """Emissions in grams, energy and hours, summed over the runs in the file."""
    runs, lines = _runs(text)
    grams = _sum(runs, "emissions") * 1000
    hours = _sum(runs, "duration") / 3600
    version = _common(runs, "codecarbon_version")
    source = f"CodeCarbon {version}".strip()
    carbon: dict[str, Any] = {"emissions": _number(grams), "source": source, "kind": "estimated"}
    if place := _place(runs):
        carbon["geographical_location"] = place
    if hardware := _hardware(runs):
        carbon["hardware_used"] = hardware
    energy: dict[str, Any] = {
        name: _number(_sum(runs, column))
        for name, column in _ENERGIES.items()
        if any(row.get(column) for row in runs)
    }
    energy["hours"] = _number(hours)
    method = f"{source}: {len(runs)} run{'s' if len(runs) != 1 else ''} summed"
    if mode := _common(runs, "tracking_mode"):
        method += f", tracking mode {mode}"
    fields: dict[str, Any] = {
        "co2_eq_emissions": carbon,
        "energy": energy,
        "carbon_method": f"{method}.",
    }
    if hardware:
        fields["hardware"] = hardware
    notes = [f"The file states {_number(grams / 1000):g} kg; the card states {_number(grams):g} g."]
    if len(runs) > 1:
        notes.append(
            f"{len(runs)} runs were summed. Remove those that do not belong to this model."
        )
    if lines > len(runs):
        earlier = counting.plural(
            lines - len(runs), "row was an earlier state", "rows were earlier states"
        )
        notes.append(f"{earlier} of the same runs.")
    notes.append("Names of projects and machines, and locations, were left out.")
    return Proposal("codecarbon", fields, notes)


def _runs(text: str) -> tuple[list[dict[str, str]], int]:
    """The last row of each run (rows of one run count up), and how many rows there were."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    runs: dict[str, dict[str, str]] = {}
    count = 0
    try:
        missing = [name for name in _NEEDED if name not in (reader.fieldnames or [])]
        if missing:
            raise refused(KIND, f"its first line has no column {' and no '.join(missing)}.")
        for count, row in enumerate(reader, start=1):
            if count > LIMIT_ROWS:
                raise refused(KIND, f"it has more than {LIMIT_ROWS:,} rows.")
            runs[row.get("run_id") or f"row {count}"] = {
                name: value for name, value in row.items() if name and isinstance(value, str)
            }
    except csv.Error as error:
        raise refused(KIND, f"line {reader.line_num}: {error}.") from error
    if not runs:
        raise refused(KIND, "it has no rows below the header.")
    return list(runs.values()), count


def _sum(runs: Iterable[dict[str, str]], column: str) -> Decimal:
    total = Decimal(0)
    for row in runs:
        text = (row.get(column) or "0").strip()
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or value < 0 or value > 10**12:
            raise refused(KIND, f"{column} is {text[:40]!r}, which is not an amount.")
        total += value
    return total


def _number(value: Decimal) -> float | int:
    """Six digits, which is more than any of these figures is worth."""
    if not value:
        return 0
    digits = 5 - math.floor(math.log10(abs(value)))
    rounded = round(float(value), digits)
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def _common(runs: list[dict[str, str]], column: str) -> str:
    """What every run says there, each once."""
    values = {words(row.get(column), 100) for row in runs}
    return ", ".join(sorted(values - {""}))[:300]


def _place(runs: list[dict[str, str]]) -> str:
    country = _common(runs, "country_name") or _common(runs, "country_iso_code")
    return ", ".join(part for part in (_common(runs, "region"), country) if part)


def _hardware(runs: list[dict[str, str]]) -> str:
    parts = []
    for what in ("gpu", "cpu"):
        model = _common(runs, f"{what}_model")
        many = _common(runs, f"{what}_count").removesuffix(".0")
        if not model:
            continue
        # CodeCarbon counts graphics cards in the model's name already: "2 x NVIDIA A100".
        parts.append(f"{many} x {model}" if many.isdecimal() and " x " not in model else model)
    return "; ".join(parts)
