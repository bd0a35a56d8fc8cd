"""The API of mirrors: what a namespace takes from other servers, and imports of single versions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol import digests
from hub.protocol.mirrors import Origin, VersionRecord
from registry.api.inputs import FilesParser, Input
from registry.api.operations import View, listing, operation
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.mirrors import credentials, selectors
from registry.mirrors.services import imports, mirrors
from registry.models import Mirror, MirroredModel, MirroredVersion, RegisteredModel
from registry.models.mirrors import LONGEST_SECONDS, SHORTEST_SECONDS
from registry.people import selectors as people_selectors

if TYPE_CHECKING:
    from django.db.models import QuerySet

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


class MirrorList(View):
    """The mirrors of your namespaces."""

    @listing("mirrors_list", MirrorOutput, by="id")
    def get(self) -> QuerySet[Mirror]:
        """List mirrors, newest first; for owners of their namespaces."""
        return selectors.mirrors(self.request.user)

    @operation("mirrors_create", MirrorDetailOutput, reads=MirrorInput, status=201)
    def post(self, into: str, **fields: Any) -> Mirror:
        """Add a mirror; the first synchronisation starts at once."""
        namespace = people_selectors.namespace(into)
        return mirrors.add(self.request.user, namespace=namespace, **fields)


class MirrorView(View):
    """At or below the address of a mirror."""

    target = "mirror"

    @cached_property
    def mirror(self) -> Mirror:
        """The mirror of the address; raises NotFound."""
        return selectors.mirror(self.request.user, self.kwargs["mirror_id"])


class MirrorDetail(MirrorView):
    """One mirror."""

    @operation("mirrors_read", MirrorDetailOutput)
    def get(self) -> Mirror:
        """Read a mirror with its models and problems."""
        return self.mirror

    @operation("mirrors_edit", MirrorDetailOutput, reads=MirrorEdit)
    def patch(self, **changes: Any) -> Mirror:
        """Change, pause or resume a mirror."""
        return mirrors.edit(self.request.user, mirror=self.mirror, **changes)

    @operation("mirrors_remove")
    def delete(self) -> None:
        """Stop mirroring; mirrored models and versions stay."""
        mirrors.remove(self.request.user, mirror=self.mirror)


class MirrorSync(MirrorView):
    """The next synchronisation of a mirror."""

    @operation("mirrors_sync", MirrorDetailOutput)
    def post(self) -> Mirror:
        """Start a synchronisation now."""
        return mirrors.sync(self.request.user, mirror=self.mirror)


class ImportList(View):
    """Versions of exported folders."""

    parser_classes = [FilesParser]

    @operation("mirrors_import", ImportOutput, reads=ImportInput)
    def post(self, into: str, version: Any, url: str, ref: str, **model: str) -> dict[str, Any]:
        """Import a version of another hub under its original number, after uploading its blobs.

        The response lists missing digests; upload those and repeat the request.
        """
        result = imports.take(
            self.request.user,
            namespace=people_selectors.namespace(into),
            record=VersionRecord.read(version),
            origin=Origin(url, ref),
            **model,
        )
        row = result.row
        return {
            "ref": result.ref,
            "state": row.state if row else None,
            "missing": [digests.format(digest) for digest in result.missing],
            "problem": row.problem if row else "",
        }
