"""The REST API over data sets: entries that everyone may read."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api import pagination
from registry.api.addresses import api_url
from registry.api.inputs import Input, Items, parse
from registry.api.operations import View, command, detail, operation, resource
from registry.api.outputs import Column, Columns, Output, Shape
from registry.api.parameters import PAGED, asks
from registry.api.version_serializers import ReasonInput
from registry.cards import licences
from registry.cards.data_categories import CATEGORIES, LEGAL_BASES
from registry.datasets import selectors, services
from registry.models import Dataset, Version
from registry.people import selectors as people_selectors


class DatasetOutput(Output[Dataset]):
    """The description of a data set."""

    columns = Columns(
        "slug",
        Column("namespace", "namespace.slug"),
        Column("title", "public_title", kind=str),
        "description",
        "iri",
        "license",
        Column("licenses", help_text="each licence of a list or choice by itself"),
        "personal_data",
        "categories",
        "legal_basis",
        "source",
        "rows",
        "size_bytes",
        "collected_on",
        "created_at",
        "updated_at",
        "withdrawn_at",
        "reason",
        "url",
    )

    categories = serializers.ListField(child=serializers.CharField())

    def get_licenses(self, row: Dataset) -> list[str]:
        return list(licences.named(row.license))

    def get_url(self, row: Dataset) -> str:
        return f"{settings.HUB_PUBLIC_URL}/datasets/{row.slug}"


class WithdrawalInput(ReasonInput):
    """The reason for a withdrawal, and whether the title is that."""

    hide_title = serializers.BooleanField(
        default=False, help_text="hide the title, because it is the reason"
    )


class DatasetUseOutput(Output[Version]):
    """A version whose card names a data set."""

    columns = Columns("ref", "number")


class DatasetDetailOutput(DatasetOutput):
    """A data set with the newest version of each model that names it."""

    used_by = DatasetUseOutput(many=True, source="shown_uses")

    def to_representation(self, instance: Any) -> Any:
        instance.shown_uses = selectors.uses(self.context["request"].user, instance)
        return super().to_representation(instance)


class DatasetEdit(Input):
    """The changeable fields of a data set; omitted fields stay unchanged."""

    columns = Columns(
        "title",
        Column("description", max_length=20_000),
        "iri",
        "license",
        "personal_data",
        Column(
            "categories",
            field=Items,
            child=serializers.ChoiceField(sorted(CATEGORIES)),
            max_length=len(CATEGORIES),
        ),
        Column("legal_basis", choices=sorted(LEGAL_BASES), allow_blank=True),
        "source",
        Column("rows", min_value=0, max_value=services.LARGEST),
        Column("size_bytes", min_value=0, max_value=services.LARGEST),
        "collected_on",
        of=Dataset,
        required=False,
    )


class DatasetInput(DatasetEdit):
    """A new data set."""

    columns = Columns("namespace", Column("slug", max_length=96))


class DatasetsQuery(Shape[Any]):
    """What a list of data sets is asked for."""

    columns = Columns(
        Column("q", max_length=200),
        Column("cursor", field=serializers.SlugField),
        allow_blank=True,
        default="",
    )


class Datasets(View):
    """Every data set that is described here."""

    targets = ("dataset",)
    dataset = resource(selectors.dataset, "slug", needs_actor=False)

    @extend_schema(
        operation_id="datasets_list",
        responses=pagination.paged(DatasetOutput),
    )
    @asks(DatasetsQuery, *PAGED)
    def index(self, request: Request) -> Response:
        """List data sets by name; filter with `q`."""
        query = parse(DatasetsQuery, request.query_params.dict())
        limit = pagination.limit_of(request)
        rows = selectors.page(query["q"], after=query["cursor"], limit=limit + 1)
        cursor = rows[limit - 1].slug if len(rows) > limit else None
        return pagination.respond(request, DatasetOutput, rows[:limit], cursor)

    @operation(
        "datasets_create",
        DatasetDetailOutput,
        targets=(),
        reads=DatasetInput,
        status=201,
        tagged=True,
        location=lambda row: api_url("datasets", row.slug),
    )
    def create(self, namespace: str, **fields: Any) -> Dataset:
        """Describe a data set."""
        space = people_selectors.namespace(namespace)
        return services.create(self.request.user, namespace=space, **fields)

    read = detail(
        "datasets_read",
        DatasetDetailOutput,
        "Read a data set, with the models that name it and that you can see.",
        tagged=True,
    )
    edit = command(
        "datasets_edit",
        services.edit,
        "Change a data set; needs If-Match.",
        DatasetDetailOutput,
        reads=DatasetEdit,
        tagged=True,
        guarded=True,
    )
    withdraw = command(
        "datasets_withdraw",
        services.withdraw,
        "Withdraw a data set; its page remains and shows the reason.",
        DatasetDetailOutput,
        reads=WithdrawalInput,
        tagged=True,
    )
    restore = command(
        "datasets_restore",
        services.restore,
        "Undo a withdrawal.",
        DatasetDetailOutput,
        tagged=True,
        request=Input,
    )
