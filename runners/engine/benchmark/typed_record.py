"""The record of a benchmark as typed facts, read once from its JSON document (`record`).

A document that was sent is checked first (`record_shape.check`, `verification.problems`), a stored
one was checked when it came. Where the format is open, what is absent or has another shape is empty
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hub.protocol import stored
from hub.protocol.benchmark_metrics import BenchmarkMetric
from hub.protocol.devices import DeviceClass, device_class
from runners.engine.benchmark import batches, bounds
from runners.engine.benchmark.record import NOT_EXPOSED

Reading = float | str


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a run; of ``kept_every`` queries in a row one is a sample.

    ``reasons`` say why a rejected process does not count. The samples are empty in a record that
    is stored without them.
    """

    ordinal: int = 0
    samples_ns: tuple[int, ...] = ()
    kept_every: int = 1
    rejected: bool = False
    reasons: tuple[str, ...] = ()
    wall_s: float | None = None
    warmup_count: int = 0
    session_load_ms: Reading = NOT_EXPOSED
    first_inference_ms: Reading = NOT_EXPOSED
    peak_rss_bytes: Reading = NOT_EXPOSED
    involuntary_switches: Reading = NOT_EXPOSED
    interference: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """What was run; ``rate_per_s`` is the rate of arrivals at a server."""

    scenario: str = ""
    call_style: str = ""
    seed: int = 0
    batch: int = 0
    intra_op_threads: int = 0
    concurrency: int = 1
    rate_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """The runtime and its execution provider; ``partial`` if others ran some of the nodes."""

    runtime: str = ""
    claimed: str = ""
    partial: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """What a server's rate or an offline batch rests on; all empty in other scenarios.

    ``rate`` is `bounds.SEARCH` where the benchmark chose it within the bound; ``batch_choice`` is
    one of `batches.CHOSEN` and `batches.FIXED`.
    """

    latency_bound_ms: float | None = None
    percentile: str = ""
    rate: str = ""
    rates: tuple[bounds.RateTrial, ...] = ()
    batch_choice: str = ""
    most_batch: int = 0
    batches: tuple[batches.BatchTrial, ...] = ()

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Load:
        """Read the load of a document's configuration."""
        bound, batch = stored.mapping(config.get("bound")), stored.mapping(config.get("batches"))
        return cls(
            latency_bound_ms=stored.amount(bound.get("latency_ms")),
            percentile=stored.text(bound.get("percentile")),
            rate=stored.text(bound.get("rate")),
            rates=tuple(map(bounds.RateTrial.from_record, stored.rows(bound.get("trials")))),
            batch_choice=stored.text(batch.get("choice")),
            most_batch=stored.count(batch.get("most")),
            batches=tuple(map(batches.BatchTrial.from_record, stored.rows(batch.get("tried")))),
        )


@dataclass(frozen=True, slots=True)
class Operator:
    """What the nodes of one operator took in the profiled process; ``share`` None if not stated.

    Of an operator that contains others its time includes theirs.
    """

    operator: str = ""
    provider: str = ""
    nodes: int | None = None
    time_ms: float | None = None
    share: float | None = None
    contains_others: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """The figures of a run, empty without samples.

    ``latency_ms`` has the percentiles that so many samples allow, ``samples_needed`` what each of
    them asks for. ``under_bound_per_s`` is the throughput of a server within its bound, None where
    the bound is exceeded or there is none.
    """

    n_samples: int = 0
    n_processes: int = 0
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    p50_of_processes_ms: float | None = None
    between_process_cv: float | None = None
    session_load_ms: float | None = None
    first_inference_ms: float | None = None
    peak_device_bytes: int | None = None
    p50_ci95_ms: tuple[float, float] | None = None
    samples_needed: Mapping[str, int] = field(default_factory=dict)
    under_bound_per_s: float | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Stats:
        """Read the `stats` of a document."""
        stopping = stored.mapping(row.get("early_stopping"))
        return _READER.read(
            cls,
            row,
            p50_ci95_ms=tuple(row["p50_ci95_ms"]) if row.get("p50_ci95_ms") else None,
            samples_needed={
                name: stored.count(stored.mapping(rule).get("samples_needed"))
                for name, rule in stopping.items()
            },
            under_bound_per_s=stored.amount(
                stored.mapping(row.get("under_bound")).get("throughput_per_s")
            ),
        )


@dataclass(frozen=True, slots=True)
class Energy:
    """How the energy of an inference was measured, and what it covers."""

    method: str = ""
    boundary: str = ""


@dataclass(frozen=True, slots=True)
class Carbon:
    """The yearly mean of the grid that the carbon of an inference was computed from."""

    grid_g_per_kwh: float | None = None
    grid_region: str = ""
    grid_year: int | None = None
    grid_source: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a benchmark; ``data`` is the document that it was read from.

    ``environment`` is the machine as it reports itself, an open set of names; ``gate`` are the
    limits of noise, with words on when they were calibrated.
    """

    data: dict[str, Any]
    device: DeviceClass
    entry_sha256: str
    file_digests: frozenset[str]
    config: Config
    provider: Provider
    load: Load
    processes: tuple[Process, ...]
    operators: tuple[Operator, ...]
    stats: Stats
    energy: Energy
    carbon: Carbon
    sweeps: tuple[Record, ...]
    format_version: int = 0
    challenge: str = ""
    status: str = ""
    reasons: tuple[str, ...] = ()
    content_sha256: str = ""
    comparability_key: str = ""
    environment_digest: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    gate: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Record:
        """Read a document that was checked, whole or without its samples."""
        model, config, profile, hardware = (
            stored.mapping(data.get(name))
            for name in ("model", "config", "per_operator", "comparability")
        )
        return _READER.read(
            cls,
            data,
            data=data,
            device=device_class(
                "gpu" if hardware.get("device") == "gpu" else "cpu",
                str(hardware.get("hardware", "")),
                stored.whole(hardware.get("usable_cpus")),
            ),
            entry_sha256=stored.text(model.get("sha256")),
            file_digests=frozenset(
                stored.text(row.get("sha256")) for row in stored.rows(model.get("files"))
            ),
            config=_READER.read(Config, config),
            provider=_READER.read(Provider, data.get("provider")),
            load=Load.read(config),
            processes=tuple(
                _READER.read(Process, row) for row in stored.rows(data.get("processes"))
            ),
            operators=tuple(
                _READER.read(Operator, row) for row in stored.rows(profile.get("operators"))
            ),
            stats=Stats.read(stored.mapping(data.get("stats"))),
            energy=_READER.read(Energy, data.get("energy")),
            carbon=_READER.read(Carbon, data.get("carbon")),
            sweeps=tuple(cls.read(row["record"]) for row in stored.rows(data.get("sweeps"))),
        )

    @property
    def parts(self) -> tuple[Record, ...]:
        """The record itself and those of its sweeps, each a result of its own."""
        return (self, *self.sweeps)

    @property
    def started_at(self) -> datetime:
        """When the measurement began, in UTC."""
        return datetime.fromisoformat(self.data["started_at"])

    @property
    def ended_at(self) -> datetime:
        """When the measurement ended, in UTC."""
        return datetime.fromisoformat(self.data["ended_at"])

    @property
    def runtime_version(self) -> str:
        """The version of the runtime, as the machine reports it."""
        return str(self.environment.get("runtime_version", NOT_EXPOSED))

    def value(self, metric: BenchmarkMetric) -> float | None:
        """The value of a metric that has a place of its own in records."""
        section, name = metric.source or ("", "")
        return stored.amount(stored.mapping(self.data.get(section)).get(name))

    def provenance(self, metric: BenchmarkMetric) -> str:
        """How that value is known; `none` without a value."""
        section, _ = metric.source or ("", "")
        provenance = stored.text(stored.mapping(self.data.get(section)).get("provenance"))
        return "none" if self.value(metric) is None else provenance

    @property
    def median_ms(self) -> float:
        """The p50 that is shown and ranked: the middle of its interval; 0 without figures."""
        return self.stats.p50_of_processes_ms or 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two records made in turns; ``change`` is a `verdicts.SpeedChange`, as stored.

    The ratios are the candidate's figure over the baseline's, with the ends of its 99 % interval;
    None of too few processes.
    """

    data: dict[str, Any]
    baseline: Record
    candidate: Record
    change: str
    reasons: tuple[str, ...]
    wall_ratio: tuple[float, float, float] | None
    cpu_ratio: tuple[float, float, float] | None

    @classmethod
    def read(cls, data: dict[str, Any]) -> Comparison:
        """Read a comparison that was checked."""
        verdict = data["verdict"]
        wall, cpu = verdict["wall_ratio"], verdict["cpu_ratio"]
        return cls(
            data=data,
            baseline=Record.read(data["baseline"]),
            candidate=Record.read(data["candidate"]),
            change=verdict["word"],
            reasons=tuple(verdict["reasons"]),
            wall_ratio=tuple(wall) if wall else None,
            cpu_ratio=tuple(cpu) if cpu else None,
        )


def _reading(value: object) -> Reading:
    amount = stored.amount(value)
    return stored.text(value) or NOT_EXPOSED if amount is None else amount


_READER = stored.Reader({"Reading": _reading})
