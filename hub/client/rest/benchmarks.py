"""The REST operations of benchmarks, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import Job


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """A challenge for one record of one version; only for the user who requested it."""

    # included in the record
    challenge: str
    # seed of the record's inputs
    seed: int
    issued_at: datetime
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class ContributedRecord:
    """A contributed record: pending until a worker of the hub has recomputed its outputs."""

    id: int
    model: str
    number: int
    variant: str
    contributor: str
    # enrolled worker that signed the record
    enrolled_worker: str | None = None
    record_sha256: str
    # only an accepted record has results
    state: str
    # why it was refused
    reason: str
    # the recomputation of its outputs
    job: str | None
    created_at: datetime
    decided_at: datetime | None
    # its results
    benchmarks: tuple[int, ...]
    url: str


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A benchmark result of one variant, configuration and environment."""

    id: int
    model: str
    number: int
    variant: str
    precision: str
    entry_sha256: str
    # measured by this hub, or contributed by a user
    origin: str
    contributor: str | None = None
    # hub: a worker of this hub; enrolled: signed by an enrolled worker; unverified: from any user,
    # listed separately and never ranked
    trust: str
    # enrolled worker that signed the record
    enrolled_worker: str | None = None
    # only accepted results are ranked
    status: str
    reasons: tuple[str, ...]
    # results may be compared only if this is the same
    comparability_key: str
    # its digest
    environment: str
    device: str
    # with (claimed) if unverified
    device_title: str
    runtime: str
    runtime_version: str
    # the execution provider
    provider: str
    # whether other providers ran part of the model
    partial: bool
    # a load pattern of MLPerf Inference
    scenario: str
    call_style: str
    batch: int
    threads: int
    # queries in flight at once, in the server scenario
    concurrency: int
    # bound of a latency percentile; such results are ranked by throughput
    latency_bound_ms: float | None
    samples: int
    # number of fresh processes used
    processes: int
    # geometric mean of the processes' medians
    p50_ms: float | None
    # ends of the interval of p50; null without one
    p50_interval_ms: tuple[float, ...] | None = None
    # level of the interval in per cent; null without an interval
    interval_level: int | None = None
    # how the interval was computed; null without an interval
    interval_method: str | None = None
    # null if there are too few samples
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    between_process_cv: float | None
    # samples of all processes divided by their timed seconds
    throughput_per_s: float | None
    # CPU time per inference, geometric mean over the processes
    cpu_ms: float | None
    peak_rss_bytes: int | None
    # per inference, over all processes
    energy_j: float | None
    # measured, estimated, declared or none; unverified results only declare
    energy_provenance: str
    # CO2e per inference
    carbon_g: float | None
    # estimated, declared or none
    carbon_provenance: str
    at: datetime
    job: str | None
    # URL of the complete record
    record: str
    samples_csv: str
    url: str


@dataclass(frozen=True, kw_only=True)
class MeasurementDetail(Measurement):
    """A benchmark result with its record, without samples."""

    # the record without its samples
    told: Any


@dataclass(frozen=True, kw_only=True)
class Process:
    """The samples of one process in order."""

    ordinal: int
    rejected: bool
    reasons: tuple[str, ...]
    # one sample is kept for this many queries
    kept_every: int
    samples_ns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Every sample of a result."""

    benchmark: int
    processes: tuple[Process, ...]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A result and its rank within its comparability key."""

    # rank among results with the same comparability key; null for contributed results
    rank: int | None
    # of the version's files
    bytes: int | None
    # number of stored values (elements) that outputs are computed with, those in attributes
    # included, and no settings such as scales or shapes; null if they were not counted
    parameters: int | None
    result: Measurement


class BenchmarksGroup(Group):
    """The operations of benchmarks."""

    def challenge(
        self,
        model: str,
        number: int,
        *,
        reuse: Annotated[bool | None, "return the oldest open one, if any"] = None,
    ) -> Challenge:
        """Create a challenge for one record of this version.

        It can be used once before it expires, and again if the record was refused.
        """
        return self._call(
            Challenge,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/challenges",
            query={"reuse": reuse},
        )

    def contribute(
        self,
        model: str,
        number: int,
        *,
        content: Annotated[Mapping[str, Any], "the JSON document"],
        variant: Annotated[str | None, "default: determined by the file"] = None,
        signature: Annotated[str | None, "signature of the record, from hub bench"] = None,
    ) -> ContributedRecord:
        """Contribute a benchmark record of your own machine, as `hub bench --contribute` does.

        The record contains a challenge from `/benchmarks/challenges`. It is pending until a worker
        of the hub has recomputed its outputs, and has no results before. Without the signature of
        an enrolled worker, these are listed as unverified under your name and never ranked.
        """
        return self._call(
            ContributedRecord,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks",
            query={"variant": variant},
            content=json_of(content),
            headers={"Hub-Signature": signature},
        )

    def contribution(self, model: str, number: int, id: int) -> ContributedRecord:
        """Read the state of a contributed record."""
        return self._call(
            ContributedRecord,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/contributions/{part(id)}",
        )

    def contributions(self, model: str, number: int) -> tuple[ContributedRecord, ...]:
        """List the records contributed to a version, newest first, with their state."""
        return self._items(
            ContributedRecord,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/contributions",
        )

    def list(
        self,
        *,
        batch: int | None = None,
        contributed: Annotated[bool | None, "include contributed results"] = None,
        device: str | None = None,
        key: str | None = None,
        max_bytes: int | None = None,
        max_parameters: int | None = None,
        precision: str | None = None,
        provider: str | None = None,
        runtime: str | None = None,
        scenario: str | None = None,
        sort: Literal["energy", "p50", "throughput"] | None = None,
        task: str | None = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Standing]:
        """Accepted results of each model's newest version, ranked inside their comparability key.

        Results are grouped by comparability key. `keys` lists the keys; `key` selects one.
        """
        return self._pages(
            Standing,
            "benchmarks",
            query={
                "batch": batch,
                "contributed": contributed,
                "device": device,
                "key": key,
                "max_bytes": max_bytes,
                "max_parameters": max_parameters,
                "precision": precision,
                "provider": provider,
                "runtime": runtime,
                "scenario": scenario,
                "sort": sort,
                "task": task,
            },
            limit=limit,
        )

    def of_version(
        self,
        model: str,
        number: int,
        *,
        batch: int | None = None,
        device: str | None = None,
        history: Annotated[bool | None, "include older results"] = None,
        precision: str | None = None,
        provider: str | None = None,
        runtime: str | None = None,
        scenario: str | None = None,
        variant: str | None = None,
    ) -> tuple[Measurement, ...]:
        """List the newest result of each variant and comparability key."""
        return self._items(
            Measurement,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks",
            query={
                "batch": batch,
                "device": device,
                "history": history,
                "precision": precision,
                "provider": provider,
                "runtime": runtime,
                "scenario": scenario,
                "variant": variant,
            },
        )

    def read(self, model: str, number: int, id: int) -> MeasurementDetail:
        """Read a benchmark result with its record, without the samples."""
        return self._call(
            MeasurementDetail,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/{part(id)}",
        )

    def record(self, model: str, number: int, id: int) -> dict[str, Any]:
        """Download the original record with every sample.

        `hub bench verify` checks its figures.
        """
        return self._call(
            dict[str, Any],
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/{part(id)}/record.json",
        )

    def remove(self, model: str, number: int, id: int) -> None:
        """Delete a contributed result; for its contributor and maintainers."""
        self._do(
            "DELETE", f"models/{model_path(model)}/versions/{part(number)}/benchmarks/{part(id)}"
        )

    def run(
        self,
        model: str,
        number: int,
        *,
        variant: str | None = None,
        runtime: str | None = None,
        provider: str | None = None,
        pool: str | None = None,
        effort: Literal["light", "full"] | None = None,
        scenario: str | None = None,
        rate_per_s: Annotated[float | None, "requests per second in the server scenario"] = None,
        concurrency: Annotated[
            int | None, "requests in flight at once in the server scenario, 1 to 64"
        ] = None,
        latency_bound_ms: Annotated[
            float | None,
            "bound of a latency percentile in the server scenario; without rate_per_s, the highest rate within it is searched",
        ] = None,
        bound_percentile: Annotated[str | None, "p50, p90, p95, p99 (default) or p99.9"] = None,
        call_style: str | None = None,
        batch: Annotated[
            int | None, "default: 1; in the offline scenario the one of the highest throughput"
        ] = None,
        most_batch: Annotated[
            int | None, "largest batch to try in the offline scenario (default: 64)"
        ] = None,
        threads: int | None = None,
        shapes: Annotated[Mapping[str, int] | None, "sizes of dynamic dimensions by name"] = None,
        input_shapes: Annotated[
            Mapping[str, Sequence[int]] | None, "complete shapes of inputs by name"
        ] = None,
        sweep_batch: Sequence[int] | None = None,
        sweep_threads: Sequence[int] | None = None,
        provider_options: Annotated[
            Mapping[str, str] | None,
            "options of the execution provider or runtime by name; name the provider too",
        ] = None,
        strict_provider: Annotated[
            bool | None, "fail if another provider would run part of the model"
        ] = None,
    ) -> tuple[Job, ...]:
        """Run benchmarks again; for maintainers. Returns the jobs."""
        return self._items(
            Job,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/runs",
            content=json_of(
                {
                    "variant": variant,
                    "runtime": runtime,
                    "provider": provider,
                    "pool": pool,
                    "effort": effort,
                    "scenario": scenario,
                    "rate_per_s": rate_per_s,
                    "concurrency": concurrency,
                    "latency_bound_ms": latency_bound_ms,
                    "bound_percentile": bound_percentile,
                    "call_style": call_style,
                    "batch": batch,
                    "most_batch": most_batch,
                    "threads": threads,
                    "shapes": shapes,
                    "input_shapes": input_shapes,
                    "sweep_batch": sweep_batch,
                    "sweep_threads": sweep_threads,
                    "provider_options": provider_options,
                    "strict_provider": strict_provider,
                }
            ),
        )

    def samples(self, model: str, number: int, id: int) -> Samples:
        """Download the samples of each process, in nanoseconds."""
        return self._call(
            Samples,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/{part(id)}/samples.json",
        )

    def samples_csv(self, model: str, number: int, id: int) -> str:
        """Download the samples as CSV: process, sample, kept_every, rejected, nanoseconds."""
        return self._text(
            f"models/{model_path(model)}/versions/{part(number)}/benchmarks/{part(id)}/samples.csv"
        )
