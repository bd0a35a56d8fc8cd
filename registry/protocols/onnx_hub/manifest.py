"""The entries of a manifest: one for each model and opset, made of rows alone.

What a file takes and gives is what the worker that read it found (`Variant.facts`). Models whose
weights lie in files of their own have no entry: clients of this protocol load from memory, and
would get a model without its weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from django.db.models import Q, QuerySet

from hub.protocol.cards import Card
from hub.protocol.facts import Type, read_ports
from hub.protocol.runtime_builds import PORTABLE
from registry.cards import licences
from registry.models import Deprecation, File, Variant, Version
from registry.models.files import is_candidate
from registry.protocols.onnx_hub import archives
from registry.protocols.onnx_hub.archives import Stored
from registry.protocols.onnx_hub.scope import Scope, ServedModel

# The first release of ONNX with each opset: ONNX docs/Versioning.md, onnx.helper.VERSION_TABLE.
RELEASES = {
    1: "1.0", 5: "1.1", 6: "1.1.2", 7: "1.2", 8: "1.3", 9: "1.4.1", 10: "1.5.0", 11: "1.6.0",
    12: "1.7.0", 13: "1.8.0", 14: "1.9.0", 15: "1.10.0", 16: "1.11.0", 17: "1.12.0", 18: "1.13.0",
    19: "1.14.0", 20: "1.15.0", 21: "1.16.0", 22: "1.17.0", 23: "1.18.0", 24: "1.19.0",
    25: "1.20.0", 26: "1.21.0", 27: "1.22.0", 28: "1.23.0",
}  # fmt: skip
# Names of element types that ONNX Runtime, whose spelling the manifest has, writes in its own way.
ELEMENTS = {"float32": "float", "float64": "double"}
_ORIGINS = [origin.value for origin in Variant.Origin]


class VariantRow(NamedTuple):
    """A variant as the database gives it; `files` are those of weights outside the model."""

    version_id: int
    name: str
    origin: str
    opset: int | None
    ir_version: int | None
    strength: str
    path: str
    sha256: str
    size: int
    inputs: Any
    outputs: Any
    files: Any

    @property
    def is_chosen(self) -> bool:
        """Whether it may stand under the model's own name at its opset."""
        is_converted = self.origin == Variant.Origin.CONVERTED
        return not is_converted and is_candidate(self.origin, self.strength)

    @property
    def is_portable(self) -> bool:
        """As `Variant.is_portable`."""
        return PORTABLE.admits(self.opset, self.ir_version)


class Release(NamedTuple):
    """A version, and the part of its card that entries show."""

    number: int
    card: Card


def entries(
    scope: Scope, pages: Iterable[list[ServedModel]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each entry, with the id of its model."""
    for page in pages:
        ids = [row.version_id for row in page]
        released = _releases(ids)
        variants = _variants(ids)
        data = _data(ids)
        deprecated = _deprecated(page)
        for row in page:
            rows = variants.get(row.version_id, [])
            release = released.get(row.version_id)
            if release is not None:
                files = data.get(row.version_id, [])
                for entry in _of_model(scope, row, release, rows, files):
                    if row.version_id in deprecated:
                        entry["metadata"]["hub"]["deprecated"] = deprecated[row.version_id]
                    yield row.model_id, entry


def is_waiting(entry: dict[str, Any]) -> bool:
    """Whether an entry lacks a digest that is still being worked out."""
    metadata = entry["metadata"]
    return "model_with_data_path" in metadata and metadata["model_with_data_sha"] is None


def _deprecated(page: list[ServedModel]) -> dict[int, str]:
    """The messages of deprecations of versions, or of their models.

    Without successors: manifests are cached, and a successor may be hidden before one is renewed.
    """
    of_model = Q(model__in=[row.model_id for row in page])
    rows = Deprecation.objects.filter(of_model | Q(version__in=[row.version_id for row in page]))
    columns = rows.values_list("model", "version", "message")
    by_model = {model: message for model, _, message in columns if model}
    by_version = {version: message for _, version, message in columns if version}
    of_models = {row.version_id: by_model[row.model_id] for row in page if row.model_id in by_model}
    return of_models | by_version


def _releases(ids: list[int]) -> dict[int, Release]:
    columns = ("pk", "number", "card__license", "card__pipeline_tag", "card__tags")
    rows = Version.objects.filter(pk__in=ids).order_by().values_list(*columns)
    return {
        pk: Release(number, Card.read({"license": license_, "pipeline_tag": task, "tags": tags}))
        for pk, number, license_, task, tags in rows
    }


def _variants(ids: list[int]) -> dict[int, list[VariantRow]]:
    rows = Variant.objects.filter(version__in=ids, entry__blob__erased_at=None).order_by("pk")
    by_version = defaultdict(list)
    for row in rows.values_list(
        "version_id",
        "name",
        "origin",
        "opset",
        "ir_version",
        "proof_strength",
        "entry__path",
        "entry__blob_id",
        "entry__blob__size",
        "facts__inputs",
        "facts__outputs",
        "facts__external_files",
    ):
        one = VariantRow(*row)
        if not one.files:
            by_version[one.version_id].append(one)
    return by_version


def _data(ids: list[int]) -> dict[int, list[Stored]]:
    rows: QuerySet[File] = File.objects.filter(version__in=ids, derived=False)
    rows = rows.filter(path__contains="test_data_set_", blob__erased_at=None)
    by_version = defaultdict(list)
    for row in rows.values_list("version_id", "path", "blob_id", "blob__size"):
        by_version[row[0]].append(Stored(*row[1:]))
    return by_version


def _of_model(
    scope: Scope,
    model: ServedModel,
    release: Release,
    variants: list[VariantRow],
    files: list[Stored],
) -> Iterator[dict[str, Any]]:
    """The entries of a model: at each opset one under its name, others as `name:variant`."""
    name = scope.name_of(model.namespace, model.name)
    licence, task, keywords = model.declared
    card = release.card
    tags = list(dict.fromkeys([*(card.keywords or map(str, keywords)), card.task or task]))
    declared = {"license": licences.text(*card.licenses) or licence, "task": card.task or task}
    declared = {name: value for name, value in declared.items() if value}
    place = f"{model.namespace}/{model.name}@{release.number}"
    opsets: set[int | None] = set()
    # Clients take the highest opset under a name: where a variant is portable, none that is not
    # stands beside it there.
    offered = [variant for variant in variants if variant.is_chosen]
    has_portable = any(variant.is_portable for variant in offered)
    # A name means the variant as it was uploaded, and the main one.
    for variant in sorted(
        variants, key=lambda variant: (_ORIGINS.index(variant.origin), variant.name != "default")
    ):
        is_named = variant in offered and variant.is_portable in (True, has_portable)
        is_first = is_named and variant.opset not in opsets
        if is_first:
            opsets.add(variant.opset)
        metadata: dict[str, Any] = {
            "model_sha": variant.sha256,
            "model_bytes": variant.size,
            "tags": [tag for tag in tags if tag],
            "io_ports": {"inputs": ports(variant.inputs), "outputs": ports(variant.outputs)},
            "extra_ports": {"features": []},
            "hub": {"ref": f"{place}:{variant.name}", **declared},
        }
        data = archives.data_of(files, variant.path)
        if data and variant.origin != Variant.Origin.CONVERTED:
            graph_file = Stored(variant.path, variant.sha256, variant.size)
            packed = archives.archive(model.name, graph_file, data)
            metadata |= {
                "model_with_data_path": f"{place}/{quote(variant.path)}{archives.SUFFIX}",
                "model_with_data_sha": packed.sha256(),
                "model_with_data_bytes": packed.size,
            }
        yield {
            "model": name if is_first else f"{name}:{variant.name}",
            "model_path": f"{place}/{quote(variant.path)}",
            "onnx_version": _release_of(variant.opset),
            "opset_version": variant.opset or 0,
            "metadata": metadata,
        }


def _release_of(opset: int | None) -> str:
    """The ONNX release that an opset came with, as far as this release of the hub knows."""
    opsets = [number for number in RELEASES if number <= (opset or 0)]
    return RELEASES[max(opsets)] if opsets else ""


def ports(stored: Any) -> list[dict[str, Any]]:
    """What a graph takes or gives, in the manifest's words: unknown sizes are null or a name."""
    return [
        {"name": port.name, "shape": port.type.shape, "type": type_of(port.type)}
        for port in read_ports(stored)
    ]


def type_of(of: Type | None) -> str:
    """A type as ONNX Runtime writes it, such as `tensor(float)` or `seq(tensor(int64))`."""
    if of is None:
        return ""
    if of.kind == "sequence":
        return f"seq({type_of(of.element)})"
    if of.kind == "optional":
        return f"optional({type_of(of.element)})"
    if of.kind == "map":
        return f"map({ELEMENTS.get(of.key, of.key)},{type_of(of.element)})"
    prefix = "sparse_tensor" if "sparse" in of.kind else "tensor"
    return f"{prefix}({ELEMENTS.get(of.dtype, of.dtype)})" if of.dtype else ""
