"""How fast variants ran, where, and how sure that is: rows are added and never changed.

The samples are files of the version; a row keeps what lists, rankings and graphs ask for, and the
record without its samples. A row counts only while its variant still is the file that was run.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.functional import cached_property

from hub.protocol import benchmark_metrics, figures
from hub.protocol.benchmark_metrics import BenchmarkMetric
from hub.protocol.figures import Figure, Kind, Status, Unit
from hub.protocol.intervals import Interval, IntervalMethod
from registry.models.constraints import HEX64, matches, one_of
from runners.engine.benchmark.typed_record import Record
from runners.models.jobs import Job
from runners.models.trust import EnrolledWorker

DEVICE = r"^[a-z0-9]+(-[a-z0-9]+)*$"


class DeviceKind(models.TextChoices):
    CPU = "cpu"
    GPU = "gpu"


class Environment(models.Model):
    """The machine, system and runtime of results; the digest of its parts is its name."""

    digest = models.CharField(max_length=64, primary_key=True)
    parts = models.JSONField(default=dict)
    first_seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["first_seen_at", "digest"]
        constraints = [matches("digest", HEX64, "environment")]

    def __str__(self) -> str:
        return self.digest[:12]


class MeasurementStatus(models.TextChoices):
    """Whether a result may be ranked (accepted), only shown (noisy), or says nothing."""

    ACCEPTED = "accepted"
    NOISY = "noisy"
    REJECTED = "rejected"
    FAILED = "failed"


class MeasurementOrigin(models.TextChoices):
    """Measured by a worker of this hub, or contributed by a person from their own machine."""

    MEASURED = "measured"
    CONTRIBUTED = "contributed"


class Trust(models.TextChoices):
    """Whose word a result is; only the first two are ranked, filtered by and stated in graphs."""

    HUB = "hub", "measured by a worker of this hub"
    ENROLLED = "enrolled", "signed by an enrolled worker"
    UNVERIFIED = "unverified", "sent by anybody"


# Results of this hub's workers, and those signed by a worker that is still enrolled: the others are
# shown apart, and take part in no rank, filter, count or graph.
TRUSTED = Q(trust=Trust.HUB) | Q(trust=Trust.ENROLLED, enrolled_worker__revoked_at=None)
UNTRUSTED = Q(trust=Trust.UNVERIFIED) | Q(
    trust=Trust.ENROLLED, enrolled_worker__revoked_at__isnull=False
)


class Scenario(models.TextChoices):
    """The load patterns of MLPerf Inference, under its names."""

    SINGLE_STREAM = "single_stream"
    MULTI_STREAM = "multi_stream"
    SERVER = "server"
    OFFLINE = "offline"


class CallStyle(models.TextChoices):
    RUN = "run"
    IO_BINDING = "io_binding"


class Provenance(models.TextChoices):
    """Where a figure of energy or carbon comes from; without a meter it is never `measured`."""

    MEASURED = "measured"
    ESTIMATED = "estimated"
    DECLARED = "declared"
    NONE = "none"


class Measurement(models.Model):
    """One result of a benchmark: one variant, one configuration, one environment."""

    Status = MeasurementStatus
    Origin = MeasurementOrigin

    Trust = Trust
    PUBLIC = (Status.ACCEPTED, Status.NOISY)
    # The same as `is_by_throughput`, of rows.
    BY_THROUGHPUT = Q(latency_bound_ms__isnull=False) | Q(scenario=Scenario.OFFLINE)
    TRUSTED, UNTRUSTED = TRUSTED, UNTRUSTED

    variant = models.ForeignKey("registry.Variant", models.CASCADE, related_name="measurements")
    entry_sha256 = models.CharField(max_length=64)
    origin = models.CharField(max_length=11, choices=MeasurementOrigin.choices)
    job = models.ForeignKey(Job, models.CASCADE, null=True, blank=True, related_name="measurements")
    attempt = models.PositiveIntegerField(default=0)
    contributor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    trust = models.CharField(max_length=10, choices=Trust.choices)
    enrolled_worker = models.ForeignKey(
        EnrolledWorker, models.PROTECT, null=True, blank=True, related_name="+"
    )
    signature = models.CharField(
        max_length=86, blank=True, default="", help_text="Ed25519, of what the worker signed"
    )
    ordinal = models.PositiveSmallIntegerField(default=0, help_text="its place in a sweep")
    record_sha256 = models.CharField(max_length=64)
    record_file = models.ForeignKey(
        "registry.File", models.PROTECT, null=True, blank=True, related_name="+"
    )
    samples_file = models.ForeignKey(
        "registry.File", models.PROTECT, null=True, blank=True, related_name="+"
    )
    status = models.CharField(max_length=8, choices=MeasurementStatus.choices)
    reasons = models.JSONField(default=list)
    comparability_key = models.CharField(max_length=64)
    environment = models.ForeignKey(Environment, models.PROTECT, related_name="measurements")
    device = models.CharField(max_length=96, help_text="the device class, as addresses name it")
    device_title = models.CharField(max_length=200)
    device_kind = models.CharField(max_length=3, choices=DeviceKind.choices)
    runtime = models.CharField(max_length=32)
    runtime_version = models.CharField(max_length=64)
    provider = models.CharField(max_length=64, blank=True, default="")
    partial = models.BooleanField(default=False, help_text="other providers did a part of it")
    scenario = models.CharField(max_length=13, choices=Scenario.choices)
    call_style = models.CharField(max_length=10, choices=CallStyle.choices)
    batch = models.PositiveIntegerField(default=1)
    threads = models.PositiveIntegerField(default=0, help_text="in one operator; 0 is unknown")
    concurrency = models.PositiveIntegerField(default=1, help_text="queries in flight at once")
    latency_bound_ms = models.FloatField(
        null=True, blank=True, help_text="of a percentile, in the server scenario"
    )
    samples = models.PositiveBigIntegerField(default=0)
    processes = models.PositiveIntegerField(default=0, help_text="those that counted")
    p50_ms = models.FloatField(null=True, blank=True)
    p50_low_ms = models.FloatField(null=True, blank=True)
    p50_high_ms = models.FloatField(null=True, blank=True)
    p90_ms = models.FloatField(null=True, blank=True)
    p95_ms = models.FloatField(null=True, blank=True)
    p99_ms = models.FloatField(null=True, blank=True)
    between_process_cv = models.FloatField(null=True, blank=True)
    throughput_per_s = models.FloatField(null=True, blank=True)
    cpu_ms = models.FloatField(null=True, blank=True, help_text="processor time per inference")
    peak_rss_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    energy_j = models.FloatField(null=True, blank=True, help_text="per inference")
    energy_provenance = models.CharField(
        max_length=9, choices=Provenance.choices, default=Provenance.NONE
    )
    carbon_g = models.FloatField(null=True, blank=True, help_text="CO2e per inference")
    carbon_provenance = models.CharField(
        max_length=9, choices=Provenance.choices, default=Provenance.NONE
    )
    record = models.JSONField(default=dict, help_text="everything but the samples")
    started_at = models.DateTimeField(null=True, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            one_of("status", MeasurementStatus, "measurement"),
            one_of("origin", MeasurementOrigin, "measurement"),
            one_of("trust", Trust, "measurement"),
            one_of("scenario", Scenario, "measurement"),
            one_of("call_style", CallStyle, "measurement"),
            one_of("energy_provenance", Provenance, "measurement"),
            one_of("device_kind", DeviceKind, "measurement"),
            matches("device", DEVICE, "measurement"),
            matches("entry_sha256", HEX64, "measurement"),
            matches("record_sha256", HEX64, "measurement"),
            matches("comparability_key", HEX64, "measurement"),
            models.UniqueConstraint(fields=["job", "ordinal"], name="measurement_once_per_job"),
            models.UniqueConstraint(
                fields=["variant", "record_sha256", "ordinal"],
                condition=Q(origin="contributed"),
                name="measurement_contributed_once",
            ),
            models.CheckConstraint(
                condition=Q(origin="measured", job__isnull=False, contributor=None)
                | Q(origin="contributed", job=None, contributor__isnull=False),
                name="measurement_says_whose",
            ),
            models.CheckConstraint(
                condition=Q(trust="hub", origin="measured", enrolled_worker=None, signature="")
                | Q(trust="unverified", origin="contributed", enrolled_worker=None, signature="")
                | (
                    Q(trust="enrolled", origin="contributed", enrolled_worker__isnull=False)
                    & ~Q(signature="")
                ),
                name="measurement_trust_has_ground",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=["accepted", "noisy"])
                | Q(p50_ms__isnull=False, p50_ms__gt=0, samples__gt=0, processes__gt=0),
                name="measurement_shown_has_median",
            ),
            models.CheckConstraint(
                condition=Q(p50_low_ms=None, p50_high_ms=None)
                | Q(
                    p50_low_ms__isnull=False,
                    p50_high_ms__isnull=False,
                    p50_low_ms__gte=0,
                    p50_high_ms__gte=F("p50_low_ms"),
                ),
                name="measurement_interval_in_order",
            ),
            models.CheckConstraint(
                condition=(Q(p90_ms=None) | Q(p90_ms__gte=F("p50_ms")))
                & (Q(p95_ms=None) | Q(p95_ms__gte=F("p50_ms")))
                & (Q(p99_ms=None) | Q(p99_ms__gte=F("p50_ms"))),
                name="measurement_percentiles_in_order",
            ),
            models.CheckConstraint(condition=Q(batch__gte=1), name="measurement_batch_positive"),
            models.CheckConstraint(
                condition=(Q(concurrency=1) | Q(concurrency__gt=1, scenario="server"))
                & (Q(latency_bound_ms=None) | Q(latency_bound_ms__gte=0, scenario="server")),
                name="measurement_load_of_server",
            ),
            models.CheckConstraint(
                condition=Q(energy_provenance="none", energy_j=None)
                | (~Q(energy_provenance="none") & Q(energy_j__isnull=False, energy_j__gte=0)),
                name="measurement_energy_has_provenance",
            ),
            models.CheckConstraint(
                condition=Q(carbon_provenance="none", carbon_g=None)
                | Q(
                    carbon_provenance__in=["estimated", "declared"],
                    carbon_g__isnull=False,
                    carbon_g__gte=0,
                ),
                name="measurement_carbon_never_measured",
            ),
        ]
        indexes = [
            models.Index(
                fields=["comparability_key", "status", "p50_ms"], name="measurement_ranked"
            ),
            models.Index(fields=["variant", "comparability_key", "-id"], name="measurement_newest"),
            models.Index(fields=["device"], name="measurement_by_device"),
        ]

    def __str__(self) -> str:
        return f"{self.scenario} on {self.runtime} {self.runtime_version}: {self.status}"

    @cached_property
    def typed_record(self) -> Record:
        """The record, read once; without its samples."""
        return Record.read(self.record)

    def figure(self, metric: BenchmarkMetric) -> Figure:
        """One of its figures; a result that is neither accepted nor noisy has none."""
        value = getattr(self, metric.column) if self.status in self.PUBLIC else None
        if value is None:
            basis, reason = metric.basis or ("", "")
            if basis and self.status in self.PUBLIC and getattr(self, basis) is not None:
                return Figure(None, metric.unit, status=Status.UNKNOWN, reasons=(reason,))
            return figures.absent(metric.unit)
        kind = Kind(getattr(self, metric.provenance)) if metric.provenance else Kind.MEASURED
        if kind is Kind.MEASURED and not self.is_trusted:
            kind = Kind.CLAIMED
        low, high = (getattr(self, name, None) for name in metric.interval or ("", ""))
        return Figure(
            value,
            metric.unit,
            kind,
            Status(self.status) if self.is_trusted else Status.UNVERIFIED,
            Interval.between(low, high, IntervalMethod.LOG_MEDIANS),
            tuple(self.reasons),
        )

    @property
    def device_label(self) -> str:
        """The device class for readers: what an unverified record names is a claim."""
        return self.device_title if self.is_trusted else f"{self.device_title} (claimed)"

    @property
    def p50(self) -> Figure:
        """Its median latency."""
        return self.figure(benchmark_metrics.P50)

    @property
    def is_by_throughput(self) -> bool:
        """Whether it is ranked by throughput: its scenario asks how much, and not how fast."""
        return self.latency_bound_ms is not None or self.scenario == Scenario.OFFLINE

    @property
    def is_ranked(self) -> bool:
        """Whether it takes part in a ranking of its comparability key: accepted, and trusted."""
        return self.status == MeasurementStatus.ACCEPTED and self.is_trusted

    @property
    def is_trusted(self) -> bool:
        """The same as TRUSTED, of one result."""
        if self.trust == Trust.ENROLLED:
            return self.enrolled_worker is not None and self.enrolled_worker.revoked_at is None
        return self.trust == Trust.HUB

    @property
    def is_contributed(self) -> bool:
        """Whether a person sent it from their own machine, which the hub has not seen."""
        return self.origin == MeasurementOrigin.CONTRIBUTED


class Verdict(models.TextChoices):
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


class Comparison(models.Model):
    """Two variants of one model run in turn by one job: whether the later is slower."""

    Verdict = Verdict

    job = models.OneToOneField(Job, models.CASCADE, related_name="comparison")
    baseline = models.ForeignKey("registry.Variant", models.CASCADE, related_name="+")
    candidate = models.ForeignKey("registry.Variant", models.CASCADE, related_name="comparisons")
    baseline_sha256 = models.CharField(max_length=64)
    candidate_sha256 = models.CharField(max_length=64)
    environment = models.ForeignKey(Environment, models.PROTECT, related_name="comparisons")
    device = models.CharField(max_length=96)
    device_title = models.CharField(max_length=200)
    runtime = models.CharField(max_length=32)
    runtime_version = models.CharField(max_length=64)
    provider = models.CharField(max_length=64, blank=True, default="")
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    reason = models.CharField(max_length=300, blank=True, default="")
    ratio = models.FloatField(
        null=True, blank=True, help_text="candidate's median over the baseline's"
    )
    ratio_low = models.FloatField(null=True, blank=True)
    ratio_high = models.FloatField(null=True, blank=True)
    cpu_ratio = models.FloatField(null=True, blank=True, help_text="the same of processor time")
    record = models.JSONField(default=dict, help_text="everything but the samples")
    record_file = models.ForeignKey(
        "registry.File", models.PROTECT, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            one_of("verdict", Verdict, "comparison"),
            matches("device", DEVICE, "comparison"),
            matches("baseline_sha256", HEX64, "comparison"),
            matches("candidate_sha256", HEX64, "comparison"),
            models.CheckConstraint(condition=~Q(baseline=F("candidate")), name="comparison_of_two"),
            models.CheckConstraint(
                condition=Q(verdict="inconclusive")
                | Q(
                    ratio__isnull=False,
                    ratio_low__isnull=False,
                    ratio_high__isnull=False,
                    ratio__gt=0,
                    ratio_low__gt=0,
                    ratio_high__gte=F("ratio_low"),
                ),
                name="comparison_verdict_has_interval",
            ),
        ]
        indexes = [models.Index(fields=["candidate", "-id"], name="comparison_newest")]

    def __str__(self) -> str:
        return f"{self.candidate_id} against {self.baseline_id}: {self.verdict}"

    @property
    def figure(self) -> Figure:
        """The ratio as a figure."""
        ends = (self.ratio_low, self.ratio_high)
        if self.ratio is None:
            return figures.absent(Unit.NUMBER)
        interval = Interval.between(*ends, IntervalMethod.SIGNED_RANKS)
        return Figure(self.ratio, Unit.NUMBER, interval=interval)
