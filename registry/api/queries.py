"""What is asked in addresses: of lists of models, and of references."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as fields

from hub.protocol import proofs
from hub.protocol.filters import FILTERS, Bound, Choice, Day, Text
from hub.protocol.sorts import SORTS
from registry.catalogue.facets import GROUPS
from registry.models.registered_models import LONGEST_REASON


def _require_day(text: str) -> None:
    """Raise ValidationError for a text that is no day."""
    if not Day.is_day(text):
        raise fields.ValidationError("Write a day as YYYY-MM-DD, such as 2026-01-31.")


def _field(filter_: Choice | Bound | Text) -> fields.Field[Any, Any, Any, Any]:
    """A filter as a parameter: repeat one of choices for alternatives."""
    if isinstance(filter_, Bound):
        number: dict[str, Any] = {"required": False, "allow_null": True, "default": None}
        number |= {"min_value": 0, "help_text": filter_.description}
        if filter_.quantity.is_whole:
            return fields.IntegerField(max_value=2**63 - 1, **number)
        return fields.FloatField(**number)
    if isinstance(filter_, Text):
        return fields.CharField(
            validators=[_require_day] if isinstance(filter_, Day) else [],
            required=False,
            allow_blank=True,
            default="",
            max_length=200,
            help_text=filter_.description,
        )
    if filter_.is_closed:
        return _several(filter_.description, fields.ChoiceField(list(filter_.values)))
    return _several(filter_.description)


def _several(
    help_text: str, child: fields.Field[Any, Any, Any, Any] | None = None
) -> fields.ListField:
    """A parameter that can be repeated."""
    return fields.ListField(child=child or fields.CharField(), default=list, help_text=help_text)


def _named(help_text: str) -> fields.CharField:
    """A part of a setup's name."""
    return fields.CharField(
        required=False, allow_blank=True, default="", max_length=96, help_text=help_text
    )


class ModelsQuery(fields.Serializer[Any]):
    """Parameters of a list of models; repeat a choice for alternatives."""

    q = fields.CharField(required=False, allow_blank=True, default="", max_length=200)
    understand = fields.BooleanField(
        required=False,
        default=False,
        help_text="read `q` as a question, such as fast image classifier under 20 MB: "
        "its filters are applied beside those given, what is left is searched for as text",
    )
    sort = fields.ChoiceField(
        list(SORTS),
        required=False,
        help_text="default: `fastest` with `max_p50`, else `accuracy` with `min` or `max`, else "
        "the order of the only `max_` filter, else `updated`; `accuracy` goes by the first `min`, "
        "else the first `max`",
    )
    facets = _several("facet groups to count", fields.ChoiceField(list(GROUPS)))
    min = _several(
        "minimum accuracy that this hub measured of the main variant, as metric=value or "
        "metric@dataset:split=value, such as accuracy@digits=0.9; each one must hold"
    )
    max = _several("maximum of a metric of which less is better, such as rmse@prices=3.5")
    predicted = fields.BooleanField(
        required=False,
        default=False,
        help_text="with `max_p50` and `fastest`: also models that were not measured in the setup, "
        "by the upper end of their prediction",
    )
    device = _named(
        "device class whose speeds are shown and sorted by; filters only with `max_p50`"
    )
    runtime = _named("runtime of these speeds (default: the most used one)")
    provider = _named("execution provider of these speeds (default: the most used one)")

    def get_fields(self) -> dict[str, fields.Field[Any, Any, Any, Any]]:
        """The parameters above, and one for each filter."""
        return {**super().get_fields(), **{name: _field(row) for name, row in FILTERS.items()}}


class DeletionQuery(fields.Serializer[Any]):
    """Why a model is deleted, and whether its address says so."""

    reason = fields.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=LONGEST_REASON,
        help_text="shown at the address of the model",
    )
    tombstone = fields.BooleanField(
        required=False,
        default=True,
        help_text="keep an answer at the address of a public model with the time, the user and "
        "the reason of the deletion, and keep its licence, data and lineage in graphs",
    )


class ResolveQuery(fields.Serializer[Any]):
    """A reference, and what its variant must be."""

    ref = fields.CharField(max_length=512)
    opset = fields.IntegerField(required=False, default=None, allow_null=True, min_value=1)
    variant = fields.CharField(required=False, default=None, allow_null=True)
    precision = fields.CharField(required=False, default=None, allow_null=True)
    strength = fields.ChoiceField(
        choices=[str(least) for least in proofs.SUFFICIENT],
        required=False,
        default=None,
        help_text="least strength of the proof of an upgraded variant (default: that of the hub)",
    )
