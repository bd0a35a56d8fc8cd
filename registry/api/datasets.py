"""The REST API over data sets: entries that everyone may read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers

from registry.api import pagination
from registry.api.addresses import api_url
from registry.api.inputs import Input, Items, parse
from registry.api.operations import View, operation
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.api.serializers import ReasonInput
from registry.cards import licences
from registry.cards.data_categories import CATEGORIES, LEGAL_BASES
from registry.datasets import selectors, services
from registry.models import Dataset, Version
from registry.people import selectors as people_selectors

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response


class DatasetOutput(Output[Dataset]):
    """The description of a data set."""

    columns = Columns(
        "slug",
        Column("namespace", "namespace.slug"),
        "title",
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

    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(max_length=20_000, allow_blank=True, required=False)
    iri = serializers.CharField(max_length=500, allow_blank=True, required=False)
    license = serializers.CharField(max_length=64, allow_blank=True, required=False)
    personal_data = serializers.ChoiceField(Dataset.PersonalData.choices, required=False)
    categories = Items(
        child=serializers.ChoiceField(sorted(CATEGORIES)),
        max_length=len(CATEGORIES),
        required=False,
    )
    legal_basis = serializers.ChoiceField(sorted(LEGAL_BASES), allow_blank=True, required=False)
    source = serializers.CharField(max_length=500, allow_blank=True, required=False)
    rows = serializers.IntegerField(
        min_value=0, max_value=services.LARGEST, allow_null=True, required=False
    )
    size_bytes = serializers.IntegerField(
        min_value=0, max_value=services.LARGEST, allow_null=True, required=False
    )
    collected_on = serializers.DateField(allow_null=True, required=False)


class DatasetInput(DatasetEdit):
    """A new data set."""

    namespace = serializers.CharField()
    slug = serializers.CharField(max_length=96)


class DatasetsQuery(serializers.Serializer[Any]):
    """What a list of data sets is asked for."""

    q = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    cursor = serializers.SlugField(required=False, allow_blank=True, default="")


class DatasetList(View):
    """Every data set that is described here."""

    @extend_schema(
        operation_id="datasets_list",
        responses=pagination.paged(DatasetOutput),
    )
    @asks(DatasetsQuery, *PAGED)
    def get(self, request: Request) -> Response:
        """List data sets by name; filter with `q`."""
        query = parse(DatasetsQuery, request.query_params.dict())
        limit = pagination.limit_of(request)
        rows = selectors.page(query["q"], after=query["cursor"], limit=limit + 1)
        cursor = rows[limit - 1].slug if len(rows) > limit else None
        return pagination.respond(request, DatasetOutput, rows[:limit], cursor)

    @operation(
        "datasets_create",
        DatasetDetailOutput,
        reads=DatasetInput,
        status=201,
        tagged=True,
        location=lambda row: api_url("datasets", row.slug),
    )
    def post(self, namespace: str, **fields: Any) -> Dataset:
        """Describe a data set."""
        space = people_selectors.namespace(namespace)
        return services.create(self.request.user, namespace=space, **fields)


class DatasetView(View):
    """At or below the address of a data set."""

    target = "dataset"

    @cached_property
    def dataset(self) -> Dataset:
        """The data set of the address; raises NotFound."""
        return selectors.dataset(self.kwargs["slug"])


class DatasetDetail(DatasetView):
    """One data set."""

    @operation("datasets_read", DatasetDetailOutput, tagged=True)
    def get(self) -> Dataset:
        """Read a data set, with the models that name it and that you can see."""
        return self.dataset

    @operation("datasets_edit", DatasetDetailOutput, reads=DatasetEdit, tagged=True, guarded=True)
    def patch(self, **changes: Any) -> Dataset:
        """Change a data set; needs If-Match."""
        return services.edit(self.request.user, dataset=self.dataset, **changes)


class DatasetWithdraw(DatasetView):
    """Takes a data set out of lists and graphs."""

    @operation("datasets_withdraw", DatasetDetailOutput, reads=ReasonInput, tagged=True)
    def post(self, reason: str) -> Dataset:
        """Withdraw a data set; its page remains and shows the reason."""
        return services.withdraw(self.request.user, dataset=self.dataset, reason=reason)


class DatasetRestore(DatasetView):
    """Brings a withdrawn data set back."""

    @operation("datasets_restore", DatasetDetailOutput, tagged=True, request=Input)
    def post(self) -> Dataset:
        """Undo a withdrawal."""
        return services.restore(self.request.user, dataset=self.dataset)
