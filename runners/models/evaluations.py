"""How good models' answers are on splits of data sets, as workers measured it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from hub.protocol import accuracy, arithmetic, vocabularies
from hub.protocol.figures import Figure
from hub.protocol.intervals import Interval
from registry.models.constraints import HEX64, known_interval, matches, method_of_interval
from runners.models.jobs import Job


class Evaluation(models.Model):
    """A metric of a variant on a split of a version of a data set, with its interval.

    ``entry_sha256`` is the variant's file that was run, ``predictions_sha256`` the digest of its
    answers to all ``rows``, ``seed`` that of the resamples, ``environment`` the versions of the
    tools. A figure without an interval has no ``interval_method``, and its value as ends.
    ``right_rows`` are the bits of `hub.protocol.pairs`, of accuracies alone; null for many rows.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="evaluations")
    variant = models.ForeignKey("registry.Variant", models.CASCADE, related_name="evaluations")
    entry_sha256 = models.CharField(max_length=64)
    dataset_version = models.ForeignKey(
        "registry.DatasetVersion", models.PROTECT, related_name="evaluations"
    )
    split = models.CharField(max_length=200)
    metric = models.CharField(max_length=16, choices=[(name, name) for name in accuracy.ALL])
    value = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    interval_method = method_of_interval()
    rows = models.PositiveIntegerField()
    method = models.CharField(max_length=8)
    seed = models.BigIntegerField()
    predictions_sha256 = models.CharField(max_length=64)
    right_rows = models.BinaryField(null=True)
    runtime = models.CharField(max_length=32)
    runtime_version = models.CharField(max_length=64)
    environment = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["job", "metric"], name="evaluation_once_per_job"),
            models.UniqueConstraint(
                fields=[
                    "variant",
                    "entry_sha256",
                    "dataset_version",
                    "split",
                    "metric",
                    "method",
                    "runtime",
                    "runtime_version",
                ],
                name="evaluation_unique",
            ),
            models.CheckConstraint(
                condition=Q(metric__in=accuracy.ALL), name="evaluation_metric_known"
            ),
            models.CheckConstraint(condition=Q(low__lte=F("high")), name="evaluation_interval"),
            known_interval("evaluation"),
            models.CheckConstraint(
                condition=~Q(metric__in=accuracy.SHARES)
                | Q(value__gte=0, value__lte=1, low__gte=0, high__lte=1),
                name="evaluation_shares",
            ),
            models.CheckConstraint(
                condition=Q(right_rows=None) | Q(metric="accuracy"),
                name="evaluation_right_rows_of_accuracy",
            ),
            models.CheckConstraint(condition=Q(rows__gte=1), name="evaluation_has_rows"),
            models.CheckConstraint(condition=~Q(split=""), name="evaluation_has_split"),
            matches("entry_sha256", HEX64, "evaluation"),
            matches("predictions_sha256", HEX64, "evaluation"),
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value:g} on {self.dataset_version_id}:{self.split}"

    @property
    def arithmetic(self) -> str:
        """In what arithmetic a half-precision variant was computed; empty for others."""
        return arithmetic.of_precision(self.variant.precision)

    @property
    def figure(self) -> Figure:
        """The value as a figure."""
        interval = Interval.stored(self.low, self.high, self.interval_method)
        return Figure(self.value, vocabularies.unit_of(self.metric), interval=interval)
