"""The REST API over collections. Models that the caller does not see are in no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems, refs
from registry.api import etags, pagination
from registry.api.addresses import api_url
from registry.api.inputs import Input, Items, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.collections import selectors, services
from registry.models import Collection, CollectionEntry
from registry.models.collections import (
    LONGEST_DESCRIPTION,
    LONGEST_NOTE,
    LONGEST_TITLE,
    MOST_ENTRIES,
)
from registry.people import selectors as people_selectors
from registry.versions import moves
from registry.versions import selectors as model_selectors

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.core.permissions import Actor
    from registry.models import RegisteredModel

_MODEL = "namespace/name of a model"


class CollectionOutput(Output[Collection]):
    """A collection in a list."""

    columns = Columns(
        Column("namespace", "namespace.slug"),
        "slug",
        "title",
        Column("description", help_text="plain text"),
        "visibility",
        "model_count",
        "created_at",
        "updated_at",
        "url",
    )

    model_count = serializers.IntegerField(help_text="number of models in it that you can see")

    def get_url(self, row: Collection) -> str:
        return f"{settings.HUB_PUBLIC_URL}/collections/{row.ref}"


class CollectionEntryOutput(Output[CollectionEntry]):
    """A model in a collection."""

    columns = Columns(
        Column("model", "model.ref"), "note", Column("summary", "model.summary"), "added_at"
    )


class CollectionDetailOutput(CollectionOutput):
    """A collection with its models, in their order."""

    entries = CollectionEntryOutput(many=True, source="visible_entries")
    unavailable = serializers.IntegerField(
        allow_null=True,
        help_text="number of models in it that you cannot see; null unless you can change it",
    )


class CollectionEdit(Input):
    """The changeable fields of a collection; omitted fields stay unchanged."""

    title = serializers.CharField(max_length=LONGEST_TITLE, required=False)
    description = serializers.CharField(
        max_length=LONGEST_DESCRIPTION, allow_blank=True, required=False, help_text="plain text"
    )
    visibility = serializers.ChoiceField(
        Collection.Visibility.choices,
        required=False,
        help_text="who can see the collection",
    )


class CollectionInput(CollectionEdit):
    """A new collection."""

    namespace = serializers.CharField()
    slug = serializers.CharField(max_length=96)


class CollectionNoteInput(Input):
    """The note of a model in a collection."""

    note = serializers.CharField(
        max_length=LONGEST_NOTE, allow_blank=True, help_text="why the model is in the collection"
    )


class CollectionEntryInput(Input):
    """A model to add to a collection."""

    model = serializers.CharField(max_length=200, help_text=_MODEL)
    note = serializers.CharField(
        max_length=LONGEST_NOTE,
        allow_blank=True,
        required=False,
        help_text="why the model is in the collection",
    )


class CollectionOrderInput(Input):
    """The models that come first in a collection."""

    models = Items(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MOST_ENTRIES,
        help_text="namespace/name of the models that come first, in this order",
    )


class CollectionsQuery(serializers.Serializer[Any]):
    """What a list of collections is asked for."""

    namespace = serializers.CharField(
        required=False, max_length=96, help_text="only collections of this namespace"
    )
    model = serializers.CharField(
        required=False, max_length=200, help_text="only collections that contain this model"
    )


def detail(request: Request, of: Collection) -> dict[str, Any]:
    """A collection as the API returns it to the caller."""
    row = selectors.collections(request.user).get(pk=of.pk)
    data = dict(CollectionOutput(row).data)
    entries = selectors.entries(request.user, row)
    data["entries"] = [CollectionEntryOutput(entry).data for entry in entries]
    data["unavailable"] = selectors.unavailable(request.user, row)
    return data


def _model(actor: Actor, ref: str, pointer: str = "/model") -> RegisteredModel:
    """A model by `namespace/name`, also by a former one; raises InvalidRequest, NotFound."""
    try:
        named = refs.parse(ref)
    except problems.InvalidReference as error:
        raise problems.InvalidRequest.at(pointer, error.detail) from error
    if str(named) != named.name:
        raise problems.InvalidRequest.at(
            pointer, f"A collection contains whole models. Write {named.name}."
        )
    return _named_model(actor, named.namespace, named.model)


def _named_model(actor: Actor, namespace: str, name: str) -> RegisteredModel:
    try:
        return model_selectors.model(actor, namespace, name)
    except moves.Moved as moved:
        return model_selectors.model(actor, *moved.new.split("/"))


class CollectionList(APIView):
    """Every collection that the caller may see."""

    @extend_schema(operation_id="collections_list", responses=pagination.paged(CollectionOutput))
    @asks(CollectionsQuery, *PAGED)
    def get(self, request: Request) -> Response:
        """List collections, newest first; narrow with `namespace` and `model`."""
        query = parse(CollectionsQuery, request.query_params.dict())
        model = query.get("model")
        rows = selectors.collections(
            request.user,
            namespace=query.get("namespace", ""),
            model=_model(request.user, model) if model else None,
        )
        return pagination.highest_first(request, CollectionOutput, rows, "id")

    @extend_schema(
        operation_id="collections_create",
        request=CollectionInput,
        responses={201: CollectionDetailOutput},
    )
    def post(self, request: Request) -> Response:
        """Create an empty collection. Without a title, its name is the title."""
        data = parse(CollectionInput, request.data)
        namespace = people_selectors.namespace(data.pop("namespace"))
        collection = services.create(request.user, namespace=namespace, **data)
        response = etags.respond(request, detail(request, collection), status=201)
        response["Location"] = api_url("collections", collection.ref)
        return response


class CollectionDetail(APIView):
    """One collection."""

    @extend_schema(operation_id="collections_read", responses=CollectionDetailOutput)
    def get(self, request: Request, namespace: str, slug: str) -> Response:
        """Read a collection with the models in it that you can see."""
        collection = selectors.collection(request.user, namespace, slug)
        return etags.respond(request, detail(request, collection))

    @extend_schema(
        operation_id="collections_edit", request=CollectionEdit, responses=CollectionDetailOutput
    )
    def patch(self, request: Request, namespace: str, slug: str) -> Response:
        """Change title, description or visibility of a collection; needs If-Match."""
        collection = selectors.collection(request.user, namespace, slug)
        etags.require(request, etags.of(detail(request, collection)))
        data = parse(CollectionEdit, request.data)
        collection = services.edit(request.user, collection=collection, **data)
        return etags.respond(request, detail(request, collection))

    @extend_schema(operation_id="collections_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, slug: str) -> Response:
        """Delete a collection; its models stay. For maintainers."""
        collection = selectors.collection(request.user, namespace, slug)
        services.delete(request.user, collection=collection)
        return Response(status=204)


class CollectionModelList(APIView):
    """The models of a collection."""

    @extend_schema(
        operation_id="collections_add",
        request=CollectionEntryInput,
        responses={201: CollectionEntryOutput},
    )
    def post(self, request: Request, namespace: str, slug: str) -> Response:
        """Add a model at the end of a collection."""
        collection = selectors.collection(request.user, namespace, slug)
        data = parse(CollectionEntryInput, request.data)
        model = _model(request.user, data.pop("model"))
        entry = services.add(request.user, collection=collection, model=model, **data)
        return Response(CollectionEntryOutput(entry).data, status=201)


class CollectionModelDetail(APIView):
    """A model in a collection."""

    @extend_schema(
        operation_id="collections_annotate",
        request=CollectionNoteInput,
        responses=CollectionEntryOutput,
    )
    def patch(
        self, request: Request, namespace: str, slug: str, model_namespace: str, model_name: str
    ) -> Response:
        """Change the note of a model in a collection."""
        collection = selectors.collection(request.user, namespace, slug)
        model = _named_model(request.user, model_namespace, model_name)
        data = parse(CollectionNoteInput, request.data)
        entry = services.annotate(request.user, collection=collection, model=model, **data)
        return Response(CollectionEntryOutput(entry).data)

    @extend_schema(operation_id="collections_remove", responses={204: None})
    def delete(
        self, request: Request, namespace: str, slug: str, model_namespace: str, model_name: str
    ) -> Response:
        """Remove a model from a collection; the model itself stays."""
        collection = selectors.collection(request.user, namespace, slug)
        model = _named_model(request.user, model_namespace, model_name)
        services.remove(request.user, collection=collection, model=model)
        return Response(status=204)


class CollectionOrder(APIView):
    """The order of a collection."""

    @extend_schema(
        operation_id="collections_reorder",
        request=CollectionOrderInput,
        responses=CollectionDetailOutput,
    )
    def put(self, request: Request, namespace: str, slug: str) -> Response:
        """Put models first in a collection; those that are not named follow in their order."""
        collection = selectors.collection(request.user, namespace, slug)
        names = parse(CollectionOrderInput, request.data)["models"]
        first = [_model(request.user, name, f"/models/{place}") for place, name in enumerate(names)]
        services.reorder(request.user, collection=collection, first=first)
        return etags.respond(request, detail(request, collection))


class CollectionUnavailable(APIView):
    """The models of a collection that the caller cannot see."""

    @extend_schema(operation_id="collections_remove_unavailable", responses={204: None})
    def delete(self, request: Request, namespace: str, slug: str) -> Response:
        """Remove the models that you cannot see from a collection that you can change."""
        collection = selectors.collection(request.user, namespace, slug)
        services.remove_unavailable(request.user, collection=collection)
        return Response(status=204)
