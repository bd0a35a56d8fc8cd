"""Versions as artifacts of the CNCF ModelPack specification, and what refers to them.

Layers are the version's files as they are, so a layer's digest is the SHA-256 that the hub has.
Manifest and config are written from what never changes of a published version, in canonical JSON:
no name, since models move, and nothing of the card's. Evidence may grow, so each piece is a
manifest of its own that names the version's as its subject (OCI image-spec 1.1, referrers).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hub.protocol import canonical, digests
from registry.models import File, Version

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
MODEL = "application/vnd.cncf.model.manifest.v1+json"
CONFIG = "application/vnd.cncf.model.config.v1+json"
STATEMENT = "application/vnd.in-toto+json"
EMPTY = "application/vnd.oci.empty.v1+json"
IN_TOTO = "https://in-toto.io/Statement/v1"
PREDICATES = {"checks": "urn:onnx-hub:checks:1", "proof": "urn:onnx-hub:proof:1"}
_LAYER = "application/vnd.cncf.model.{kind}.v1.raw"
# By the end of a path in small letters, which never changes; the first that fits.
_KINDS = (
    (re.compile(r"(^|/)(licen[cs]e|notice|readme|changelog)[^/]*$|\.(md|rst|txt|pdf)$"), "doc"),
    (re.compile(r"\.(py|ipynb|js|mjs|ts|sh|c|cc|cpp|h|rs|go|java|cs)$"), "code"),
    (re.compile(r"\.(json|ya?ml|toml|ini|cfg)$"), "weight.config"),
    (re.compile(r"\.(csv|tsv|parquet|jsonl|npy|npz|pb)$"), "dataset"),
)


@dataclass(frozen=True)
class Document:
    """JSON that the hub writes: a manifest, or the content of a layer or config."""

    media_type: str
    content: bytes

    @cached_property
    def digest(self) -> str:
        """`sha256:` and 64 hex digits."""
        return digests.format(hashlib.sha256(self.content).hexdigest())

    @property
    def descriptor(self) -> dict[str, Any]:
        """What names these bytes in a manifest (image-spec, descriptor.md)."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}


@dataclass(frozen=True)
class Artifact:
    """A manifest, and those of its blobs that the hub writes itself."""

    manifest: Document
    blobs: tuple[Document, ...]
    type: str
    annotations: dict[str, str] = field(default_factory=dict)

    def document(self, digest: str) -> Document | None:
        """The manifest or the blob with a digest."""
        return next((blob for blob in (self.manifest, *self.blobs) if blob.digest == digest), None)

    @property
    def referrer(self) -> dict[str, Any]:
        """How a list of referrers names it (distribution-spec, listing referrers)."""
        return self.manifest.descriptor | {
            "artifactType": self.type,
            "annotations": self.annotations,
        }


def of_version(version: Version, files: Iterable[tuple[str, str, int]]) -> Artifact:
    """The artifact of a published version; `files` are the path, SHA-256 and size of each."""
    layers = [_layer(*file) for file in sorted(files)]
    facts = {"version": str(version.number), "revision": str(version.commit_id)}
    config = _document(
        CONFIG,
        {
            "descriptor": facts,
            "config": {"format": "onnx"},
            "modelfs": {"type": "layers", "diffIds": [layer["digest"] for layer in layers]},
        },
    )
    annotations = {f"org.opencontainers.image.{name}": value for name, value in facts.items()}
    return _artifact(MODEL, config, layers, annotations=annotations)


def evidence_of(version: Version, subject: Document) -> list[Artifact]:
    """The checks of a published version and the proofs of its variants, as in-toto statements."""
    files = _files(version)
    checks = [
        {"check": check.kind, "outcome": check.outcome, "required": check.required}
        for check in version.checks.order_by("kind")
    ]
    statements = [_statement("checks", subject, files, {"checks": checks})]
    for variant in version.variants.select_related("entry").order_by("name"):
        if (proof := variant.statement) is None:
            continue
        entry = [(variant.entry.path, str(variant.entry.blob_id))]
        names = {"variant": variant.name, "strength": variant.proof_strength}
        predicate = {**names, "proof": proof.to_json()}
        statements.append(_statement("proof", subject, entry, predicate, **names))
    return statements


def _statement(
    kind: str,
    subject: Document,
    files: list[tuple[str, str]],
    predicate: dict[str, Any],
    **names: str,
) -> Artifact:
    statement = _document(
        STATEMENT,
        {
            "_type": IN_TOTO,
            "subject": [{"name": path, "digest": {"sha256": sha256}} for path, sha256 in files],
            "predicateType": PREDICATES[kind],
            "predicate": predicate,
        },
    )
    annotations = {"in-toto.io/predicate-type": PREDICATES[kind]}
    annotations |= {f"onnx-hub.{name}": value for name, value in names.items()}
    stem = "-".join(filter(None, (kind, names.get("variant"))))
    title = {"org.opencontainers.image.title": f"{stem}.json"}
    layers = [statement.descriptor | {"annotations": title}]
    empty = Document(EMPTY, b"{}")
    artifact = _artifact(STATEMENT, empty, layers, subject=subject, annotations=annotations)
    return Artifact(artifact.manifest, (*artifact.blobs, statement), STATEMENT, annotations)


def _artifact(
    kind: str,
    config: Document,
    layers: list[dict[str, Any]],
    *,
    annotations: dict[str, str],
    subject: Document | None = None,
) -> Artifact:
    content = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": kind,
        "config": config.descriptor,
        "layers": layers,
        "annotations": annotations,
    }
    if subject is not None:
        content["subject"] = subject.descriptor
    return Artifact(_document(MANIFEST, content), (config,), kind, annotations)


def _layer(path: str, sha256: str, size: int) -> dict[str, Any]:
    kind = next((kind for pattern, kind in _KINDS if pattern.search(path.lower())), "weight")
    return {
        "mediaType": _LAYER.format(kind=kind),
        "digest": digests.format(sha256),
        "size": size,
        "annotations": {
            "org.cncf.model.filepath": path,
            "org.cncf.model.file.mediatype.untested": "true",
            "org.opencontainers.image.title": path,
        },
    }


def _document(media_type: str, content: dict[str, Any]) -> Document:
    return Document(media_type, canonical.encode(content))


def _files(version: Version) -> list[tuple[str, str]]:
    rows = File.objects.filter(version=version, derived=False).order_by("path")
    return list(rows.values_list("path", "blob"))
