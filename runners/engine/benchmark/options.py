"""Options of a benchmark: every setting with its limits, as plain data of a request."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hub.protocol import stored
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine.benchmark import bounds, provider_options, summary
from runners.engine.benchmark import record as form
from runners.engine.benchmark.requests import SessionRequest

MOST_THREADS, MOST_BATCH, MOST_SAMPLES = 256, 4096, 50_000
MOST_CONCURRENCY, MOST_BOUND_MS = 64, 600_000.0
_MOST_RATE = 1e6
_CHALLENGE = re.compile(r"[0-9a-f]{64}")
# A search at a latency bound waits longer for the samples of its percentile.
_BOUND_CAP_SECONDS = 60.0
_MOST_RANK, _MOST_SIZE = 16, 1 << 20
# What loading, importing and the end of a process may take beside its own phases.
_AROUND_SECONDS = 30.0
_PREPARE_SECONDS = 120.0


class UnusableOptionError(ValueError):
    """A setting is unknown or out of its limits; the message names it, and so does ``option``."""

    def __init__(self, message: str, option: str = "") -> None:
        super().__init__(message)
        self.option = option


@dataclass(frozen=True, slots=True)
class Options:
    """How one configuration is measured; the defaults are the method of docs/benchmarks.md."""

    runtime: str = "onnxruntime"
    # The execution provider of ONNX Runtime; other runtimes are their own.
    provider: str = "CPUExecutionProvider"
    provider_options: dict[str, Any] = field(default_factory=dict)
    strict_provider: bool = False
    scenario: str = form.SINGLE_STREAM
    # Arrivals a second, for the server; 0 is half of what one stream reaches.
    rate_per_s: float = 0.0
    # Queries that the server may have in flight at once, each on a caller of one session.
    concurrency: int = 1
    # The bound of a percentile of latency. Without a rate, the highest one within it is searched.
    latency_bound_ms: float = 0.0
    bound_percentile: str = "p99"
    call_style: str = "run"
    # Rows of one call; 0, which only offline may have, is the batch of the highest throughput.
    batch: int = 1
    most_batch: int = 64
    threads: int = 1
    spinning: bool = True
    # Sizes of named dimensions, and whole shapes of inputs.
    shapes: dict[str, int] = field(default_factory=dict)
    input_shapes: dict[str, list[int]] = field(default_factory=dict)
    # The key `inputs` of the card: values and free sizes that it declares.
    inputs: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    cores: tuple[int, ...] = ()
    processes: int = 10
    least_processes: int = 5
    most_processes: int = 20
    # Further processes in place of those that do not count, where these can still be enough.
    spare_processes: int = 0
    budget_seconds: float = 300.0
    warmup_seconds: float = 1.0
    warmup_cap_seconds: float = 30.0
    timed_seconds: float = 3.0
    most_samples: int = 10_000
    quiet_seconds: float = 2.0
    quiet_wait_seconds: float = 300.0
    # Measure on a busy host all the same: the gate then says what it was worth.
    if_busy: str = "reject"
    # Further configurations of the same job: other batches and other numbers of threads.
    sweep_batch: tuple[int, ...] = ()
    sweep_threads: tuple[int, ...] = ()
    gate: dict[str, Any] = field(default_factory=dict)
    # What the operator says of power and place; see `power`.
    watts_per_core: float = 0.0
    declared: dict[str, Any] = field(default_factory=dict)
    grid_region: str = ""
    worker_image: str = ""
    variant: str = ""
    # What a hub gave for a record that is to be contributed to it: 64 hexadecimal digits.
    challenge: str = ""
    # Of a comparison: the version path of the baseline, and its threads where they are others.
    against: str = ""
    baseline_threads: int = 0

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Options:
        """Read a request's options; raises UnusableOptionError."""
        unknown = sorted(
            str(name)[:40] for name in data.keys() - {member.name for member in fields(cls)}
        )
        if unknown:
            raise UnusableOptionError(f"Unknown benchmark option {', '.join(unknown)}.")
        usual = cls()
        if data.get("scenario") == form.OFFLINE:
            data = {"batch": 0, **data}
        options = cls(
            **{name: _fitting(name, value, getattr(usual, name)) for name, value in data.items()}
        )
        options._check()
        try:
            settings = provider_options.read(
                options.runtime,
                options.provider,
                options.provider_options,
                call_style=options.call_style,
                concurrency=options.concurrency,
            )
        except provider_options.ProviderOptionError as error:
            raise UnusableOptionError(str(error), "provider_options") from None
        return replace(options, provider_options=settings)

    def _check(self) -> None:
        _require("scenario", self.scenario in form.SCENARIOS, ", ".join(form.SCENARIOS))
        _require("call_style", self.call_style in form.CALL_STYLES, ", ".join(form.CALL_STYLES))
        _require("if_busy", self.if_busy in {"reject", "measure"}, "reject, measure")
        fits = not self.challenge or _CHALLENGE.fullmatch(self.challenge) is not None
        _require("challenge", fits, "64 hexadecimal digits")
        self._check_load()
        for name, values, least, most in (
            ("batch", (self.batch or 1, *self.sweep_batch), 1, MOST_BATCH),
            ("most_batch", (self.most_batch,), 1, MOST_BATCH),
            ("concurrency", (self.concurrency,), 1, MOST_CONCURRENCY),
            ("latency_bound_ms", (self.latency_bound_ms,), 0, MOST_BOUND_MS),
            ("threads", (self.threads, *self.sweep_threads), 1, MOST_THREADS),
            ("baseline_threads", (self.baseline_threads,), 0, MOST_THREADS),
            ("processes", (self.processes, self.most_processes), 1, form.MOST_PROCESSES),
            ("spare_processes", (self.spare_processes,), 0, form.MOST_PROCESSES),
            ("most_samples", (self.most_samples,), 10, MOST_SAMPLES),
            ("timed_seconds", (self.timed_seconds,), 0.01, 600),
            ("warmup_seconds", (self.warmup_seconds,), 0, 600),
            ("warmup_cap_seconds", (self.warmup_cap_seconds,), self.warmup_seconds, 600),
            ("quiet_wait_seconds", (self.quiet_wait_seconds,), 0, 3600),
            ("quiet_seconds", (self.quiet_seconds,), 0.1, 60),
            ("budget_seconds", (self.budget_seconds,), 1, 7200),
            ("rate_per_s", (self.rate_per_s,), 0, _MOST_RATE),
            ("seed", (self.seed,), 0, 2**31 - 1),
        ):
            fits = all(least <= value <= most for value in values)
            _require(name, fits, f"{least} to {most}")
        sizes = self.shapes.values()
        fits = all(type(size) is int and 1 <= size <= _MOST_SIZE for size in sizes)
        _require("shapes", fits, f"whole numbers from 1 to {_MOST_SIZE}")
        for shape in self.input_shapes.values():
            fits = isinstance(shape, list) and len(shape) <= _MOST_RANK
            fits = fits and all(type(size) is int and 1 <= size <= _MOST_SIZE for size in shape)
            words = f"lists of at most {_MOST_RANK} whole numbers from 1 to {_MOST_SIZE}"
            _require("input_shapes", fits, words)
        count = len(self.sweep_batch) + len(self.sweep_threads)
        _require("sweep", count <= form.MOST_SWEEPS, f"at most {form.MOST_SWEEPS}")

    def _check_load(self) -> None:
        """What only some scenarios have."""
        is_server = self.scenario == form.SERVER
        for name, is_set in (
            ("concurrency", self.concurrency != 1),
            ("latency_bound_ms", bool(self.latency_bound_ms)),
        ):
            _require(name, is_server or not is_set, "left out, except in the server scenario")
        _require("batch", bool(self.batch) or self.scenario == form.OFFLINE, f"1 to {MOST_BATCH}")
        words = ", ".join(bounds.PERCENTILES)
        _require("bound_percentile", self.bound_percentile in bounds.PERCENTILES, words)

    def session(self, model: Path, **changes: Any) -> SessionRequest:
        """How a child opens, calls and feeds a model."""
        return SessionRequest(
            model=str(model),
            runtime=self.runtime,
            provider=self.provider if self.runtime == ONNXRUNTIME else "",
            provider_options=self.provider_options,
            strict_provider=self.strict_provider,
            call_style=self.call_style,
            threads=self.threads,
            spinning=self.spinning,
            concurrency=self.concurrency,
            batch=self.batch or 1,
            shapes=self.shapes,
            input_shapes=self.input_shapes,
            declared=self.inputs,
            seed=self.seed,
            warmup_seconds=self.warmup_seconds,
            warmup_cap_seconds=self.warmup_cap_seconds,
            **changes,
        )

    @property
    def processors(self) -> int:
        """How many processors the queries in flight can use: those of one, and one each more."""
        return self.threads + self.concurrency - 1

    @property
    def is_searched(self) -> bool:
        """Whether the rate is the highest one within the bound, which has to be found."""
        return bool(self.latency_bound_ms) and not self.rate_per_s

    @property
    def samples_per_query(self) -> int:
        """MLPerf's multi-stream asks eight at once; every other scenario one."""
        return 8 if self.scenario == form.MULTI_STREAM else 1

    @property
    def timed_cap_seconds(self) -> float:
        """When the timed part ends even if it has fewer samples than the percentiles ask."""
        cap = 4 * self.timed_seconds
        return max(cap, _BOUND_CAP_SECONDS) if self.latency_bound_ms else cap

    def gate_in_force(self) -> dict[str, Any]:
        """The limits of noise: the host's calibrated ones, or the provisional ones, said so."""
        calibrated = self.gate.get("limits")
        usable = calibrated if isinstance(calibrated, dict) else {}
        limits = {
            name: _limit(usable.get(name), provisional)
            for name, provisional in summary.PROVISIONAL.items()
        }
        limits["least_processes"] = self.least_processes
        when = str(self.gate.get("calibrated_at") or "")[:40]
        words = when if self.gate.get("is_quiet") is True else f"{when}, on a host not at rest"
        return {**limits, "calibrated": words if when else "no: provisional limits"}

    def process_seconds(self) -> float:
        """Bound one process: warm-up, timed part and what is around them."""
        return self.warmup_cap_seconds + self.timed_cap_seconds + _AROUND_SECONDS

    def job_seconds(self, sides: int = 1) -> float:
        """Bound a whole job of these options, for the limits of its request."""
        each = self.budget_seconds + 2 * self.process_seconds()
        if self.is_searched or not self.batch:
            # The trials before the measurement have a budget of their own.
            each *= 2
        configurations = 1 + len(self.sweep_batch) + len(self.sweep_threads)
        beside_urgent_work = self.budget_seconds + self.process_seconds()
        fixed = self.quiet_wait_seconds + _PREPARE_SECONDS + beside_urgent_work
        return fixed + sides * configurations * each


def _limit(value: Any, provisional: float) -> float:
    fits = stored.is_number(value) and value >= 0
    return min(float(value), provisional) if fits else provisional


def _fitting(name: str, value: Any, usual: Any) -> Any:
    """Give a value of the type of the usual one; a list for a tuple, a whole for a float."""
    if isinstance(usual, tuple):
        whole = isinstance(value, list | tuple) and all(type(element) is int for element in value)
        _require(name, whole, "a list of whole numbers")
        return tuple(value)
    if isinstance(usual, float) and type(value) is int:
        return float(value)
    kind = type(usual)
    _require(name, type(value) is kind, f"a value of type {kind.__name__}")
    return value


def _require(name: str, holds: bool, condition: str) -> None:  # noqa: FBT001 - what must hold
    if not holds:
        raise UnusableOptionError(f"The option {name} must be: {condition}.", name)
