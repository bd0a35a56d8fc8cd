"""The API of mirrors: what a namespace takes from other servers, and imports of single versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import digests
from hub.protocol.mirrors import Origin, VersionRecord
from registry.api import pagination
from registry.api.inputs import FilesParser, Input, parse
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.api.parameters import PAGED, asks
from registry.mirrors import credentials, selectors
from registry.mirrors.services import imports, mirrors
from registry.models import Mirror, MirroredModel, MirroredVersion, RegisteredModel
from registry.models.mirrors import LONGEST_SECONDS, SHORTEST_SECONDS
from registry.people import selectors as people_selectors

if TYPE_CHECKING:
    from rest_framework.request import Request

_VISIBILITY = "visibility of new models; empty: as at the source"
_TOKEN = "token of the source with read permission; stored encrypted and never shown"  # noqa: S105 - words
_INTERVAL = "seconds between synchronisations"


class MirrorInput(Input):
    """A new mirror."""

    source = serializers.CharField(  # type: ignore[assignment]
        max_length=500,
        help_text="https://host/namespace/model, https://host/namespace, or https://host with a "
        "search",
    )
    into = serializers.CharField(help_text="namespace here that the models are stored in")
    search = serializers.CharField(
        max_length=200, allow_blank=True, default="", help_text="mirror the results of a search"
    )
    protocol = serializers.ChoiceField(
        Mirror.Protocol.choices,
        required=False,
        help_text="what the source speaks; huggingface for huggingface.co, otherwise hub",
    )
    token = serializers.CharField(
        max_length=credentials.LONGEST_TOKEN, allow_blank=True, default="", help_text=_TOKEN
    )
    visibility = serializers.ChoiceField(
        RegisteredModel.Visibility.choices, required=False, help_text=_VISIBILITY
    )
    interval_seconds = serializers.IntegerField(
        min_value=SHORTEST_SECONDS, max_value=LONGEST_SECONDS, default=3600, help_text=_INTERVAL
    )
    pull_through = serializers.BooleanField(
        default=False, help_text="fetch a model of the namespace when it is first requested"
    )


class MirrorEdit(Input):
    """The changeable fields of a mirror; omitted fields stay unchanged."""

    is_paused = serializers.BooleanField(required=False)
    token = serializers.CharField(
        max_length=credentials.LONGEST_TOKEN, allow_blank=True, required=False, help_text=_TOKEN
    )
    visibility = serializers.ChoiceField(
        [*RegisteredModel.Visibility.choices, ("", "as at the source")],
        required=False,
        help_text=_VISIBILITY,
    )
    interval_seconds = serializers.IntegerField(
        min_value=SHORTEST_SECONDS,
        max_value=LONGEST_SECONDS,
        required=False,
        help_text=_INTERVAL,
    )


class MirrorOutput(Output[Mirror]):
    """A mirror with the result of its last synchronisation."""

    columns = Columns(
        "id",
        "source",
        Column("into", "namespace.slug"),
        "protocol",
        "scope",
        "pull_through",
        Column("visibility", field=serializers.CharField, help_text=_VISIBILITY),
        "interval_seconds",
        "is_paused",
        "has_token",
        Column("created_by", "created_by.username"),
        "created_at",
        Column("synced_at", help_text="the last success"),
        "next_at",
        Column("error", help_text="why the last synchronisation failed; empty otherwise"),
        Column("step", help_text="what is being fetched now; empty otherwise"),
        Column("received_bytes", help_text="of the last synchronisation"),
    )


class MirroredModelOutput(Output[MirroredModel]):
    """A model of a mirror."""

    columns = Columns(
        Column("source_ref", "ref"), Column("ref", "model.ref"), "synced_at", "problem"
    )


class MirroredVersionOutput(Output[MirroredVersion]):
    """A version of the source that is not mirrored, or no longer."""

    columns = Columns("ref", "state", "problem")

    def get_ref(self, row: MirroredVersion) -> str:
        return f"{row.model.ref}@{row.number}"


class MirrorDetailOutput(MirrorOutput):
    """A mirror with its models, and the versions that were not mirrored."""

    columns = Columns("models", "problems")

    @extend_schema_field(MirroredModelOutput(many=True))
    def get_models(self, row: Mirror) -> Any:
        return answers_of(MirroredModelOutput, selectors.models_of(row))

    @extend_schema_field(MirroredVersionOutput(many=True))
    def get_problems(self, row: Mirror) -> Any:
        return answers_of(MirroredVersionOutput, selectors.problems_of(row))


class ImportInput(Input):
    """One version of an exported folder, as `hub mirror export` writes it."""

    into = serializers.CharField()
    name = serializers.CharField()
    visibility = serializers.ChoiceField(
        RegisteredModel.Visibility.choices, default=RegisteredModel.Visibility.PRIVATE
    )
    url = serializers.CharField(max_length=300, help_text="address of the hub it was exported from")
    ref = serializers.CharField(max_length=200, help_text="name of the model there")
    version = serializers.JSONField(help_text="the record of the version, from the manifest")


class ImportOutput(serializers.Serializer[Any]):
    """The state of an imported version."""

    ref = serializers.CharField()
    state = serializers.ChoiceField(MirroredVersion.State.choices, allow_null=True)
    missing = serializers.ListField(
        child=serializers.CharField(),
        help_text="digests to upload first; the version is not stored until they are",
    )
    problem = serializers.CharField()


class MirrorList(APIView):
    """The mirrors of your namespaces."""

    @extend_schema(operation_id="mirrors_list", responses=pagination.paged(MirrorOutput))
    @asks(*PAGED)
    def get(self, request: Request) -> Response:
        """List mirrors, newest first; for owners of their namespaces."""
        rows = selectors.mirrors(request.user)
        return pagination.highest_first(request, MirrorOutput, rows, "id")

    @extend_schema(
        operation_id="mirrors_create", request=MirrorInput, responses={201: MirrorDetailOutput}
    )
    def post(self, request: Request) -> Response:
        """Add a mirror; the first synchronisation starts at once."""
        body = parse(MirrorInput, request.data)
        namespace = people_selectors.namespace(body.pop("into"))
        mirror = mirrors.add(request.user, namespace=namespace, **body)
        return Response(MirrorDetailOutput(mirror).data, status=201)


class MirrorDetail(APIView):
    """One mirror."""

    @extend_schema(operation_id="mirrors_read", responses=MirrorDetailOutput)
    def get(self, request: Request, mirror_id: int) -> Response:
        """Read a mirror with its models and problems."""
        return Response(MirrorDetailOutput(selectors.mirror(request.user, mirror_id)).data)

    @extend_schema(operation_id="mirrors_edit", request=MirrorEdit, responses=MirrorDetailOutput)
    def patch(self, request: Request, mirror_id: int) -> Response:
        """Change, pause or resume a mirror."""
        mirror = selectors.mirror(request.user, mirror_id)
        mirror = mirrors.edit(request.user, mirror=mirror, **parse(MirrorEdit, request.data))
        return Response(MirrorDetailOutput(mirror).data)

    @extend_schema(operation_id="mirrors_remove", responses={204: None})
    def delete(self, request: Request, mirror_id: int) -> Response:
        """Stop mirroring; mirrored models and versions stay."""
        mirrors.remove(request.user, mirror=selectors.mirror(request.user, mirror_id))
        return Response(status=204)


class MirrorSync(APIView):
    """The next synchronisation of a mirror."""

    @extend_schema(operation_id="mirrors_sync", request=None, responses=MirrorDetailOutput)
    def post(self, request: Request, mirror_id: int) -> Response:
        """Start a synchronisation now."""
        mirror = selectors.mirror(request.user, mirror_id)
        return Response(MirrorDetailOutput(mirrors.sync(request.user, mirror=mirror)).data)


class ImportList(APIView):
    """Versions of exported folders."""

    parser_classes = [FilesParser]

    @extend_schema(operation_id="mirrors_import", request=ImportInput, responses=ImportOutput)
    def post(self, request: Request) -> Response:
        """Import a version of another hub under its original number, after uploading its blobs.

        The response lists missing digests; upload those and repeat the request.
        """
        body = parse(ImportInput, request.data)
        result = imports.take(
            request.user,
            namespace=people_selectors.namespace(body["into"]),
            name=body["name"],
            visibility=body["visibility"],
            record=VersionRecord.read(body["version"]),
            origin=Origin(body["url"], body["ref"]),
        )
        row = result.row
        data = {
            "ref": result.ref,
            "state": row.state if row else None,
            "missing": [digests.format(one) for one in result.missing],
            "problem": row.problem if row else "",
        }
        return Response(ImportOutput(data).data)
