"""The shapes of the API: plain serializers, one for each direction, none of which saves."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from hub.protocol import refs
from registry.api.addresses import page_url
from registry.api.inputs import Input, Items
from registry.api.outputs import Column, Columns, Output, Shape
from registry.cards import licences
from registry.catalogue.summaries import Detail, Summary
from registry.models import (
    Membership,
    Ref,
    RegisteredModel,
    SearchDocument,
)
from registry.models.deprecations import LONGEST_MESSAGE
from registry.versions.deprecations import Notice

MACS = "multiply-accumulate operations of a run for usual sizes; null if they were not counted"
MEMORY = "bytes of weights and activations for usual sizes; null if they were not counted"
PARAMETERS = (
    "number of stored values (elements) that outputs are computed with, those in attributes "
    "included, and no settings such as scales or shapes; null if they were not counted"
)


_KEYWORDS: dict[str, Any] = {
    "field": Items,
    "child": serializers.CharField(max_length=64),
    "max_length": 50,
}


class LatestOutput(Shape[Any]):
    """Summary of the newest published version."""

    columns = Columns(
        Column("number", kind=int),
        Column("label", kind=str),
        Column("published_at", kind=str),
        Column("opset", kind=int | None),
        Column("ir_version", kind=int | None),
        Column("precision", kind=str),
        Column("parameters", kind=int | None, help_text=PARAMETERS),
        Column("macs", kind=int | None, default=None, help_text=MACS),
        Column("memory_bytes", kind=int | None, default=None, help_text=MEMORY),
        Column("size", kind=int, help_text="total size of the uploaded files in bytes"),
        Column("entry", kind=str | None),
        Column(
            "training_carbon_kg",
            kind=float | None,
            default=None,
            help_text="kilograms of CO2e, as declared by the card",
        ),
    )


class ModelSummaryOutput(Output[SearchDocument]):
    """A model as lists show it."""

    columns = Columns(
        Column("ref", "title"),
        Column("namespace", "namespace_slug"),
        Column("name", "model.name"),
        Column("visibility", "model.visibility"),
        Column(
            "gate",
            "model.gate",
            help_text="who can download the files: everyone, everyone who requests access, or "
            "approved users",
        ),
        Column("summary", "model.summary"),
        Column("license", "model.license", help_text="as declared; of a long list, the first"),
        Column("licenses", help_text="each licence of a list or choice by itself"),
        "task",
        "keywords",
        "downloads",
        Column("created_at", "model.created_at"),
        "updated_at",
        Column(
            "deprecated_at",
            help_text="when the model or its newest version was deprecated; null if neither was",
        ),
        "url",
    )

    keywords = serializers.ListField(child=serializers.CharField())
    latest = LatestOutput(allow_null=True)

    def get_licenses(self, row: SearchDocument) -> list[str]:
        return _licenses(row.model.license, row.latest)

    def get_url(self, row: SearchDocument) -> str:
        return page_url(row.title)


def iso(at: datetime) -> str:
    """A time as serializers write it."""
    return at.isoformat().replace("+00:00", "Z")


_LATEST = tuple(LatestOutput().fields)


def model_summary(row: Summary) -> dict[str, Any]:
    """What ``ModelSummaryOutput`` says, without asking each field how to say it.

    A list spends most of its time here; the serializer remains what the schema is made from.
    """
    latest = row.latest
    return {
        "ref": row.title,
        "namespace": row.namespace_slug,
        "name": row.model__name,
        "visibility": row.model__visibility,
        "gate": row.model__gate,
        "summary": row.model__summary,
        "license": row.model__license,
        "licenses": _licenses(row.model__license, latest),
        "task": row.task,
        "keywords": row.keywords,
        "downloads": row.downloads,
        "created_at": iso(row.model__created_at),
        "updated_at": iso(row.updated_at),
        "deprecated_at": row.deprecated_at and iso(row.deprecated_at),
        "url": page_url(row.title),
        "latest": latest and {key: latest.get(key) for key in _LATEST},
    }


def _licenses(column: str, latest: dict[str, Any] | None) -> list[str]:
    return list(licences.of_column(column, (latest or {}).get("licenses", ())))


class RefOutput(Output[Ref]):
    """A name for a version."""

    columns = Columns("name", "kind")

    number = serializers.IntegerField(source="version.number")


class DeprecationOutput(Output[Notice]):
    """Why a model or version is deprecated, and what replaces it."""

    columns = Columns(
        "message",
        "at",
        Column(
            "successor",
            help_text="reference of the model or version to use; empty without one that you can "
            "see",
        ),
    )


class DeprecationInput(Input):
    """The reason to stop using a model or version, and what to use."""

    message = serializers.CharField(
        max_length=LONGEST_MESSAGE, help_text="the reason, which is shown to users"
    )
    successor = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=refs.MAX_REFERENCE_CHARACTERS,
        help_text="reference of the model or version to use, such as zoo/resnet50@4",
    )


class ModelOutput(ModelSummaryOutput):
    """A model with its refs and your role."""

    refs = RefOutput(many=True, source="shown_refs")
    role = serializers.ChoiceField(Membership.Role.choices, allow_null=True, source="shown_role")
    deprecation = DeprecationOutput(
        allow_null=True, help_text="of the model itself; its versions have their own"
    )


def model_detail(detail: Detail) -> dict[str, Any]:
    """What ``ModelOutput`` says."""
    return {
        **model_summary(detail.summary),
        "refs": [
            {"name": name, "kind": kind, "number": number} for name, kind, number in detail.refs
        ],
        "role": detail.role,
        "deprecation": detail.deprecation and dict(DeprecationOutput(detail.deprecation).data),
    }


class ModelInput(Input):
    """A new model."""

    columns = Columns(
        Column("namespace", kind=str),
        Column("name", max_length=None),
        "visibility",
        "summary",
        "license",
        "task",
        Column("keywords", **_KEYWORDS, default=list),
        of=RegisteredModel,
    )


class ModelEdit(Input):
    """The changeable fields of a model; omitted fields stay unchanged."""

    columns = Columns(
        "visibility",
        Column(
            "gate",
            help_text="who can download the files: everyone, everyone who requests access, or "
            "approved users",
        ),
        "summary",
        "license",
        "task",
        Column("keywords", **_KEYWORDS),
        of=RegisteredModel,
        required=False,
    )


class MoveInput(Input):
    """The new name of a model; without a namespace, the model stays in its own."""

    columns = Columns(Column("namespace", required=False), "name")


class FacetOutput(Shape[Any]):
    """A value of a facet group and its number of models; null counts models without a value."""

    columns = Columns(Column("value", kind=str | None), Column("count", kind=int))
