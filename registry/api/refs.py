"""The API of refs: tags and aliases, and what a reference stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema

from hub.protocol import refs
from registry.api import etags, queries, version_serializers
from registry.api import serializers as shapes
from registry.api.inputs import parse
from registry.api.operations import ModelView, Stored, operation
from registry.api.parameters import asks
from registry.versions import current, finders, selectors
from registry.versions.services import refs as ref_services

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response


class Refs(ModelView):
    """Tags and aliases of a model, and what a reference stands for."""

    @operation("refs_put", shapes.RefOutput, reads=shapes.RefInput)
    def store(self, kind: str, version: int) -> Stored:
        """Create a tag or alias, or move an alias."""
        row, is_new = ref_services.put(
            self.request.user, model=self.model, name=self.kwargs["ref"], kind=kind, number=version
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
            response["Warning"] = f'299 - "{warning[:200]}"'.encode("latin-1", "replace").decode(
                "latin-1"
            )
        return response
