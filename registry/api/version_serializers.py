"""The shapes of versions in the API: their files, variants, checks and references."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol import proofs
from hub.protocol.figures import Kind
from registry.api import origins
from registry.api.addresses import file_url, page_url
from registry.api.inputs import Input, Items
from registry.api.outputs import Column, Columns, Digest, Output, Shape, answers_of
from registry.api.serializers import MACS, MEMORY, PARAMETERS, DeprecationOutput
from registry.cards import result_files
from registry.models import Check, File, Variant, Version
from registry.versions import deprecations, selectors
from registry.versions.dependents import VersionDependent
from registry.versions.services import versions


class FileOutput(Output[File]):
    """A file of a version."""

    columns = Columns(
        "path",
        Column("size", "blob.size"),
        Column("sha256", "blob_id", field=Digest),
        "derived",
        "url",
    )

    def get_url(self, file: File) -> str:
        return file_url(file.version, file.path)


class FileInput(Input):
    """The blob for a path."""

    blob = serializers.CharField()


class DraftFileInput(Input):
    """A path and its blob, with the content of a small file."""

    columns = Columns(
        Column("path", max_length=512),
        "blob",
        Column(
            "content",
            required=False,
            trim_whitespace=False,
            allow_blank=True,
            help_text="in base64 (RFC 4648 section 4)",
        ),
    )


class FilesInput(Input):
    """Files of a draft; the whole body may have 5 MiB."""

    files = Items(child=DraftFileInput(), max_length=1000)


class FilesOutput(serializers.Serializer[Any]):
    """The named files of the draft after the request."""

    missing = serializers.ListField(
        child=serializers.CharField(),
        help_text="paths whose blob you have not uploaded: send them with content, or upload them",
    )


class ProofOutput(Output[Variant]):
    """The proof that an upgraded variant equals its original."""

    columns = Columns(
        Column(
            "strength",
            "proof_strength",
            help_text="; ".join(f"`{name}`: {text}" for name, text in proofs.WORDS.items()),
        ),
        Column("sentence", "proof_sentence", help_text="the proof as one sentence"),
        Column(
            "chosen",
            "is_chosen",
            help_text="whether this hub loads this variant when its opset is requested",
        ),
    )

    evidence = serializers.DictField(
        allow_null=True,
        source="proof",
        help_text="inputs with their ranges, nodes and branches that ran, outputs, differences and "
        "noise, judges, certificates of changed nodes; null if recorded by an older method",
    )

    def to_representation(self, instance: Variant) -> Any:
        is_upgraded = instance.origin == Variant.Origin.UPGRADED
        return super().to_representation(instance) if is_upgraded else None


class VariantOutput(Output[Variant]):
    """One loadable model inside a version, with its facts."""

    columns = Columns(
        "name",
        Column("entry", "entry.path"),
        "opset",
        "ir_version",
        Column(
            "portable",
            "is_portable",
            help_text="whether ONNX Runtime on CPU, on GPU and in browsers, in the versions that "
            "this hub offers, all load this opset and IR version",
        ),
        "precision",
        Column("parameters", help_text=PARAMETERS),
        "macs",
        "memory_bytes",
        "origin",
        "proof",
        Column("derived_from", "derived_from.name"),
        "facts",
    )

    macs = serializers.IntegerField(allow_null=True, default=None, help_text=MACS)
    memory_bytes = serializers.IntegerField(allow_null=True, default=None, help_text=MEMORY)
    proof = ProofOutput(source="*", read_only=True, allow_null=True)


class CheckOutput(Output[Check]):
    """A check before publication, with its findings."""

    columns = Columns("kind", "required", "outcome", "report")


class VersionSummaryOutput(Output[Version]):
    """A version, as shown in lists."""

    columns = Columns(
        "ref",
        "number",
        "state",
        "label",
        "message",
        "branch",
        Column("aliases", help_text="aliases of this version"),
        Column("tags", help_text="tags of this version"),
        Column("branches", "branches_at", help_text="branches of which it is the newest version"),
        "commit_id",
        Column("parent", "parent.commit_id"),
        Column(
            "manifest_sha256", field=Digest, allow_null=True, help_text="null while it is a draft"
        ),
        "publish_requested",
        "reason",
        "notes",
        Column("created_by", "created_by.username"),
        "created_at",
        "submitted_at",
        "published_at",
        "ended_at",
        Column("deprecation", help_text="of the version itself; null if it has none"),
        "url",
    )

    def get_url(self, version: Version) -> str:
        return page_url(version.model.ref, "v", str(version.number))

    @extend_schema_field(DeprecationOutput(allow_null=True))
    def get_deprecation(self, version: Version) -> dict[str, Any] | None:
        notice = deprecations.of(self.context["request"].user, version)
        return None if notice is None else dict(DeprecationOutput(notice).data)


class JobSummaryOutput(Shape[Any]):
    """A job of a version, in short."""

    columns = Columns(
        Column("uuid", kind=UUID), Column("kind", kind=str), Column("state", kind=str)
    )


class VersionOutput(VersionSummaryOutput):
    """A version with files, variants, checks and jobs."""

    columns = Columns(
        "files",
        "variants",
        Column("inputs", help_text="what the card declares about each input; see docs/cards.md"),
        Column(
            "eval_results",
            help_text="what files in .eval_results claim: entries in the format of Hugging Face, "
            "each with file and status (declared; unreadable with error). This hub verified "
            "none of them; what it measured is under evaluations",
        ),
        "checks",
        "jobs",
        Column(
            "mirrored_from",
            help_text="where the version was mirrored from; null if it was made here",
        ),
    )

    variants = VariantOutput(many=True)
    checks = CheckOutput(many=True)
    jobs = JobSummaryOutput(many=True)

    def to_representation(self, instance: Version) -> Any:
        related = Version.objects.select_related(
            "model__namespace",
            "created_by",
            "parent",
            "mirrored_from",
            "deprecation__successor__namespace",
        ).prefetch_related(
            Prefetch("files", File.objects.select_related("blob")),
            Prefetch("variants", Variant.objects.select_related("entry", "derived_from")),
            "checks",
            "jobs",
            "refs",
        )
        return super().to_representation(related.get(pk=instance.pk))

    @extend_schema_field(origins.MirroredFromOutput(allow_null=True))
    def get_mirrored_from(self, version: Version) -> dict[str, Any] | None:
        row = getattr(version, "mirrored_from", None)
        return origins.mirrored_from(row) if row else None

    @extend_schema_field(serializers.DictField(child=serializers.DictField()))
    def get_inputs(self, version: Version) -> dict[str, Any]:
        return {item.name: item.document() for item in version.typed_card.inputs}

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_eval_results(self, version: Version) -> list[dict[str, Any]]:
        return [
            {"status": "unreadable" if "error" in row else str(Kind.CLAIMED), **row}
            for row in result_files.of_files(version.card)
        ]

    @extend_schema_field(FileOutput(many=True))
    def get_files(self, version: Version) -> Any:
        files = list(version.files.all())
        for file in files:
            file.version = version
        return answers_of(FileOutput, files)


class VersionInput(Input):
    """A new draft."""

    columns = Columns("message", "label", of=Version)


class SubmitInput(Input):
    """Whether to publish as soon as the checks pass."""

    columns = Columns("publish", of=versions.submit)


class ReasonInput(Input):
    """The reason for a yank or withdrawal."""

    reason = serializers.CharField(max_length=2000)


class EndInput(ReasonInput):
    """The reason for a yank or withdrawal, and whether what depends on the version may break."""

    columns = Columns(
        Column(
            "breaks_dependents",
            help_text="go on although something depends on the version",
        ),
        of=versions.withdraw,
    )


class VersionDependentOutput(Output[VersionDependent]):
    """What depends on a version: such as an alias, a training, or a model made from it."""

    columns = Columns("kind", "name")


class ResolvedVariantOutput(Output[Variant]):
    """The variant that was chosen."""

    columns = Columns("name", Column("entry", "entry.path"), "opset", "precision")

    proof = ProofOutput(source="*", read_only=True, allow_null=True)


class ResolutionOutput(Output[Variant]):
    """A reference as files and digests."""

    columns = Columns(
        Column("ref", "version.ref"),
        Column("namespace", "version.model.namespace.slug"),
        Column("model", "version.model.name"),
        Column("number", "version.number"),
        Column("label", "version.label"),
        Column("commit_id", "version.commit_id", kind=str),
        Column("manifest_sha256", "version.manifest_sha256", field=Digest),
        Column("state", "version.state", kind=str),
        Column("variant", "*", field=ResolvedVariantOutput),
        Column("files", "loaded_files", field=FileOutput, many=True),
        Column("warning", kind=str | None),
    )

    def to_representation(self, instance: Any) -> Any:
        version = instance.version
        instance.loaded_files = selectors.files_for(instance)
        for file in instance.loaded_files:
            file.version = version
        is_yanked = version.state == Version.State.YANKED
        warnings = [f"{version.ref} was yanked: {version.reason}"] if is_yanked else []
        notices = deprecations.of_version(self.context["request"].user, version)
        warnings += [notice.sentence for notice in notices]
        instance.warning = " ".join(warnings) or None
        return super().to_representation(instance)
