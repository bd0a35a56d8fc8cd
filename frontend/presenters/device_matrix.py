"""The latency of a variant by device and runtime: measured, noisy, predicted, or not measured.

Different devices and runtimes stand beside each other without a rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from frontend.presenters import measurements
from hub.protocol.benchmark_metrics import P50
from hub.protocol.figures import Figure, absent
from registry.catalogue import predictions
from runners.benchmarks import offers

if TYPE_CHECKING:
    from registry.models import PredictedSpeed, Variant, Version
    from runners.models import Measurement


class Setup(NamedTuple):
    """A runtime with one of its execution providers."""

    runtime: str
    provider: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The latency on one device and runtime; ``setup`` is set where a worker can measure it."""

    figure: Figure
    url: str = ""
    setup: str = ""


@dataclass(frozen=True, slots=True)
class DeviceMatrix:
    """The titles of runtimes, and for each device its title and its cells in their order."""

    runtimes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def of(
    version: Version, variant: Variant | None, results: Sequence[Measurement], *, may_run: bool
) -> DeviceMatrix | None:
    """The matrix of a variant; ``results`` are its results of single inferences, best first.

    ``may_run`` adds what live workers offer to those who can have a benchmark run. None where
    it would say no more than the list of results, or predictions alone, which have their own table.
    """
    if variant is None:
        return None
    offered = {Setup(offer.runtime, offer.provider) for offer in offers.live()} if may_run else ()
    if not results and not offered:
        return None
    predicted = [row for row in predictions.of_model(version.model_id) if row.variant == variant.pk]
    measured = _first(results)
    devices = {row.device: row.device_label for row in results}
    devices |= {row.device: row.device_title for row in predicted}
    timed = {setup for _, setup in measured}
    setups = {*timed, *map(_setup, predicted), *offered}
    if len(devices) * len(setups) < 2 and setups == timed:
        return None
    expected = {(row.device, _setup(row)): row.figure for row in predicted}

    def cell(device: str, setup: Setup) -> Cell:
        if row := measured.get((device, setup)):
            return Cell(row.p50, measurements.address(row))
        figure = expected.get((device, setup), absent(P50.unit))
        return Cell(figure, setup="/".join(setup) if setup in offered else "")

    ordered = sorted(setups)
    # Workers do not say their device before they have measured something on it.
    titles = devices or {"": "Workers of this hub"}
    return DeviceMatrix(
        tuple(measurements.runtime(*setup) for setup in ordered),
        tuple(
            (title, tuple(cell(device, setup) for setup in ordered))
            for device, title in titles.items()
        ),
    )


def _first(results: Iterable[Measurement]) -> dict[tuple[str, Setup], Measurement]:
    """The best result of each device and runtime."""
    first: dict[tuple[str, Setup], Measurement] = {}
    for row in results:
        first.setdefault((row.device, _setup(row)), row)
    return first


def _setup(row: Measurement | PredictedSpeed) -> Setup:
    return Setup(row.runtime, row.provider)
