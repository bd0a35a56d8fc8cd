"""The REST API over collections. Models that the caller does not see are in no answer."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from rest_framework import serializers

from hub.protocol import problems, refs
from registry.api.addresses import api_url
from registry.api.inputs import Input, Items
from registry.api.operations import View, command, detail, listing, operation, resource
from registry.api.outputs import Column, Columns, Output, Shape
from registry.community.collections import selectors, services
from registry.core.permissions import Actor
from registry.models import Collection, CollectionEntry, RegisteredModel
from registry.models.collections import (
    LONGEST_DESCRIPTION,
    MOST_ENTRIES,
)
from registry.people import selectors as people_selectors
from registry.versions import moves
from registry.versions import selectors as model_selectors

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

    columns = Columns(
        "title",
        Column("description", max_length=LONGEST_DESCRIPTION, help_text="plain text"),
        Column("visibility", help_text="who can see the collection"),
        of=Collection,
        required=False,
    )


class CollectionInput(CollectionEdit):
    """A new collection."""

    columns = Columns("namespace", Column("slug", max_length=96))


class CollectionNoteInput(Input):
    """The note of a model in a collection."""

    columns = Columns(
        Column("note", required=True, help_text="why the model is in the collection"),
        of=CollectionEntry,
    )


class CollectionEntryInput(Input):
    """A model to add to a collection."""

    columns = Columns(
        Column("model", kind=str, max_length=200, help_text=_MODEL),
        Column("note", required=False, help_text="why the model is in the collection"),
        of=CollectionEntry,
    )


class CollectionOrderInput(Input):
    """The models that come first in a collection."""

    models = Items(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MOST_ENTRIES,
        help_text="namespace/name of the models that come first, in this order",
    )


class CollectionsQuery(Shape[Any]):
    """What a list of collections is asked for."""

    columns = Columns(
        Column("namespace", max_length=96, help_text="only collections of this namespace"),
        Column("model", max_length=200, help_text="only collections that contain this model"),
        required=False,
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


class Collections(View):
    """The collections that a caller may see, and their models."""

    targets = ("collection",)
    collection = resource(selectors.collection, "namespace", "slug")
    model = resource(_named_model, "model_namespace", "model_name")

    @listing("collections_list", CollectionOutput, CollectionsQuery, by="id", targets=())
    def index(self, namespace: str = "", model: str = "") -> QuerySet[Collection]:
        """List collections, newest first; narrow with `namespace` and `model`."""
        actor = self.request.user
        holder = _model(actor, model) if model else None
        return selectors.collections(actor, namespace=namespace, model=holder)

    @operation(
        "collections_create",
        CollectionDetailOutput,
        targets=(),
        reads=CollectionInput,
        status=201,
        tagged=True,
        location=lambda row: api_url("collections", row.ref),
    )
    def create(self, namespace: str, **fields: Any) -> Collection:
        """Create an empty collection. Without a title, its name is the title."""
        space = people_selectors.namespace(namespace)
        return services.create(self.request.user, namespace=space, **fields)

    read = detail(
        "collections_read",
        CollectionDetailOutput,
        "Read a collection with the models in it that you can see.",
        tagged=True,
    )
    edit = command(
        "collections_edit",
        services.edit,
        "Change title, description or visibility of a collection; needs If-Match.",
        CollectionDetailOutput,
        reads=CollectionEdit,
        tagged=True,
        guarded=True,
    )
    destroy = command(
        "collections_delete",
        services.delete,
        "Delete a collection; its models stay. For maintainers.",
    )

    @operation("collections_add", CollectionEntryOutput, reads=CollectionEntryInput, status=201)
    def add(self, model: str, **fields: Any) -> CollectionEntry:
        """Add a model at the end of a collection."""
        actor = self.request.user
        return services.add(actor, collection=self.collection, model=_model(actor, model), **fields)

    annotate = command(
        "collections_annotate",
        services.annotate,
        "Change the note of a model in a collection.",
        CollectionEntryOutput,
        targets=("collection", "model"),
        reads=CollectionNoteInput,
    )
    remove = command(
        "collections_remove",
        services.remove,
        "Remove a model from a collection; the model itself stays.",
        targets=("collection", "model"),
    )

    @operation(
        "collections_reorder", CollectionDetailOutput, reads=CollectionOrderInput, tagged=True
    )
    def reorder(self, models: list[str]) -> Collection:
        """Put models first in a collection; those that are not named follow in their order."""
        actor = self.request.user
        first = [_model(actor, name, f"/models/{place}") for place, name in enumerate(models)]
        services.reorder(actor, collection=self.collection, first=first)
        return self.collection

    remove_unavailable = command(
        "collections_remove_unavailable",
        services.remove_unavailable,
        "Remove the models that you cannot see from a collection that you can change.",
    )
