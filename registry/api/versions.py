"""The API of versions: read, draft, and move to another state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import etags, pagination
from registry.api import serializers as shapes
from registry.api.addresses import api_url
from registry.api.inputs import IDEMPOTENCY_KEY, Input, idempotency_key, parse
from registry.api.parameters import PAGED, asks
from registry.models import File, Variant, Version
from registry.versions import selectors
from registry.versions.services import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from rest_framework import serializers as fields
    from rest_framework.request import Request


def version_data(version: Version) -> dict[str, Any]:
    """A version as the API gives it, in a fixed number of queries."""
    full = (
        Version.objects.select_related("model__namespace", "created_by", "parent", "mirrored_from")
        .prefetch_related(
            Prefetch("files", File.objects.select_related("blob")),
            Prefetch("variants", Variant.objects.select_related("entry", "derived_from")),
            "checks",
            "jobs",
        )
        .get(pk=version.pk)
    )
    return dict(shapes.VersionOutput(full).data)


class VersionList(APIView):
    """The versions of a model."""

    @extend_schema(
        operation_id="versions_list", responses=pagination.paged(shapes.VersionSummaryOutput)
    )
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List versions, newest first."""
        model = selectors.model(request.user, namespace, name)
        rows = selectors.versions(request.user, model)
        return pagination.highest_first(request, shapes.VersionSummaryOutput, rows, "number")

    @extend_schema(
        operation_id="versions_create",
        request=shapes.VersionInput,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: shapes.VersionOutput},
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Create a draft with the next version number."""
        model = selectors.model(request.user, namespace, name)
        version = versions.draft(
            request.user,
            model=model,
            key=idempotency_key(request),
            **parse(shapes.VersionInput, request.data),
        )
        response = etags.respond(request, version_data(version), status=201)
        response["Location"] = api_url("models", model.ref, "versions", str(version.number))
        return response


class VersionDetail(APIView):
    """One version."""

    @extend_schema(operation_id="versions_read", responses=shapes.VersionOutput)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Read a version with its files, variants, checks and jobs."""
        version = selectors.version(request.user, namespace, name, number)
        return etags.respond(request, version_data(version))

    @extend_schema(operation_id="versions_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Delete a draft."""
        version = selectors.version(request.user, namespace, name, number)
        versions.delete_draft(request.user, version=version)
        return Response(status=204)


class VersionAction(APIView):
    """Moves a version to another state."""

    shape: type[fields.Serializer[Any]] = Input
    service: Callable[..., Version]

    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Do it; the answer is the version in its new state."""
        version = selectors.version(request.user, namespace, name, number)
        data = parse(self.shape, request.data or {})
        version = type(self).service(request.user, version=version, **data)
        return etags.respond(request, version_data(version))


def action(
    name: str, shape: type[fields.Serializer[Any]], service: Callable[..., Version]
) -> type[VersionAction]:
    """A view of one verb."""
    view = type(
        f"Version{name.title()}",
        (VersionAction,),
        {"shape": shape, "service": staticmethod(service)},
    )
    describe = extend_schema(
        operation_id=f"versions_{name}",
        request=shape,
        responses=shapes.VersionOutput,
        description=service.__doc__,
    )
    return extend_schema_view(post=describe)(view)


ACTIONS = {
    name: action(name, shape, service)
    for name, shape, service in (
        ("submit", shapes.SubmitInput, versions.submit),
        ("publish", Input, versions.publish),
        ("yank", shapes.ReasonInput, versions.yank),
        ("restore", Input, versions.restore),
        ("withdraw", shapes.ReasonInput, versions.withdraw),
    )
}
