"""The REST API over data sets: entries that everyone may read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.views import APIView

from registry.api import etags, pagination
from registry.api.addresses import api_url
from registry.api.inputs import Input, Items, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.api.serializers import ReasonInput
from registry.cards.personal_data import CATEGORIES, LEGAL_BASES
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

    def get_url(self, row: Dataset) -> str:
        return f"{settings.HUB_PUBLIC_URL}/datasets/{row.slug}"


class DatasetUseOutput(Output[Version]):
    """A version whose card names a data set."""

    columns = Columns("ref", "number")


class DatasetDetailOutput(DatasetOutput):
    """A data set with the newest version of each model that names it."""

    used_by = DatasetUseOutput(many=True, source="shown_uses")


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


def detail(request: Request, dataset: Dataset) -> dict[str, Any]:
    """A data set as the API returns it to the caller."""
    data = dict(DatasetOutput(dataset).data)
    uses = selectors.uses(request.user, dataset)
    data["used_by"] = [{"ref": one.ref, "number": one.number} for one in uses]
    return data


class DatasetList(APIView):
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

    @extend_schema(
        operation_id="datasets_create", request=DatasetInput, responses={201: DatasetDetailOutput}
    )
    def post(self, request: Request) -> Response:
        """Describe a data set."""
        data = parse(DatasetInput, request.data)
        namespace = people_selectors.namespace(data.pop("namespace"))
        dataset = services.create(request.user, namespace=namespace, **data)
        response = etags.respond(request, detail(request, dataset), status=201)
        response["Location"] = api_url("datasets", dataset.slug)
        return response


class DatasetDetail(APIView):
    """One data set."""

    @extend_schema(operation_id="datasets_read", responses=DatasetDetailOutput)
    def get(self, request: Request, slug: str) -> Response:
        """Read a data set, with the models that name it and that you can see."""
        return etags.respond(request, detail(request, selectors.dataset(slug)))

    @extend_schema(operation_id="datasets_edit", request=DatasetEdit, responses=DatasetDetailOutput)
    def patch(self, request: Request, slug: str) -> Response:
        """Change a data set; needs If-Match."""
        dataset = selectors.dataset(slug)
        etags.require(request, etags.of(detail(request, dataset)))
        data = parse(DatasetEdit, request.data)
        dataset = services.edit(request.user, dataset=dataset, **data)
        return etags.respond(request, detail(request, dataset))


class DatasetWithdraw(APIView):
    """Takes a data set out of lists and graphs."""

    @extend_schema(
        operation_id="datasets_withdraw", request=ReasonInput, responses=DatasetDetailOutput
    )
    def post(self, request: Request, slug: str) -> Response:
        """Withdraw a data set; its page remains and shows the reason."""
        dataset = services.withdraw(
            request.user, dataset=selectors.dataset(slug), **parse(ReasonInput, request.data)
        )
        return etags.respond(request, detail(request, dataset))


class DatasetRestore(APIView):
    """Brings a withdrawn data set back."""

    @extend_schema(operation_id="datasets_restore", request=Input, responses=DatasetDetailOutput)
    def post(self, request: Request, slug: str) -> Response:
        """Undo a withdrawal."""
        dataset = services.restore(request.user, dataset=selectors.dataset(slug))
        return etags.respond(request, detail(request, dataset))
