"""The API of refs: tags and aliases, and what a reference stands for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import refs
from registry.api import etags, headers, queries, version_serializers
from registry.api import serializers as shapes
from registry.api.inputs import OPTIONAL_TEXT, Input, parse
from registry.api.operations import ModelView, Stored, listing, operation, rows
from registry.api.outputs import Column, Columns, Output, Shape
from registry.api.parameters import asks
from registry.models import Event, Ref
from registry.versions import aliases, current, finders, selectors, version_links
from registry.versions.services import refs as ref_services

LONGEST_MESSAGE = 500


class RefInput(Input):
    """The target of a tag or alias."""

    columns = Columns(
        Column("kind", choices=[Ref.Kind.TAG.value, Ref.Kind.ALIAS.value]),
        Column("version", kind=int, min_value=1),
        Column(
            "message",
            **OPTIONAL_TEXT,
            max_length=LONGEST_MESSAGE,
            help_text="why an alias is moved, for its history",
        ),
        Column(
            "allow_yanked",
            kind=bool,
            default=False,
            help_text="let an alias name a yanked version",
        ),
        Column(
            "force",
            kind=bool,
            default=False,
            help_text="move an alias although its rule demands more; needs a message",
        ),
    )


class RefsQuery(Shape[Any]):
    """The kind of refs."""

    columns = Columns(Column("kind", choices=Ref.Kind.values, required=False))


class RefDetailOutput(shapes.RefOutput):
    """A name for a version, and the last move of an alias."""

    columns = Columns(
        Column("state", "version.state", help_text="state of the version"),
        Column("moved_at", "move.at", kind=datetime | None, default=None),
        Column("moved_by", "move.actor.username", kind=str | None, default=None),
        Column("message", "move.data.message", kind=str, default=""),
    )


class AliasHistoryQuery(Shape[Any]):
    """An alias, and when its moves were in force."""

    columns = Columns(
        Column("alias", max_length=100, help_text="only moves of this alias"),
        Column(
            "at",
            max_length=40,
            help_text="only moves in force on this day in UTC, or at this time, such as "
            "2026-05-03 or 2026-05-03T12:00:00Z",
        ),
        required=False,
    )


class AliasMoveOutput(Output[Event]):
    """A move of an alias: to which version, from when until when, by whom, and why."""

    columns = Columns(
        Column("alias", kind=str),
        Column("number", kind=int, help_text="number of the version that it was moved to"),
        Column(
            "previous",
            kind=int | None,
            help_text="number of the version that it was moved from; null for a new alias",
        ),
        "at",
        Column("until", kind=datetime | None, help_text="null while it is in force"),
        Column("moved_by", "actor.username"),
        Column("message", "data.message", kind=str, default=""),
        Column(
            "unmet",
            "data.unmet",
            kind=list[str],
            default=list,
            help_text="conditions of the rule that the move overrode",
        ),
    )


class Refs(ModelView):
    """Tags and aliases of a model, and what a reference stands for."""

    index = rows(
        "refs_list",
        aliases.refs,
        "List branches, tags and aliases with their versions, and who moved an alias last.",
        RefDetailOutput,
        RefsQuery,
    )

    @listing("refs_history", AliasMoveOutput, AliasHistoryQuery, by="pk")
    def history(self, **query: str) -> Any:
        """List the moves of aliases, newest first: who moved which, when, and why."""
        return aliases.history(self.model, **query)

    @operation("refs_put", shapes.RefOutput, reads=RefInput)
    def store(self, version: int, **fields: Any) -> Stored:
        """Create a tag or alias, or move an alias."""
        row, is_new = ref_services.put(
            self.request.user, model=self.model, name=self.kwargs["ref"], number=version, **fields
        )
        return Stored(row, is_new=is_new)

    @operation("refs_delete")
    def destroy(self) -> None:
        """Delete a tag or alias."""
        ref_services.delete(self.request.user, model=self.model, name=self.kwargs["ref"])

    @extend_schema(
        operation_id="resolve",
        responses=version_serializers.ResolutionOutput,
    )
    @asks(queries.ResolveQuery)
    def resolve(self, request: Request) -> Response:
        """Resolve a reference to a version and variant."""
        query = parse(queries.ResolveQuery, request.query_params)
        ref = refs.parse(query["ref"])
        is_bare = str(ref) == ref.name and not (
            query["variant"] or query["opset"] or query["precision"] or query["strength"]
        )
        if is_bare and "If-None-Match" in request.headers:
            tag = current.resolution_tag(request.user, ref.namespace, ref.model)
            if tag and etags.is_current(request, tag):
                return etags.respond(request, None, tag=tag)
        model = finders.model(request.user, ref.namespace, ref.model)
        version = selectors.find_version(request.user, model, ref)
        variant = selectors.variant(
            version,
            query["variant"] or ref.variant,
            query["opset"],
            query["precision"],
            query["strength"],
        )
        variant.version, version.model = version, model
        data = self.data(version_serializers.ResolutionOutput, variant)
        tag = current.tag_of(model, version, variant) if is_bare else None
        response = etags.respond(request, data, tag=tag)
        if warning := data["warning"]:
            response["Warning"] = headers.warning(warning)
        if link := version_links.header(version):
            response["Link"] = link
        return response
