"""What the workers proved: rows are added and never changed, so old verdicts stay readable."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from registry.models.constraints import one_of
from runners.models.jobs import Job


class CatchUp(models.Model):
    """How far the published versions of before were looked at for something that is new."""

    cursor = models.BigIntegerField(default=0, help_text="the last version that was looked at")
    caught_up_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Runtime(CatchUp):
    """One version of a runtime that a worker offered, and how far its verdicts have caught up."""

    name = models.CharField(max_length=32)
    version = models.CharField(max_length=64)
    first_seen_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "first_seen_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="runtime_version_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class MethodSet(CatchUp):
    """The methods of kinds of jobs that are scheduled together, and how far they have caught up.

    ``methods`` has each kind with its version, such as `describe 4, upgrade 3`.
    """

    methods = models.CharField(max_length=255, unique=True)
    first_seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["first_seen_at", "pk"]

    def __str__(self) -> str:
        return self.methods


class Outcome(models.TextChoices):
    """The outcome values of EARL 1.0 (W3C Evaluation and Report Language, 2.7)."""

    PASSED = "passed"
    FAILED = "failed"
    CANT_TELL = "cantTell"
    INAPPLICABLE = "inapplicable"
    UNTESTED = "untested"


class ConformanceCheck(models.TextChoices):
    BUNDLED = "bundled"
    REFERENCE = "reference"
    OPTIMISATION = "optimisation"
    DETERMINISM = "determinism"


class Blame(models.TextChoices):
    """Who is at fault; the graph optimiser of the runtime where the fault is gone without it."""

    RUNTIME = "runtime"
    OPTIMISER = "optimiser"
    DATA = "data"
    REFERENCE = "reference"


class ConformanceVerdict(models.TextChoices):
    """A result in a word for people: its outcome, or whose fault it is."""

    PASSED = "passed", "passed"
    FAILED = "failed", "failed"
    DOES_NOT_RUN = "does-not-run", "does not run"
    WRONG_OPTIMISER = "optimiser-wrong", "optimiser wrong"
    WRONG_DATA = "data-wrong", "data wrong"
    WRONG_REFERENCE = "reference-wrong", "reference wrong"
    CANT_TELL = "cant-tell", "can't tell"
    UNTESTED = "not-tested", "not tested"
    INAPPLICABLE = "does-not-apply", "does not apply"


_VERDICTS = {
    Outcome.PASSED: ConformanceVerdict.PASSED,
    Outcome.FAILED: ConformanceVerdict.FAILED,
    Outcome.CANT_TELL: ConformanceVerdict.CANT_TELL,
    Outcome.INAPPLICABLE: ConformanceVerdict.INAPPLICABLE,
    Outcome.UNTESTED: ConformanceVerdict.UNTESTED,
}
_BY_BLAME: dict[str, ConformanceVerdict] = {
    Blame.OPTIMISER: ConformanceVerdict.WRONG_OPTIMISER,
    Blame.DATA: ConformanceVerdict.WRONG_DATA,
    Blame.REFERENCE: ConformanceVerdict.WRONG_REFERENCE,
}


class ConformanceResult(models.Model):
    """What one check said of one variant on one version of a runtime.

    `failed` is a fault of the runtime or of the model: where the data or the reference are wrong
    the outcome is `cantTell`.
    """

    Outcome = Outcome

    Check = ConformanceCheck

    Blame = Blame

    job = models.ForeignKey(Job, models.CASCADE, related_name="conformance")
    variant = models.ForeignKey(
        "registry.Variant", models.CASCADE, related_name="conformance_results"
    )
    entry_sha256 = models.CharField(max_length=64)
    runtime = models.CharField(max_length=32)
    runtime_version = models.CharField(max_length=64)
    check_kind = models.CharField(max_length=16, choices=ConformanceCheck.choices)
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    blames = models.CharField(max_length=9, choices=Blame.choices, blank=True, default="")
    runs = models.BooleanField(
        null=True, help_text="whether the runtime ran some input to its end; null where not tried"
    )
    graph_pass = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="passes of the graph optimiser that are at fault, joined by commas",
    )
    reason = models.TextField(blank=True, default="")
    profile = models.CharField(max_length=32, blank=True, default="")
    datasets = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0.0)
    figures = models.JSONField(default=list, help_text="per data set and output")
    node = models.JSONField(null=True, blank=True, help_text="the first node that diverged")
    evidence = models.ForeignKey(
        "registry.File", models.PROTECT, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "runtime", "check_kind"], name="conformance_once_per_job"
            ),
            one_of("outcome", Outcome, "conformance"),
            one_of("check_kind", ConformanceCheck, "conformance"),
            models.CheckConstraint(
                condition=models.Q(blames="") | models.Q(blames__in=Blame.values),
                name="conformance_blames_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(blames__in=[Blame.DATA.value, Blame.REFERENCE.value])
                | models.Q(outcome=Outcome.CANT_TELL.value),
                name="conformance_wrong_data_fail_nobody",
            ),
            models.CheckConstraint(
                condition=~models.Q(blames=Blame.OPTIMISER.value)
                | models.Q(outcome=Outcome.FAILED.value),
                name="conformance_wrong_optimiser_fails",
            ),
            models.CheckConstraint(
                condition=models.Q(graph_pass="") | models.Q(blames=Blame.OPTIMISER.value),
                name="conformance_pass_of_the_optimiser",
            ),
            models.CheckConstraint(
                condition=models.Q(runs=None)
                | models.Q(runs=True)
                | ~models.Q(outcome=Outcome.PASSED.value),
                name="conformance_passes_only_what_runs",
            ),
        ]
        indexes = [
            models.Index(
                fields=["variant", "runtime", "check_kind", "-at"], name="conformance_newest"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.check_kind} on {self.runtime} {self.runtime_version}: {self.outcome}"

    @property
    def verdict(self) -> ConformanceVerdict:
        """The result in a word."""
        by_blame = _BY_BLAME.get(self.blames)
        if self.runs is False and by_blame != ConformanceVerdict.WRONG_OPTIMISER:
            return ConformanceVerdict.DOES_NOT_RUN
        return by_blame or _VERDICTS[Outcome(self.outcome)]


class SuiteRun(models.Model):
    """The ONNX backend node tests of one onnx version on one version of a runtime."""

    runtime = models.CharField(max_length=32)
    runtime_version = models.CharField(max_length=64)
    onnx_version = models.CharField(max_length=64)
    parts = models.PositiveIntegerField()
    done = models.JSONField(default=list, help_text="the parts whose cases are here")
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["runtime", "-started_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["runtime", "runtime_version", "onnx_version"], name="suite_run_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.runtime} {self.runtime_version} on the cases of onnx {self.onnx_version}"


class SuiteOutcome(models.TextChoices):
    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"


class SuiteResult(models.Model):
    """How one case of the suite ended."""

    Outcome = SuiteOutcome

    run = models.ForeignKey(SuiteRun, models.CASCADE, related_name="results")
    case = models.CharField(max_length=200)
    operator = models.CharField(max_length=100)
    opset = models.PositiveIntegerField(null=True, blank=True)
    outcome = models.CharField(max_length=11, choices=SuiteOutcome.choices)
    reason = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["operator", "case", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "case"], name="suite_case_once_per_run"),
            one_of("outcome", SuiteOutcome, "suite_result"),
        ]
        indexes = [models.Index(fields=["run", "operator"], name="suite_by_operator")]

    def __str__(self) -> str:
        return f"{self.case}: {self.outcome}"
