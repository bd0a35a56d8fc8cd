"""What latencies are predicted from: the work of variants, and a fit for each setup.

Both are derived from other rows, and may be dropped and made again at any time.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from hub import counting
from registry.models.constraints import HEX64, matches


class VariantWork(models.Model):
    """What a run of a variant does at the sizes that benchmarks give it by default.

    The columns are those of runners.benchmarks.cost_features; none where the cost of a node is
    unknown, and then nothing is predicted.
    """

    variant = models.OneToOneField(
        "registry.Variant", models.CASCADE, primary_key=True, related_name="work"
    )
    entry_sha256 = models.CharField(max_length=64)
    columns = models.JSONField(default=list)
    operators = models.JSONField(default=list)
    has_free_sizes = models.BooleanField(default=False)

    class Meta:
        ordering = ["variant"]
        verbose_name_plural = "variant work"
        constraints = [matches("entry_sha256", HEX64, "variantwork")]

    def __str__(self) -> str:
        return f"work of variant {self.variant_id}"


class LatencyFit(models.Model):
    """How latencies in one setup follow from the work of public models that were measured there."""

    device = models.CharField(max_length=96)
    runtime = models.CharField(max_length=32)
    provider = models.CharField(max_length=64, blank=True, default="")
    training_sha256 = models.CharField(
        max_length=64, help_text="the digest of the ids of the results that it was made from"
    )
    weights = models.JSONField(default=list)
    operators = models.JSONField(default=list)
    factor = models.FloatField(null=True, blank=True)
    median_error = models.FloatField(null=True, blank=True)
    models_measured = models.PositiveIntegerField()
    shortest_ms = models.FloatField(null=True, blank=True)
    longest_ms = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["device", "runtime", "provider"]
        constraints = [
            matches("training_sha256", HEX64, "latencyfit"),
            models.UniqueConstraint(
                fields=["device", "runtime", "provider"], name="latencyfit_unique"
            ),
            models.CheckConstraint(
                condition=Q(factor=None)
                | Q(
                    factor__gte=1,
                    median_error__gte=0,
                    shortest_ms__gt=0,
                    longest_ms__gte=F("shortest_ms"),
                ),
                name="latencyfit_complete",
            ),
        ]

    def __str__(self) -> str:
        count = counting.plural(self.models_measured, "model")
        return f"{self.device} with {self.runtime}: {count}"
