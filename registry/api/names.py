"""The REST API over names in cards: what they mean, and confirming it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.inputs import Input, parse
from registry.api.operations import ModelView, operation
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from registry.cards import names
from registry.models import Mention
from registry.versions.services import names as services

PRIVATE = {"Cache-Control": "private, no-store"}


class NameOutput(Output[names.Name]):
    """A name in the cards of a model, and the entry of this hub that it refers to."""

    columns = Columns(
        "kind",
        Column("name", help_text="in lower case"),
        Column("by", help_text="how the name was resolved; empty if it does not resolve"),
        Column("target", help_text="slug of a data set, or namespace/name of a model"),
        Column("suggestions", help_text="other entries with that name, for you to confirm"),
    )


class NamesOutput(serializers.Serializer[Any]):
    """Every name in the cards of a model."""

    items = NameOutput(many=True)


class NameQuery(Input):
    """Which name."""

    columns = Columns("kind", "name", of=Mention)


class NameInput(NameQuery):
    """The meaning of a name."""

    columns = Columns(
        Column(
            "target", max_length=200, help_text="slug of a data set, or namespace/name of a model"
        )
    )


class Names(ModelView):
    """The names in the cards of a model, for its maintainers."""

    @asks()
    @operation("names_list", NamesOutput, headers=PRIVATE)
    def index(self) -> dict[str, Any]:
        """List the data sets and base models that the cards name, and the entries they may mean."""
        return {"items": names.of_model(self.request.user, self.model)}

    @operation("names_confirm", NamesOutput, reads=NameInput, headers=PRIVATE)
    def confirm(self, kind: str, **name: str) -> dict[str, Any]:
        """Confirm the entry that a name refers to."""
        actor = self.request.user
        services.confirm(actor, model=self.model, kind=Mention.Kind(kind), **name)
        return {"items": names.of_model(actor, self.model)}

    @operation("names_withdraw", parameters=[NameQuery])
    def withdraw(self) -> None:
        """Remove the confirmation of a name."""
        query = parse(NameQuery, self.request.query_params.dict())
        kind = Mention.Kind(query["kind"])
        services.withdraw(self.request.user, model=self.model, kind=kind, name=query["name"])
