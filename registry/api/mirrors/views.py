"""The API of mirrors: what a namespace takes from other servers, and imports of single versions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol import digests
from hub.protocol.mirrors import Origin, VersionRecord
from registry.api.inputs import FilesParser, Input
from registry.api.operations import View, command, detail, operation, resource, rows
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.mirrors import credentials, selectors
from registry.mirrors.services import imports, mirrors
from registry.models import Mirror, MirroredModel, MirroredVersion, RegisteredModel
from registry.models.mirrors import LONGEST_SECONDS, SHORTEST_SECONDS
from registry.people import selectors as people_selectors

_VISIBILITY = "visibility of new models; empty: as at the source"
_TOKEN = "token of the source with read permission; stored encrypted and never shown"  # noqa: S105 - words
_INTERVAL: dict[str, Any] = {
    "min_value": SHORTEST_SECONDS,
    "max_value": LONGEST_SECONDS,
    "help_text": "seconds between synchronisations",
}


class MirrorInput(Input):
    """A new mirror."""

    columns = Columns(
        Column(
            "source",
            kind=str,
            max_length=500,
            help_text="https://host/namespace/model, https://host/namespace, or https://host with "
            "a search",
        ),
        Column("into", kind=str, help_text="namespace here that the models are stored in"),
        Column(
            "search",
            kind=str,
            max_length=200,
            allow_blank=True,
            default="",
            help_text="mirror the results of a search",
        ),
        Column(
            "protocol",
            required=False,
            help_text="what the source speaks; huggingface for huggingface.co, otherwise hub",
        ),
        Column(
            "token",
            kind=str,
            max_length=credentials.LONGEST_TOKEN,
            allow_blank=True,
            default="",
            help_text=_TOKEN,
        ),
        Column(
            "visibility",
            choices=RegisteredModel.Visibility.choices,
            required=False,
            help_text=_VISIBILITY,
        ),
        Column("interval_seconds", **_INTERVAL),
        Column(
            "pull_through", help_text="fetch a model of the namespace when it is first requested"
        ),
        of=Mirror,
    )


class MirrorEdit(Input):
    """The changeable fields of a mirror; omitted fields stay unchanged."""

    columns = Columns(
        "is_paused",
        Column(
            "token",
            kind=str,
            max_length=credentials.LONGEST_TOKEN,
            allow_blank=True,
            help_text=_TOKEN,
        ),
        Column(
            "visibility",
            choices=[*RegisteredModel.Visibility.choices, ("", "as at the source")],
            help_text=_VISIBILITY,
        ),
        Column("interval_seconds", **_INTERVAL),
        of=Mirror,
        required=False,
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
        Column("visibility", kind=str, help_text=_VISIBILITY),
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

    columns = Columns(
        Column("into", kind=str),
        Column("name", kind=str),
        Column(
            "visibility",
            choices=RegisteredModel.Visibility.choices,
            default=RegisteredModel.Visibility.PRIVATE,
        ),
        Column("url", help_text="address of the hub it was exported from"),
        Column("ref", help_text="name of the model there"),
        Column(
            "version",
            field=serializers.JSONField,
            help_text="the record of the version, from the manifest",
        ),
        of=MirroredVersion,
    )


class ImportOutput(Output[imports.Imported]):
    """The state of an imported version."""

    columns = Columns(
        "ref",
        Column("state", choices=MirroredVersion.State.choices, allow_null=True),
        Column(
            "missing",
            kind=list[str],
            help_text="digests to upload first; the version is not stored until they are",
        ),
        Column("problem", kind=str),
    )


class Mirrors(View):
    """The mirrors of your namespaces."""

    targets = ("mirror",)
    mirror = resource(selectors.mirror, "mirror_id")

    index = rows(
        "mirrors_list",
        selectors.mirrors,
        "List mirrors, newest first; for owners of their namespaces.",
        MirrorOutput,
        by="id",
        targets=(),
    )

    @operation("mirrors_create", MirrorDetailOutput, targets=(), reads=MirrorInput, status=201)
    def create(self, into: str, **fields: Any) -> Mirror:
        """Add a mirror; the first synchronisation starts at once."""
        namespace = people_selectors.namespace(into)
        return mirrors.add(self.request.user, namespace=namespace, **fields)

    read = detail("mirrors_read", MirrorDetailOutput, "Read a mirror with its models and problems.")
    edit = command(
        "mirrors_edit",
        mirrors.edit,
        "Change, pause or resume a mirror.",
        MirrorDetailOutput,
        reads=MirrorEdit,
    )
    remove = command(
        "mirrors_remove",
        mirrors.remove,
        "Stop mirroring; mirrored models and versions stay.",
    )
    sync = command(
        "mirrors_sync",
        mirrors.sync,
        "Start a synchronisation now.",
        MirrorDetailOutput,
    )


class Imports(View):
    """Versions of exported folders."""

    parser_classes = [FilesParser]

    @operation("mirrors_import", ImportOutput, reads=ImportInput)
    def create(self, into: str, version: Any, url: str, ref: str, **model: str) -> dict[str, Any]:
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
