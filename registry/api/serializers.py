"""The shapes of the API: plain serializers, one for each direction, none of which saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry.api.inputs import Input, Items
from registry.models import (
    Check,
    File,
    Membership,
    Ref,
    RegisteredModel,
    SearchDocument,
    Variant,
    Version,
)

if TYPE_CHECKING:
    from registry.catalogue.summaries import Detail, Summary


MACS = "multiply-accumulate operations of a run for usual sizes; null if they were not counted"
MEMORY = "bytes of weights and activations for usual sizes; null if they were not counted"
PARAMETERS = (
    "number of stored weights (elements) by scope, and of those in attributes; null if they "
    "were not counted"
)


def page_url(*parts: str) -> str:
    """The address of a page."""
    return "/".join([settings.HUB_PUBLIC_URL, "models", *parts])


def api_url(*parts: str) -> str:
    """The address of a resource of the API."""
    return "/".join([settings.HUB_PUBLIC_URL, "api/v1", *parts])


def file_url(version: Version, path: str) -> str:
    """The address of a file's bytes."""
    model = version.model
    return (
        api_url(
            "models", model.namespace.slug, model.name, "versions", str(version.number), "files"
        )
        + "/"
        + quote(path)
    )


class Digest(serializers.CharField):
    """A digest as `sha256:<hex>`, or null."""

    def to_representation(self, value: str) -> Any:
        return f"sha256:{value}" if value else None


class LatestOutput(serializers.Serializer[Any]):
    """Summary of the newest published version."""

    number = serializers.IntegerField()
    label = serializers.CharField()
    published_at = serializers.CharField()
    opset = serializers.IntegerField(allow_null=True)
    ir_version = serializers.IntegerField(allow_null=True)
    precision = serializers.CharField()
    parameters = serializers.IntegerField(allow_null=True, help_text=PARAMETERS)
    macs = serializers.IntegerField(allow_null=True, default=None, help_text=MACS)
    memory_bytes = serializers.IntegerField(allow_null=True, default=None, help_text=MEMORY)
    size = serializers.IntegerField(help_text="total size of the uploaded files in bytes")
    entry = serializers.CharField(allow_null=True)
    training_carbon_kg = serializers.FloatField(
        allow_null=True, default=None, help_text="kilograms of CO2e, as declared by the card"
    )


class ModelSummaryOutput(serializers.Serializer[SearchDocument]):
    """A model as lists show it."""

    ref = serializers.CharField(source="title")
    namespace = serializers.CharField(source="namespace_slug")
    name = serializers.CharField(source="model.name")
    visibility = serializers.ChoiceField(
        RegisteredModel.Visibility.choices, source="model.visibility"
    )
    gate = serializers.ChoiceField(
        RegisteredModel.Gate.choices,
        source="model.gate",
        help_text="who can download the files: everyone, everyone who requests access, or "
        "approved users",
    )
    summary = serializers.CharField(source="model.summary")
    license = serializers.CharField(source="model.license")
    task = serializers.CharField()
    keywords = serializers.ListField(child=serializers.CharField())
    downloads = serializers.IntegerField()
    created_at = serializers.DateTimeField(source="model.created_at")
    updated_at = serializers.DateTimeField()
    url = serializers.SerializerMethodField()
    latest = LatestOutput(allow_null=True)

    def get_url(self, row: SearchDocument) -> str:
        return page_url(row.title)


_LATEST = tuple(LatestOutput().fields)


def model_summary(row: Summary) -> dict[str, Any]:
    """What ``ModelSummaryOutput`` says, without asking each field how to say it.

    A list spends most of its time here; the serializer remains what the schema is made from.
    """
    latest = row.latest
    return {
        "ref": row.title,
        "namespace": row.namespace_slug,
        "name": row.model__name,
        "visibility": row.model__visibility,
        "gate": row.model__gate,
        "summary": row.model__summary,
        "license": row.model__license,
        "task": row.task,
        "keywords": row.keywords,
        "downloads": row.downloads,
        "created_at": row.model__created_at.isoformat().replace("+00:00", "Z"),
        "updated_at": row.updated_at.isoformat().replace("+00:00", "Z"),
        "url": page_url(row.title),
        "latest": latest and {key: latest.get(key) for key in _LATEST},
    }


class RefOutput(serializers.Serializer[Ref]):
    """A name for a version."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(Ref.Kind.choices)
    number = serializers.IntegerField(source="version.number")


class ModelOutput(ModelSummaryOutput):
    """A model with its refs and what the caller is there."""

    refs = RefOutput(many=True, source="shown_refs")
    role = serializers.ChoiceField(Membership.Role.choices, allow_null=True, source="shown_role")


def model_detail(detail: Detail) -> dict[str, Any]:
    """What ``ModelOutput`` says."""
    return {
        **model_summary(detail.summary),
        "refs": [
            {"name": name, "kind": kind, "number": number} for name, kind, number in detail.refs
        ],
        "role": detail.role,
    }


class ModelInput(Input):
    """A model to be made."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    visibility = serializers.ChoiceField(
        RegisteredModel.Visibility.choices, default=RegisteredModel.Visibility.PUBLIC
    )
    summary = serializers.CharField(max_length=300, allow_blank=True, default="")
    license = serializers.CharField(max_length=64, allow_blank=True, default="")
    task = serializers.CharField(max_length=64, allow_blank=True, default="")
    keywords = Items(child=serializers.CharField(max_length=64), max_length=50, default=list)


class ModelEdit(Input):
    """The changeable fields of a model; omitted fields stay unchanged."""

    visibility = serializers.ChoiceField(RegisteredModel.Visibility.choices, required=False)
    gate = serializers.ChoiceField(
        RegisteredModel.Gate.choices,
        required=False,
        help_text="who can download the files: everyone, everyone who requests access, or "
        "approved users",
    )
    summary = serializers.CharField(max_length=300, allow_blank=True, required=False)
    license = serializers.CharField(max_length=64, allow_blank=True, required=False)
    task = serializers.CharField(max_length=64, allow_blank=True, required=False)
    keywords = Items(child=serializers.CharField(max_length=64), max_length=50, required=False)


class FileOutput(serializers.Serializer[File]):
    """A file of a version."""

    path = serializers.CharField()
    size = serializers.IntegerField(source="blob.size")
    sha256 = Digest(source="blob_id")
    derived = serializers.BooleanField()
    url = serializers.SerializerMethodField()

    def get_url(self, file: File) -> str:
        return file_url(file.version, file.path)


class FileInput(Input):
    """The blob for a path."""

    blob = serializers.CharField()


class NewFileInput(Input):
    """A path and its blob, with the content of a small file."""

    path = serializers.CharField(max_length=512)
    blob = serializers.CharField()
    content = serializers.CharField(
        required=False,
        trim_whitespace=False,
        allow_blank=True,
        help_text="in base64 (RFC 4648 section 4)",
    )


class FilesInput(Input):
    """Files of a draft; the whole body may have 5 MiB."""

    files = Items(child=NewFileInput(), max_length=1000)


class FilesOutput(serializers.Serializer[Any]):
    """What a draft holds now of the files that were named."""

    missing = serializers.ListField(
        child=serializers.CharField(),
        help_text="paths whose blob you have not uploaded: send them with content, or upload them",
    )


class ProofOutput(serializers.Serializer[Any]):
    """The proof that an upgraded variant equals its original."""

    strength = serializers.ChoiceField(Variant.Strength.choices)
    sentence = serializers.CharField(help_text="the proof as one sentence")
    chosen = serializers.BooleanField(
        help_text="whether this variant is loaded when its opset is requested"
    )
    evidence = serializers.DictField(
        allow_null=True,
        help_text="inputs, nodes and branches that ran, outputs, differences and noise, judges; "
        "null if recorded by an older method",
    )


def proof_of(variant: Variant) -> dict[str, Any] | None:
    """The proof of an upgraded variant, as `ProofOutput`; None for others."""
    if variant.origin != Variant.Origin.UPGRADED:
        return None
    return {
        "strength": variant.proof_strength,
        "sentence": variant.proof_sentence,
        "chosen": variant.is_chosen,
        "evidence": variant.proof,
    }


class VariantOutput(serializers.Serializer[Variant]):
    """One loadable model inside a version, with its facts."""

    name = serializers.CharField()
    entry = serializers.CharField(source="entry.path")
    opset = serializers.IntegerField(allow_null=True)
    ir_version = serializers.IntegerField(allow_null=True)
    precision = serializers.CharField()
    parameters = serializers.IntegerField(allow_null=True, help_text=PARAMETERS)
    macs = serializers.IntegerField(allow_null=True, default=None, help_text=MACS)
    memory_bytes = serializers.IntegerField(allow_null=True, default=None, help_text=MEMORY)
    origin = serializers.ChoiceField(Variant.Origin.choices)
    proof = serializers.SerializerMethodField()
    derived_from = serializers.CharField(source="derived_from.name", default=None, allow_null=True)
    facts = serializers.JSONField()

    @extend_schema_field(ProofOutput(allow_null=True))
    def get_proof(self, variant: Variant) -> dict[str, Any] | None:
        """How far an upgraded variant was shown to equal its original; null for others."""
        return proof_of(variant)


class CheckOutput(serializers.Serializer[Check]):
    """A gate before publishing, and what it found."""

    kind = serializers.CharField()
    required = serializers.BooleanField()
    outcome = serializers.ChoiceField(Check.Outcome.choices)
    report = serializers.JSONField(allow_null=True)


class VersionSummaryOutput(serializers.Serializer[Version]):
    """A version, as shown in lists."""

    ref = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(Version.State.choices)
    label = serializers.CharField()
    message = serializers.CharField()
    branch = serializers.CharField()
    commit_id = serializers.CharField(allow_null=True)
    parent = serializers.CharField(source="parent.commit_id", default=None, allow_null=True)
    manifest_sha256 = Digest(allow_null=True)
    publish_requested = serializers.BooleanField()
    reason = serializers.CharField()
    notes = serializers.CharField()
    created_by = serializers.CharField(source="created_by.username")
    created_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    published_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    url = serializers.SerializerMethodField()

    def get_url(self, version: Version) -> str:
        return page_url(version.model.ref, "v", str(version.number))


class JobSummaryOutput(serializers.Serializer[Any]):
    """A job of a version, in short."""

    uuid = serializers.UUIDField()
    kind = serializers.CharField()
    state = serializers.CharField()


class VersionOutput(VersionSummaryOutput):
    """A version with files, variants, checks and jobs."""

    files = serializers.SerializerMethodField()
    variants = VariantOutput(many=True)
    inputs = serializers.SerializerMethodField(
        help_text="what the card declares about each input; see docs/cards.md"
    )
    checks = CheckOutput(many=True)
    jobs = JobSummaryOutput(many=True)

    @extend_schema_field(serializers.DictField(child=serializers.DictField()))
    def get_inputs(self, version: Version) -> dict[str, Any]:
        return {one.name: one.document() for one in version.typed_card.inputs}

    @extend_schema_field(FileOutput(many=True))
    def get_files(self, version: Version) -> Any:
        files = list(version.files.all())
        for file in files:
            file.version = version
        many: Any = FileOutput
        return many(files, many=True).data


class VersionInput(Input):
    """A draft to be made."""

    message = serializers.CharField(max_length=500, allow_blank=True, default="")
    label = serializers.CharField(max_length=64, allow_blank=True, default="")


class SubmitInput(Input):
    """Whether to publish as soon as the checks pass."""

    publish = serializers.BooleanField(default=True)


class ReasonInput(Input):
    """The reason for a yank or withdrawal."""

    reason = serializers.CharField(max_length=2000)


class RefInput(Input):
    """The target of a tag or alias."""

    kind = serializers.ChoiceField([Ref.Kind.TAG.value, Ref.Kind.ALIAS.value])
    version = serializers.IntegerField(min_value=1)


class ResolvedVariantOutput(serializers.Serializer[Variant]):
    """The variant that was chosen."""

    name = serializers.CharField()
    entry = serializers.CharField(source="entry.path")
    opset = serializers.IntegerField(allow_null=True)
    precision = serializers.CharField()
    proof = serializers.SerializerMethodField()

    @extend_schema_field(ProofOutput(allow_null=True))
    def get_proof(self, variant: Variant) -> dict[str, Any] | None:
        """How far an upgraded variant was shown to equal its original; null for others."""
        return proof_of(variant)


class ResolutionOutput(serializers.Serializer[Any]):
    """A reference as files and digests."""

    ref = serializers.CharField()
    namespace = serializers.CharField()
    model = serializers.CharField()
    number = serializers.IntegerField()
    label = serializers.CharField()
    commit_id = serializers.CharField()
    manifest_sha256 = Digest()
    state = serializers.CharField()
    variant = ResolvedVariantOutput()
    files = FileOutput(many=True)
    warning = serializers.CharField(allow_null=True)


class FacetOutput(serializers.Serializer[Any]):
    """A value of a group, and how many models a list would have with it; null: those without."""

    value = serializers.CharField(allow_null=True)
    count = serializers.IntegerField()
