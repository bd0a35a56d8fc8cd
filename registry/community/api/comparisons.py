"""The REST API over saved comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from rest_framework import serializers

from registry.api.addresses import api_url
from registry.api.inputs import Input, Items
from registry.api.operations import View, command, detail, operation, resource, rows
from registry.api.outputs import Column, Columns, Output
from registry.community.comparisons import selectors, services
from registry.models import SavedComparison
from registry.models.saved_comparisons import LONGEST_REFERENCE, MOST_COMPARED

if TYPE_CHECKING:
    from collections.abc import Sequence


class SavedComparisonOutput(Output[SavedComparison]):
    """A comparison that a user saved."""

    columns = Columns(
        "uuid",
        "title",
        Column("username", "user.username", help_text="whose comparison it is"),
        Column("sharing", help_text="private, or open to everyone who has the link"),
        "references",
        "unavailable",
        "created_at",
        "updated_at",
        "url",
    )

    references = serializers.SerializerMethodField(
        help_text="the compared models that you can see, in their order"
    )
    unavailable = serializers.SerializerMethodField(
        help_text="number of its models that you cannot see"
    )

    def get_references(self, row: SavedComparison) -> list[str]:
        return selectors.references(self.context["request"].user, row)

    def get_unavailable(self, row: SavedComparison) -> int:
        return len(row.compared_references.all()) - len(self.get_references(row))

    def get_url(self, row: SavedComparison) -> str:
        return f"{settings.HUB_PUBLIC_URL}/compare/{row.uuid}"


class SavedComparisonEdit(Input):
    """The changeable fields of a saved comparison; omitted fields stay unchanged."""

    columns = Columns(
        "title",
        Column("sharing", help_text="private, or link: everyone who has the link can open it"),
        of=SavedComparison,
        required=False,
    )
    references = Items(
        child=serializers.CharField(max_length=LONGEST_REFERENCE),
        max_length=MOST_COMPARED,
        required=False,
        help_text="the compared models in their order, such as zoo/resnet50@3:int8",
    )


class SavedComparisonInput(SavedComparisonEdit):
    """A comparison to save. Without a title, it is the names of the public models."""

    references = Items(
        child=serializers.CharField(max_length=LONGEST_REFERENCE),
        max_length=MOST_COMPARED,
        help_text="the compared models in their order, such as zoo/resnet50@3:int8",
    )


class SavedComparisons(View):
    """The comparisons that a user saved, private or shared by link."""

    targets = ("comparison",)
    comparison = resource(selectors.comparison, "uuid")

    index = rows(
        "saved_comparisons_list",
        selectors.comparisons,
        "List your saved comparisons, newest first.",
        SavedComparisonOutput,
        targets=(),
    )

    @operation(
        "saved_comparisons_create",
        SavedComparisonOutput,
        targets=(),
        reads=SavedComparisonInput,
        status=201,
        location=lambda row: api_url("saved-comparisons", str(row.uuid)),
    )
    def create(self, references: Sequence[str], **fields: Any) -> SavedComparison:
        """Save a comparison of two to six models."""
        return services.create(self.request.user, references=references, **fields)

    read = detail(
        "saved_comparisons_read",
        SavedComparisonOutput,
        "Read a saved comparison: one of yours, or one that is shared by its link.",
    )
    edit = command(
        "saved_comparisons_edit",
        services.edit,
        "Change the title, the sharing or the models of a saved comparison of yours.",
        SavedComparisonOutput,
        reads=SavedComparisonEdit,
    )
    destroy = command(
        "saved_comparisons_delete",
        services.delete,
        "Delete a saved comparison of yours; its link leads nowhere then.",
    )
