"""Results of benchmarks as the API gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry.api.addresses import api_url, page_url
from registry.api.serializers import PARAMETERS, Digest
from runners.engine.benchmark import record as form
from runners.models import Challenge, Comparison, EnrolledWorker, Measurement

if TYPE_CHECKING:
    from registry.models import Version


class MeasurementOutput(serializers.Serializer[Measurement]):
    """A benchmark result of one variant, configuration and environment."""

    id = serializers.IntegerField(source="pk")
    model = serializers.CharField(source="variant.version.model.ref")
    number = serializers.IntegerField(source="variant.version.number")
    variant = serializers.CharField(source="variant.name")
    precision = serializers.CharField(source="variant.precision")
    entry_sha256 = Digest()
    origin = serializers.ChoiceField(
        Measurement.Origin.choices, help_text="measured by this hub, or contributed by a user"
    )
    contributor = serializers.CharField(source="contributor.username", default="")
    trust = serializers.SerializerMethodField(
        help_text="hub: a worker of this hub; enrolled: signed by an enrolled worker; "
        "unverified: from any user, listed separately and never ranked"
    )
    enrolled_worker = serializers.CharField(
        source="enrolled_worker.name",
        default="",
        help_text="enrolled worker that signed the record",
    )
    status = serializers.ChoiceField(
        Measurement.Status.choices, help_text="only accepted results are ranked"
    )
    reasons = serializers.ListField(child=serializers.CharField())
    comparability_key = serializers.CharField(
        help_text="results may be compared only if this is the same"
    )
    environment = serializers.CharField(source="environment_id", help_text="its digest")
    device = serializers.CharField()
    device_title = serializers.CharField()
    runtime = serializers.CharField()
    runtime_version = serializers.CharField()
    provider = serializers.CharField(help_text="the execution provider")
    partial = serializers.BooleanField(help_text="whether other providers ran part of the model")
    scenario = serializers.CharField(help_text="a load pattern of MLPerf Inference")
    call_style = serializers.CharField()
    batch = serializers.IntegerField()
    threads = serializers.IntegerField()
    concurrency = serializers.IntegerField(
        help_text="queries in flight at once, in the server scenario"
    )
    latency_bound_ms = serializers.FloatField(
        allow_null=True,
        help_text="bound of a latency percentile; such results are ranked by throughput",
    )
    samples = serializers.IntegerField()
    processes = serializers.IntegerField(help_text="number of fresh processes used")
    p50_ms = serializers.FloatField(
        allow_null=True, help_text="geometric mean of the processes' medians"
    )
    p50_ci95_ms = serializers.SerializerMethodField(help_text="from the processes' medians")
    p90_ms = serializers.FloatField(allow_null=True, help_text="null if there are too few samples")
    p95_ms = serializers.FloatField(allow_null=True)
    p99_ms = serializers.FloatField(allow_null=True)
    between_process_cv = serializers.FloatField(allow_null=True)
    throughput_per_s = serializers.FloatField(
        allow_null=True, help_text="samples of all processes divided by their timed seconds"
    )
    cpu_ms = serializers.FloatField(
        allow_null=True,
        help_text="CPU time per inference, geometric mean over the processes",
    )
    peak_rss_bytes = serializers.IntegerField(allow_null=True)
    energy_j = serializers.FloatField(
        allow_null=True, help_text="per inference, over all processes"
    )
    energy_provenance = serializers.CharField(help_text="measured, estimated, declared or none")
    carbon_g = serializers.FloatField(allow_null=True, help_text="CO2e per inference")
    carbon_provenance = serializers.CharField(help_text="estimated, declared or none")
    at = serializers.DateTimeField()
    job = serializers.UUIDField(source="job_id", allow_null=True)
    record = serializers.SerializerMethodField(help_text="URL of the complete record")
    samples_csv = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ChoiceField(Measurement.Trust.choices))
    def get_trust(self, row: Measurement) -> str:
        # What a revoked worker signed is anybody's word.
        return str(row.trust if row.is_trusted else Measurement.Trust.UNVERIFIED)

    @extend_schema_field(serializers.ListField(child=serializers.FloatField(), allow_null=True))
    def get_p50_ci95_ms(self, row: Measurement) -> list[float | None] | None:
        return None if row.p50_low_ms is None else [row.p50_low_ms, row.p50_high_ms]

    def get_record(self, row: Measurement) -> str:
        return f"{_place(row.variant.version)}/benchmarks/{row.pk}/record.json"

    def get_samples_csv(self, row: Measurement) -> str:
        return f"{_place(row.variant.version)}/benchmarks/{row.pk}/samples.csv"

    def get_url(self, row: Measurement) -> str:
        version = row.variant.version
        return page_url(version.model.ref, "v", str(version.number), "benchmarks", str(row.pk))


class MeasurementDetailOutput(MeasurementOutput):
    """A benchmark result with its record, without samples."""

    told = serializers.JSONField(source="record", help_text="the record without its samples")


class StandingOutput(serializers.Serializer[Any]):
    """A result and its rank within its comparability key."""

    rank = serializers.IntegerField(
        allow_null=True,
        help_text="rank among results with the same comparability key; null for contributed "
        "results",
    )
    bytes = serializers.IntegerField(allow_null=True, help_text="of the version's files")
    parameters = serializers.IntegerField(allow_null=True, help_text=PARAMETERS)
    result = MeasurementOutput(source="row")


class ChallengeOutput(serializers.Serializer[Challenge]):
    """A challenge for one record of one version; only for the user who requested it."""

    challenge = serializers.CharField(source="nonce", help_text="included in the record")
    seed = serializers.SerializerMethodField(help_text="seed of the record's inputs")
    issued_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    def get_seed(self, row: Challenge) -> int:
        return form.seed_of(row.nonce)


class EnrolledWorkerOutput(serializers.Serializer[EnrolledWorker]):
    """A machine whose key signs its owner's contributed records."""

    name = serializers.CharField()
    owner = serializers.CharField(source="owner.username")
    public_key = serializers.CharField(help_text="Ed25519, base64url")
    enrolled_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class KeyOutput(serializers.Serializer[Any]):
    """A comparability key, and the settings that its results share."""

    key = serializers.CharField()
    device = serializers.CharField()
    device_title = serializers.CharField()
    runtime = serializers.CharField()
    runtime_version = serializers.CharField()
    provider = serializers.CharField()
    scenario = serializers.CharField()
    batch = serializers.IntegerField()
    threads = serializers.IntegerField()
    results = serializers.IntegerField()


class DeviceOutput(serializers.Serializer[Any]):
    """A class of machines with benchmark results."""

    name = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField(help_text="cpu or gpu")
    measurements = serializers.IntegerField()
    models = serializers.IntegerField()


class EnvironmentOutput(serializers.Serializer[Any]):
    """The machine, system and runtime of results; its digest is that of its canonical JSON."""

    digest = serializers.CharField()
    parts = serializers.JSONField()
    first_seen_at = serializers.DateTimeField()


class ProcessOutput(serializers.Serializer[Any]):
    """The samples of one process in order."""

    ordinal = serializers.IntegerField()
    rejected = serializers.BooleanField()
    reasons = serializers.ListField(child=serializers.CharField())
    kept_every = serializers.IntegerField(help_text="one sample is kept for this many queries")
    samples_ns = serializers.ListField(child=serializers.IntegerField())


class SamplesOutput(serializers.Serializer[Any]):
    """Every sample of a result."""

    benchmark = serializers.IntegerField()
    processes = ProcessOutput(many=True)


class ComparisonOutput(serializers.Serializer[Comparison]):
    """A comparison of two variants: the later one is slower, faster, the same, or unclear."""

    id = serializers.IntegerField(source="pk")
    variant = serializers.CharField(source="candidate.name")
    baseline = serializers.IntegerField(source="baseline.version.number")
    baseline_variant = serializers.CharField(source="baseline.name")
    verdict = serializers.ChoiceField(Comparison.Verdict.choices)
    reason = serializers.CharField()
    ratio = serializers.FloatField(
        allow_null=True, help_text="median of this model divided by the baseline's"
    )
    ratio_ci99 = serializers.SerializerMethodField()
    cpu_ratio = serializers.FloatField(allow_null=True, help_text="the same ratio for CPU time")
    runtime = serializers.CharField()
    runtime_version = serializers.CharField()
    provider = serializers.CharField()
    device = serializers.CharField()
    device_title = serializers.CharField()
    environment = serializers.CharField(source="environment_id")
    at = serializers.DateTimeField()
    job = serializers.UUIDField(source="job_id")

    @extend_schema_field(serializers.ListField(child=serializers.FloatField(), allow_null=True))
    def get_ratio_ci99(self, row: Comparison) -> list[float | None] | None:
        return None if row.ratio_low is None else [row.ratio_low, row.ratio_high]


def _place(version: Version) -> str:
    model = version.model
    where = ("models", model.namespace.slug, model.name, "versions", str(version.number))
    return api_url(*where)
