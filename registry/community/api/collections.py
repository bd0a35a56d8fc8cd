"""The REST API over collections. Models that the caller does not see are in no answer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings
from rest_framework import serializers

from hub.protocol import problems, refs
from registry.api.addresses import api_url
from registry.api.inputs import Input, Items
from registry.api.operations import View, listing, operation
from registry.api.outputs import Column, Columns, Output
from registry.community.collections import selectors, services
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
    from django.db.models import QuerySet

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

    def to_representation(self, instance: Any) -> Any:
        actor = self.context["request"].user
        row: Any = selectors.collections(actor).get(pk=instance.pk)
        row.visible_entries = selectors.entries(actor, row)
        row.unavailable = selectors.unavailable(actor, row)
        return super().to_representation(row)


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


class CollectionList(View):
    """Every collection that the caller may see."""

    @listing("collections_list", CollectionOutput, CollectionsQuery, by="id")
    def get(self, namespace: str = "", model: str = "") -> QuerySet[Collection]:
        """List collections, newest first; narrow with `namespace` and `model`."""
        actor = self.request.user
        holder = _model(actor, model) if model else None
        return selectors.collections(actor, namespace=namespace, model=holder)

    @operation(
        "collections_create",
        CollectionDetailOutput,
        reads=CollectionInput,
        status=201,
        tagged=True,
        location=lambda row: api_url("collections", row.ref),
    )
    def post(self, namespace: str, **fields: Any) -> Collection:
        """Create an empty collection. Without a title, its name is the title."""
        space = people_selectors.namespace(namespace)
        return services.create(self.request.user, namespace=space, **fields)


class CollectionView(View):
    """At or below the address of a collection that the caller sees."""

    target = "collection"

    @cached_property
    def collection(self) -> Collection:
        """The collection of the address; raises NotFound."""
        return selectors.collection(
            self.request.user, self.kwargs["namespace"], self.kwargs["slug"]
        )


class CollectionDetail(CollectionView):
    """One collection."""

    @operation("collections_read", CollectionDetailOutput, tagged=True)
    def get(self) -> Collection:
        """Read a collection with the models in it that you can see."""
        return self.collection

    @operation(
        "collections_edit", CollectionDetailOutput, reads=CollectionEdit, tagged=True, guarded=True
    )
    def patch(self, **changes: Any) -> Collection:
        """Change title, description or visibility of a collection; needs If-Match."""
        return services.edit(self.request.user, collection=self.collection, **changes)

    @operation("collections_delete")
    def delete(self) -> None:
        """Delete a collection; its models stay. For maintainers."""
        services.delete(self.request.user, collection=self.collection)


class CollectionModelList(CollectionView):
    """The models of a collection."""

    @operation("collections_add", CollectionEntryOutput, reads=CollectionEntryInput, status=201)
    def post(self, model: str, **fields: Any) -> CollectionEntry:
        """Add a model at the end of a collection."""
        actor = self.request.user
        return services.add(actor, collection=self.collection, model=_model(actor, model), **fields)


class CollectionModelDetail(CollectionView):
    """A model in a collection."""

    def resource(self) -> tuple[Collection, RegisteredModel]:
        """The collection, and the model of the address."""
        names = (self.kwargs["model_namespace"], self.kwargs["model_name"])
        return self.collection, _named_model(self.request.user, *names)

    @operation("collections_annotate", CollectionEntryOutput, reads=CollectionNoteInput)
    def patch(self, note: str) -> CollectionEntry:
        """Change the note of a model in a collection."""
        collection, model = self.resource()
        return services.annotate(self.request.user, collection=collection, model=model, note=note)

    @operation("collections_remove")
    def delete(self) -> None:
        """Remove a model from a collection; the model itself stays."""
        collection, model = self.resource()
        services.remove(self.request.user, collection=collection, model=model)


class CollectionOrder(CollectionView):
    """The order of a collection."""

    @operation(
        "collections_reorder", CollectionDetailOutput, reads=CollectionOrderInput, tagged=True
    )
    def put(self, models: list[str]) -> Collection:
        """Put models first in a collection; those that are not named follow in their order."""
        actor = self.request.user
        first = [_model(actor, name, f"/models/{place}") for place, name in enumerate(models)]
        services.reorder(actor, collection=self.collection, first=first)
        return self.collection


class CollectionUnavailable(CollectionView):
    """The models of a collection that the caller cannot see."""

    @operation("collections_remove_unavailable")
    def delete(self) -> None:
        """Remove the models that you cannot see from a collection that you can change."""
        services.remove_unavailable(self.request.user, collection=self.collection)
