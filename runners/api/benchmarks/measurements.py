"""Results of benchmarks as the API gives them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry.api import intervals
from registry.api.addresses import api_url, page_url
from registry.api.outputs import Column, Columns, Digest, Output, Shape
from registry.api.serializers import PARAMETERS
from registry.versions import evidence
from runners.benchmarks import contributions, machines, rankings
from runners.engine.benchmark import record as form
from runners.engine.benchmark.typed_record import Process
from runners.models import (
    Challenge,
    Comparison,
    ContributedRecord,
    EnrolledWorker,
    Environment,
    Measurement,
)
from runners.models.measurements import Provenance


class MeasurementOutput(Output[Measurement]):
    """A benchmark result of one variant, configuration and environment."""

    columns = Columns(
        "id",
        Column("model", "variant.version.model.ref"),
        Column("number", "variant.version.number"),
        Column("variant", "variant.name"),
        Column("precision", "variant.precision"),
        Column("entry_sha256", field=Digest),
        Column("origin", help_text="measured by this hub, or contributed by a user"),
        Column("contributor", "contributor.username", kind=str, default=""),
        Column(
            "trust",
            help_text="hub: a worker of this hub; enrolled: signed by an enrolled worker; "
            "unverified: from any user, listed separately and never ranked",
        ),
        Column(
            "enrolled_worker",
            "enrolled_worker.name",
            kind=str,
            default="",
            help_text="enrolled worker that signed the record",
        ),
        Column("status", help_text="only accepted results are ranked"),
        Column("reasons", kind=list[str]),
        Column("comparability_key", help_text="results may be compared only if this is the same"),
        Column("environment", "environment_id", help_text="its digest"),
        "device",
        Column("device_title", "device_label", kind=str, help_text="with (claimed) if unverified"),
        "runtime",
        "runtime_version",
        Column("provider", help_text="the execution provider"),
        Column("partial", help_text="whether other providers ran part of the model"),
        Column("scenario", kind=str, help_text="a load pattern of MLPerf Inference"),
        Column("call_style", kind=str),
        "batch",
        "threads",
        Column("concurrency", help_text="queries in flight at once, in the server scenario"),
        Column(
            "latency_bound_ms",
            help_text="bound of a latency percentile; such results are ranked by throughput",
        ),
        "samples",
        Column("processes", help_text="number of fresh processes used"),
        Column("p50_ms", help_text="geometric mean of the processes' medians"),
        Column("p50_interval_ms", help_text="ends of the interval of p50; null without one"),
        *intervals.basis("p50"),
        Column("p90_ms", help_text="null if there are too few samples"),
        "p95_ms",
        "p99_ms",
        "between_process_cv",
        Column(
            "throughput_per_s", help_text="samples of all processes divided by their timed seconds"
        ),
        Column("cpu_ms", help_text="CPU time per inference, geometric mean over the processes"),
        "peak_rss_bytes",
        Column("energy_j", help_text="per inference, over all processes"),
        Column(
            "energy_provenance",
            kind=str,
            help_text="measured, estimated, declared or none; unverified results only declare",
        ),
        Column("carbon_g", help_text="CO2e per inference"),
        Column(
            "carbon_provenance",
            kind=str,
            help_text="estimated, declared or none",
        ),
        "at",
        Column("job", "job_id"),
        Column("record", help_text="URL of the complete record"),
        "samples_csv",
        "url",
    )

    @extend_schema_field(serializers.ChoiceField(Measurement.Trust.choices))
    def get_trust(self, row: Measurement) -> str:
        # What a revoked worker signed is anybody's word.
        return str(row.trust if row.is_trusted else Measurement.Trust.UNVERIFIED)

    def get_energy_provenance(self, row: Measurement) -> str:
        # A meter on a machine that nobody vouches for is a claim.
        is_claim = row.energy_provenance == Provenance.MEASURED and not row.is_trusted
        return str(Provenance.DECLARED if is_claim else row.energy_provenance)

    @extend_schema_field(serializers.ListField(child=serializers.FloatField(), allow_null=True))
    def get_p50_interval_ms(self, row: Measurement) -> list[float] | None:
        of = row.p50.interval
        return None if of is None else [of.low, of.high]

    def get_record(self, row: Measurement) -> str:
        return f"{result_url(row)}/record.json"

    def get_samples_csv(self, row: Measurement) -> str:
        return f"{result_url(row)}/samples.csv"

    def get_url(self, row: Measurement) -> str:
        version = row.variant.version
        return page_url(version.model.ref, "v", str(version.number), "benchmarks", str(row.pk))


class MeasurementDetailOutput(MeasurementOutput):
    """A benchmark result with its record, without samples."""

    told = serializers.JSONField(source="record", help_text="the record without its samples")


class ContributedRecordOutput(Output[ContributedRecord]):
    """A contributed record: pending until a worker of the hub has recomputed its outputs."""

    columns = Columns(
        "id",
        Column("model", "variant.version.model.ref"),
        Column("number", "variant.version.number"),
        Column("variant", "variant.name"),
        Column("contributor", "contributor.username", kind=str),
        Column(
            "enrolled_worker",
            "enrolled_worker.name",
            kind=str,
            default="",
            help_text="enrolled worker that signed the record",
        ),
        Column("record_sha256", field=Digest),
        Column("state", help_text="only an accepted record has results"),
        Column("reason", help_text="why it was refused"),
        Column("job", "job_id", help_text="the recomputation of its outputs"),
        "created_at",
        "decided_at",
        Column("benchmarks", kind=list[int], help_text="its results"),
        "url",
    )

    def get_benchmarks(self, row: ContributedRecord) -> list[int]:
        return list(contributions.results_of(row).values_list("pk", flat=True))

    def get_url(self, row: ContributedRecord) -> str:
        return contribution_url(row)


class StandingOutput(Output[rankings.Standing]):
    """A result and its rank within its comparability key."""

    columns = Columns(
        Column(
            "rank",
            help_text="rank among results with the same comparability key; null for contributed "
            "results",
        ),
        Column("bytes", help_text="of the version's files"),
        Column("parameters", help_text=PARAMETERS),
    )

    result = MeasurementOutput(source="row")


class ChallengeOutput(Output[Challenge]):
    """A challenge for one record of one version; only for the user who requested it."""

    columns = Columns(
        Column("challenge", "nonce", help_text="included in the record"),
        Column("seed", help_text="seed of the record's inputs"),
        "issued_at",
        "expires_at",
    )

    def get_seed(self, row: Challenge) -> int:
        return form.seed_of(row.nonce)


class EnrolledWorkerOutput(Output[EnrolledWorker]):
    """A machine whose key signs its owner's contributed records."""

    columns = Columns(
        "name",
        Column("owner", "owner.username"),
        Column("public_key", help_text="Ed25519, base64url"),
        "enrolled_at",
        "revoked_at",
    )


class KeyOutput(Output[rankings.Key]):
    """A comparability key, and the settings that its results share."""

    columns = Columns(
        "key",
        "device",
        "device_title",
        "runtime",
        "runtime_version",
        "provider",
        "scenario",
        "batch",
        "threads",
        "results",
    )


class DeviceOutput(Output[machines.Device]):
    """A class of machines with benchmark results."""

    columns = Columns(
        "name",
        "title",
        Column("kind", help_text="cpu or gpu"),
        "measurements",
        "models",
    )


class EnvironmentOutput(Output[Environment]):
    """The machine, system and runtime of results; its digest is that of its canonical JSON."""

    columns = Columns("digest", "parts", "first_seen_at")


class ProcessOutput(Output[Process]):
    """The samples of one process in order."""

    columns = Columns(
        "ordinal",
        "rejected",
        "reasons",
        Column("kept_every", help_text="one sample is kept for this many queries"),
        "samples_ns",
    )


class SamplesOutput(Shape[Any]):
    """Every sample of a result."""

    columns = Columns(
        Column("benchmark", kind=int), Column("processes", field=ProcessOutput, many=True)
    )


class ComparisonOutput(Output[Comparison]):
    """A comparison of two variants: the later one is slower, faster, the same, or unclear."""

    columns = Columns(
        "id",
        Column("variant", "candidate.name"),
        Column("baseline", "baseline.version.number"),
        Column("baseline_variant", "baseline.name"),
        "verdict",
        "reason",
        Column("ratio", help_text="median of this model divided by the baseline's"),
        Column("ratio_interval", help_text="ends of the interval of the ratio; null without one"),
        *intervals.basis("figure"),
        Column("cpu_ratio", help_text="the same ratio for CPU time"),
        "runtime",
        "runtime_version",
        "provider",
        "device",
        "device_title",
        Column("environment", "environment_id"),
        "at",
        Column("job", "job_id"),
    )

    @extend_schema_field(serializers.ListField(child=serializers.FloatField(), allow_null=True))
    def get_ratio_interval(self, row: Comparison) -> list[float] | None:
        of = row.figure.interval
        return None if of is None else [of.low, of.high]


def result_url(row: Measurement) -> str:
    """The address of a result in the API."""
    version = row.variant.version
    return api_url(evidence.api_path(version.model.ref, version.number, "benchmark", row.pk))


def contribution_url(row: ContributedRecord) -> str:
    """The address of a contributed record in the API."""
    version = row.variant.version
    place = f"models/{version.model.ref}/versions/{version.number}"
    return api_url(f"{place}/benchmarks/contributions/{row.pk}")
