"""Where figures of energy and carbon come from: a meter, the operator's word, or nowhere.

Nothing is guessed: without a meter and without the operator's watts the answer is "none", and
without a region there is no carbon. The table of grids lies beside this file with its sources.
"""

from __future__ import annotations

import csv
import functools
import re
from pathlib import Path
from typing import Any

from runners.engine.benchmark.options import Options
from runners.engine.benchmark.record import GPU_PROVIDERS, NOT_EXPOSED
from runners.engine.hardware import devices, readings

_SOURCES = {
    "owid": "Ember and Energy Institute, processed by Our World in Data (CC BY 4.0)",
    "iea": "IEA, Global Energy & CO2 Status Report",
}
TABLE = Path(__file__).with_name("grid.csv")
NVML, RAPL = "NVML energy counter", "RAPL energy counter"
BY_CPU_TIME, DECLARED = "CPU time times the operator's watts per busy core", "as declared"
# Method -> the meters that it reads, as zones of powercap and the board's counter are called.
METERS = {NVML: re.compile("nvml"), RAPL: re.compile(r"(?:intel|amd)-rapl:\d{1,3}")}
_METHODS = {"estimated": BY_CPU_TIME, "declared": DECLARED, "none": "none"}
_MOST_WATTS = 1000.0


class UnknownRegionError(ValueError):
    """The table of grids has no such region; the message says how one is named."""


def sources(
    options: Options,
    idle_power_w: float | None,
    powercap: Path = readings.POWERCAP,
    *,
    virtualized: str = NOT_EXPOSED,
) -> dict[str, Any]:
    """Say where energy comes from on this host: the `power` of a record.

    What a guest reads of a processor's counter is its hypervisor's word, and no meter.
    """
    if options.declared:
        return {
            "provenance": "declared",
            "method": DECLARED,
            "boundary": str(options.declared.get("boundary", "not stated")),
            "j_per_inference": options.declared.get("j_per_inference"),
            "source": str(options.declared.get("source", "")),
        }
    if devices.is_gpu(options.provider):
        # Watts of a processor's core say nothing of a board: without its meter there is no figure.
        if devices.joules() is None:
            return {"provenance": "none", "method": "none"}
        return _measured(NVML, "GPU board", ["nvml"], idle_power_w)
    if virtualized != "yes" and (zones := readings.meters(powercap)):
        boundary = "processor packages, neighbours included"
        return _measured(RAPL, boundary, sorted(zones), idle_power_w)
    if options.watts_per_core > 0:
        return {
            "provenance": "estimated",
            "method": BY_CPU_TIME,
            "boundary": "process share",
            "watts_per_core": options.watts_per_core,
            "source": "the operator of this host",
        }
    return {"provenance": "none", "method": "none"}


def _measured(
    method: str, boundary: str, meters: list[str], idle_power_w: float | None
) -> dict[str, Any]:
    return {
        "provenance": "measured",
        "method": method,
        "boundary": boundary,
        "meters": meters,
        "idle_power_w": NOT_EXPOSED if idle_power_w is None else round(idle_power_w, 3),
    }


def grid(region: str) -> dict[str, Any] | None:
    """The yearly mean of a region's grid, None where no region is set. Raises UnknownRegionError.

    The mean of the world is given only to whoever asks for WORLD.
    """
    if not region:
        return None
    row = known_grid(region.upper())
    if row is None:
        raise UnknownRegionError(
            f"Unknown grid region {region!r}. Use a three-letter country code such as FRA, or "
            "WORLD."
        )
    return row


def known_grid(region: str) -> dict[str, Any] | None:
    """A region's row as records hold it; None where the table has none."""
    row = _table().get(region)
    return dict(row) if row is not None else None


def contradiction(power: dict[str, Any], claimed: str) -> str:
    """What is wrong with a record's `power` for a run on this provider; empty for nothing."""
    provenance, method = power["provenance"], power.get("method", "none")
    if provenance == "measured":
        return _of_meter(power.get("meters"), str(method), claimed)
    fault = ""
    if method != _METHODS[provenance]:
        fault = f"a figure that is {provenance} has the method {_METHODS[provenance]!r}"
    elif provenance == "declared" and not power["source"].strip():
        fault = "a declared figure must name its source"
    elif provenance == "estimated" and claimed in GPU_PROVIDERS:
        fault = "watts per CPU core do not apply to a GPU"
    elif provenance == "estimated" and not 0 < power["watts_per_core"] <= _MOST_WATTS:
        fault = f"watts per core must be above 0 and at most {_MOST_WATTS:g}"
    return fault


def _of_meter(meters: Any, method: str, claimed: str) -> str:
    """What is wrong with a figure that is said to be measured by this method."""
    if method not in METERS:
        return f"{method[:80]!r} is no meter: nothing was measured by it"
    if (method == NVML) is not (claimed in GPU_PROVIDERS):
        return f"the {method} does not measure what runs on {claimed}"
    names = meters if isinstance(meters, list) else []
    valid = [name for name in names if isinstance(name, str) and METERS[method].fullmatch(name)]
    return "" if valid and valid == names else f"the {method} has no such meters"


def regions() -> list[str]:
    """The regions that the table knows."""
    return sorted(_table())


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {
        row["region"]: {
            "region": row["region"],
            "name": row["name"],
            "g_per_kwh": float(row["g_per_kwh"]),
            "year": int(row["year"]),
            "source": _SOURCES[row["source"]],
        }
        for row in rows
    }
