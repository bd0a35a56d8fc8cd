"""What the API says of models in a list beyond the models: speeds, and why each of them fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers as fields

from hub.protocol.figures import Kind
from registry.api import intervals, serializers
from registry.api.addresses import api_url
from registry.api.outputs import Column, Columns, Output
from registry.catalogue import accuracies, fits, predictions, searchable, speeds
from registry.catalogue.query import Query
from registry.catalogue.summaries import Summary
from registry.models import DocumentSpeed, PredictedSpeed
from registry.versions import evidence

PREDICTED = "predicted"


class SetupOutput(Output[speeds.Setup]):
    """The setups in which models are measured."""

    columns = Columns("device", "runtime", "provider")


class SpeedOutput(fields.Serializer[Any]):
    """How fast a model's main variant ran, or is predicted to run, in a setup, with its input."""

    status = fields.ChoiceField(
        [*DocumentSpeed.Status.values, PREDICTED], help_text="noisy results are not ranked"
    )
    predicted = fields.BooleanField()
    device = fields.CharField()
    p50_ms = fields.FloatField()
    low_ms = fields.FloatField(allow_null=True, help_text="lower end of the interval of p50")
    high_ms = fields.FloatField(allow_null=True, help_text="upper end of the same")
    interval_level = fields.IntegerField(allow_null=True, help_text=intervals.LEVEL)
    interval_method = fields.CharField(allow_null=True, help_text=intervals.METHOD)
    models_measured = fields.IntegerField(
        allow_null=True, help_text="measured models that a prediction is based on"
    )
    url = fields.CharField(allow_null=True, help_text="URL of the result")


@extend_schema_field({"oneOf": [{"type": "number"}, {"type": "string"}]})
class NumberOrText(fields.Field[Any, Any, Any, Any]):
    """A number in the unit beside it, or words."""


class EvaluatedOutput(Output[fits.Evaluated]):
    """What was evaluated; see `GET …/evaluations` of the version for details."""

    columns = Columns(
        "metric",
        "dataset",
        Column("version", help_text="version of the data set"),
        "split",
        Column("rows", help_text="number of evaluated rows"),
    )


class FitOutput(Output[fits.Fit]):
    """A constraint of the request, and the model's value for it."""

    columns = Columns(
        Column("constraint", help_text="name of the parameter"),
        "limit",
        "value",
        Column("unit", help_text="`ms`, `B`, `MAC`, or empty"),
        "basis",
        Column("low", kind=float, allow_null=True, help_text="lower end of the interval"),
        Column("high", kind=float, allow_null=True, help_text="upper end of the same"),
        Column("interval_level", kind=int, allow_null=True, help_text=intervals.LEVEL),
        Column("interval_method", kind=str, allow_null=True, help_text=intervals.METHOD),
    )

    limit = NumberOrText()
    value = NumberOrText()
    basis = fields.ChoiceField([Kind.MEASURED, Kind.PREDICTED, Kind.COUNT, Kind.CLAIMED])
    evaluated = EvaluatedOutput(allow_null=True, help_text="only with `min` and `max`")


class ListedModelOutput(serializers.ModelSummaryOutput):
    """A listed model, with its speed if a setup was requested, and how it meets the constraints."""

    speed = SpeedOutput(required=False, allow_null=True)
    fits = FitOutput(many=True, required=False, help_text="only with constraints")
    withdrawn_data = fields.BooleanField(
        required=False,
        help_text="whether it was trained on withdrawn data; only with filters on its data",
    )


def of(rows: Sequence[Summary], query: Query, *, is_timed: bool) -> list[dict[str, Any]]:
    """Models as a list gives them, with speeds and why they fit, where these were asked for."""
    by_document: dict[int, DocumentSpeed | PredictedSpeed] = {}
    if is_timed:
        pks = [row.pk for row in rows]
        by_document |= predictions.of_documents(pks, query.setup)
        by_document |= speeds.of_documents(pks, query.setup)
    figures = accuracies.of_documents([row.pk for row in rows], query.accuracy)
    with_marks = searchable.asks_of_data(query)
    marked = searchable.documents_on_withdrawn_data([row.pk for row in rows]) if with_marks else ()
    items = []
    for row in rows:
        item, speed = serializers.model_summary(row), by_document.get(row.pk)
        if is_timed:
            item["speed"] = None if speed is None else _speed(speed, row)
        if with_marks:
            item["withdrawn_data"] = row.pk in marked
        if fits.are_asked(query):
            values = fits.of(
                query,
                row.latest,
                task=row.task,
                licence=row.model__license,
                speed=speed,
                accuracies=figures.get(row.pk, ()),
            )
            item["fits"] = [
                {name: value for name, value in asdict(fit).items() if name != "interval"}
                | intervals.fields(fit.interval)
                for fit in values
            ]
        items.append(item)
    return items


def _speed(row: DocumentSpeed | PredictedSpeed, of: Summary) -> dict[str, Any]:
    """What ``SpeedOutput`` says."""
    figures = {
        "device": row.device,
        "p50_ms": row.p50_ms,
        **intervals.fields(row.figure.interval, "low_ms", "high_ms"),
    }
    if isinstance(row, PredictedSpeed):
        speed = {"status": PREDICTED, "predicted": True, **figures}
        return speed | {"models_measured": row.models_measured, "url": None}
    number = (of.latest or {})["number"]
    url = api_url(evidence.api_path(of.title, number, "benchmark", row.result))
    speed = {"status": str(row.status), "predicted": False, **figures}
    return speed | {"models_measured": None, "url": url}
