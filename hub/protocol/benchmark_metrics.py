"""What a benchmark measures: each metric once, with all that rows, rankings, graphs and pages need.

`docs/architecture.md` lists the files of a new metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hub.protocol.figures import Unit


@dataclass(frozen=True, slots=True)
class BenchmarkMetric:
    """A metric of a result.

    ``name`` and ``title`` are those of the vocabulary; a metric without a title is not in graphs.
    ``label`` is for pages, ``column`` that of a result's row, ``source`` the place of the value in
    a record; percentiles have none, since a record may withhold them. ``provenance`` is the column
    with the kind of each value, empty where all are measured. ``sort`` is the word by which
    rankings are sorted, if they are.
    """

    name: str
    title: str
    label: str
    unit: Unit
    column: str
    source: tuple[str, str] | None = None
    more_is_better: bool = False
    provenance: str = ""
    interval: tuple[str, str] | None = None
    basis: tuple[str, str] | None = None
    sort: str = ""


P50: Final = BenchmarkMetric(
    "latency-p50",
    "Median latency",
    "Latency, p50",
    Unit.MILLISECOND,
    "p50_ms",
    interval=("p50_low_ms", "p50_high_ms"),
    sort="p50",
)
_WITHHELD: Final = ("p50_ms", "too-few-samples")
P90: Final = BenchmarkMetric(
    "latency-p90",
    "Latency that nine of ten queries keep",
    "Latency, p90",
    Unit.MILLISECOND,
    "p90_ms",
    basis=_WITHHELD,
)
P95: Final = BenchmarkMetric(
    "latency-p95",
    "",
    "Latency, p95",
    Unit.MILLISECOND,
    "p95_ms",
    basis=_WITHHELD,
)
P99: Final = BenchmarkMetric(
    "latency-p99",
    "Latency that 99 of 100 queries keep",
    "Latency, p99",
    Unit.MILLISECOND,
    "p99_ms",
    basis=_WITHHELD,
)
PERCENTILES: Final = {"p90": P90, "p95": P95, "p99": P99}
THROUGHPUT: Final = BenchmarkMetric(
    "throughput",
    "Samples per second, of all processes",
    "Throughput, of all processes",
    Unit.PER_SECOND,
    "throughput_per_s",
    ("stats", "throughput_per_s"),
    more_is_better=True,
    sort="throughput",
)
CPU_TIME: Final = BenchmarkMetric(
    "cpu-time",
    "Processor time of an inference",
    "Processor time, mean of processes",
    Unit.MILLISECOND,
    "cpu_ms",
    ("stats", "cpu_ms_per_inference"),
)
PEAK_MEMORY: Final = BenchmarkMetric(
    "peak-memory",
    "Peak memory of a process",
    "Peak memory",
    Unit.BYTE,
    "peak_rss_bytes",
    ("stats", "peak_rss_bytes"),
)
ENERGY: Final = BenchmarkMetric(
    "energy-per-inference",
    "Energy of an inference",
    "Energy of 1 000 inferences",
    Unit.JOULE,
    "energy_j",
    ("energy", "j_per_inference"),
    provenance="energy_provenance",
    sort="energy",
)
CARBON: Final = BenchmarkMetric(
    "co2e-per-inference",
    "CO2 equivalents of an inference",
    "Carbon of 1 000 inferences",
    Unit.GRAM,
    "carbon_g",
    ("carbon", "g_co2e_per_inference"),
    provenance="carbon_provenance",
    basis=("energy_j", "no-grid"),
)
ALL: Final = (P50, P90, P95, P99, THROUGHPUT, CPU_TIME, PEAK_MEMORY, ENERGY, CARBON)
