"""Where figures of energy and carbon come from: a meter, the operator's word, or nowhere.

Nothing is guessed: without a meter and without the operator's watts the answer is "none", and
without a region there is no carbon. The table of grids lies beside this file with its sources.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.engine.benchmark import devices, readings
from runners.engine.benchmark.record import NOT_EXPOSED

if TYPE_CHECKING:
    from runners.engine.benchmark.options import Options

_SOURCES = {
    "owid": "Ember and Energy Institute, processed by Our World in Data (CC BY 4.0)",
    "iea": "IEA, Global Energy & CO2 Status Report",
}
TABLE = Path(__file__).with_name("grid.csv")


class UnknownRegionError(ValueError):
    """The table of grids has no such region; the message says how one is named."""


def sources(
    options: Options, idle_power_w: float | None, powercap: Path = readings.POWERCAP
) -> dict[str, Any]:
    """Say where energy comes from on this host: the `power` of a record."""
    idle = NOT_EXPOSED if idle_power_w is None else round(idle_power_w, 3)
    if options.declared:
        return {
            "provenance": "declared",
            "method": "as declared",
            "boundary": str(options.declared.get("boundary", "not told")),
            "j_per_inference": options.declared.get("j_per_inference"),
            "source": str(options.declared.get("source", "")),
        }
    if devices.is_gpu(options.provider):
        # Watts of a processor's core say nothing of a board: without its meter there is no figure.
        if devices.joules() is None:
            return {"provenance": "none", "method": "none"}
        return {
            "provenance": "measured",
            "method": "NVML energy counter",
            "boundary": "GPU board",
            "meters": ["nvml"],
            "idle_power_w": idle,
        }
    if found := readings.meters(powercap):
        return {
            "provenance": "measured",
            "method": "RAPL energy counter",
            "boundary": "processor packages, neighbours included",
            "meters": sorted(found),
            "idle_power_w": idle,
        }
    if options.watts_per_core > 0:
        return {
            "provenance": "estimated",
            "method": "CPU time times the operator's watts per busy core",
            "boundary": "process share",
            "watts_per_core": options.watts_per_core,
            "source": "the operator of this host",
        }
    return {"provenance": "none", "method": "none"}


def grid(region: str) -> dict[str, Any] | None:
    """The yearly mean of a region's grid, None where no region is set. Raises UnknownRegionError.

    The mean of the world is given only to whoever asks for WORLD.
    """
    if not region:
        return None
    found = _table().get(region.upper())
    if found is None:
        raise UnknownRegionError(
            f"The table of grids has no region {region!r}; it knows three-letter country codes "
            f"such as FRA, and WORLD."
        )
    return dict(found)


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
