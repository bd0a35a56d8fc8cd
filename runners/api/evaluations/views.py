"""Evaluations over HTTP: measured figures beside claims, and asking for another evaluation."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol.pairs import Pairs
from registry.api import intervals
from registry.api.inputs import Input
from registry.api.operations import VersionView, listing, operation
from registry.api.outputs import Column, Columns, Digest, Output
from runners.api.serializers import JobOutput, job_url
from runners.engine.evaluation import rules
from runners.evaluations import scheduling
from runners.evaluations import selectors as evaluations
from runners.evaluations.selectors import Measured
from runners.models import Job


class PairsOutput(Output[Pairs]):
    """A comparison with the variant that a variant was made from, row by row."""

    columns = Columns(
        Column("rows"),
        Column("gains", help_text="number of rows that this variant alone has right"),
        Column("losses", help_text="number of rows that the other variant alone has right"),
        Column("difference", help_text="accuracy minus that of the other variant"),
        Column("p_value", help_text="two-sided, by the exact test of McNemar"),
    )


class EvaluationOutput(Output[Measured]):
    """A metric of one variant on a split of a data set, measured by this hub."""

    columns = Columns(
        Column("id", "row.pk", kind=int),
        Column("variant", "row.variant.name"),
        Column("entry_sha256", "row.entry_sha256", field=Digest),
        Column("dataset", "row.dataset_version.dataset.slug"),
        Column("dataset_version", "row.dataset_version.number"),
        Column("split", "row.split"),
        Column("metric", "row.metric"),
        Column("value", "row.value"),
        Column(
            "low",
            "row.figure.interval.low",
            kind=float,
            allow_null=True,
            help_text="lower end of the interval; null without one",
        ),
        Column(
            "high",
            "row.figure.interval.high",
            kind=float,
            allow_null=True,
            help_text="upper end of the interval; null without one",
        ),
        *intervals.basis("row.figure"),
        Column(
            "arithmetic",
            "row.arithmetic",
            kind=str,
            help_text="in what arithmetic a half-precision variant was computed; empty for others",
        ),
        Column("rows", "row.rows", help_text="number of evaluated rows"),
        Column("claimed", help_text="value on the card of the model; null if it claims none"),
        Column(
            "less_than_claimed",
            "is_less",
            help_text="whether the claim exceeds the interval by at least 0.01; for shares alone",
        ),
        Column(
            "pairs",
            field=PairsOutput,
            allow_null=True,
            help_text="of an accuracy, the comparison with the variant that it was made from",
        ),
        Column(
            "method",
            help_text="version of the method, number of resamples, and their seed",
        ),
        Column(
            "predictions_sha256",
            "row.predictions_sha256",
            field=Digest,
            help_text="digest of the predictions, one line per row of the split; see docs",
        ),
        Column("runtime", "row.runtime"),
        Column("runtime_version", "row.runtime_version"),
        Column(
            "environment",
            "row.environment",
            kind=dict[str, str],
            help_text="versions of the tools",
        ),
        Column("at", "row.at"),
        Column("job", "row.job_id"),
    )

    @extend_schema_field(serializers.DictField())
    def get_method(self, result: Measured) -> dict[str, Any]:
        return {
            "version": result.row.method,
            "resamples": rules.RESAMPLES,
            "seed": result.row.seed,
        }


class EvaluationInput(Input):
    """An evaluation to run."""

    columns = Columns(
        Column("dataset", max_length=96, help_text="name of a data set of this hub"),
        Column("split", max_length=200),
        Column(
            "version",
            "number",
            min_value=1,
            help_text="version of the data set (default: the newest)",
        ),
        Column("variant", help_text="default: the first variant"),
        of=scheduling.request,
    )


class Evaluations(VersionView):
    """The evaluations of a version."""

    @listing("evaluations_list", EvaluationOutput)
    def index(self) -> list[Measured]:
        """List measured accuracies: the newest of each variant, split and metric."""
        return evaluations.overview(self.version).measured

    @operation("evaluations_create", JobOutput, reads=EvaluationInput, status=202, location=job_url)
    def create(self, version: int | None, **fields: str) -> Job:
        """Evaluate a variant on a split of a data set; returns the job."""
        return scheduling.request(self.request.user, version=self.version, number=version, **fields)
