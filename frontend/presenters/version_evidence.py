"""What was measured of a version, read once for its page and for its picture beside links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from frontend.parts import formatting
from frontend.parts.link_picture import LinkPicture, is_writable
from frontend.presenters import (
    declarations,
    evaluations,
    evidence_sentence,
    facts,
    figures,
    latency_tables,
    version_head,
)
from registry.catalogue import documents
from registry.models import Variant, Version
from runners.benchmarks import selectors as benchmarks
from runners.proofs import selectors as proofs
from runners.queue import selectors as jobs

# Parts of the sentence in a picture: further ones would not be read.
MOST_PARTS = 2


@dataclass(frozen=True, slots=True)
class VersionEvidence:
    """Conformance of all variants; latency and accuracy of the chosen one; all in a sentence."""

    measured: evidence_sentence.Evidence
    latency: dict[str, Any]
    accuracy: dict[str, Any]
    sentence: evidence_sentence.Sentence


def read(version: Version, variant: Variant | None, *, may_have: bool) -> VersionEvidence:
    """What is measured of a version, about one variant; ``may_have``: the reader gets the files."""
    latency = latency_tables.overview(benchmarks.of_version(version), variant)
    accuracy = evaluations.of(version, variant)
    evidence = evidence_sentence.Evidence(
        results=proofs.results_of(version),
        fastest=latency["best"],
        timed=len(latency["rows"]),
        accuracy=accuracy["lines"],
        live=jobs.live_kinds(version),
    )
    sentence = evidence_sentence.write(version, variant, evidence, may_have=may_have)
    return VersionEvidence(evidence, latency, accuracy, sentence)


def picture(version: Version, variant: Variant | None, of: VersionEvidence) -> LinkPicture:
    """What the picture beside a link shows of a version."""
    model = version.model
    parts = [words for words in map(str, of.sentence.parts) if is_writable(words)]
    return LinkPicture(
        namespace=model.namespace.slug,
        name=model.name,
        number=version.number,
        summary=documents.summary_of(version),
        figures=tuple(_figures(version, variant, of.measured)),
        evidence="; ".join(parts[:MOST_PARTS]),
        tone=of.sentence.tone,
        cells=facts.of(variant).barcode,
    )


def _figures(
    version: Version, variant: Variant | None, measured: evidence_sentence.Evidence
) -> Iterator[tuple[str, str]]:
    """The figures that decide, each with its meaning; what was not measured is left out."""
    row = measured.fastest
    if row is not None and row.p50_ms:
        # In milliseconds however short: the font has no letter for micro.
        milliseconds = f"{formatting.rounded(row.p50_ms)}{formatting.NARROW}ms"
        yield milliseconds, f"p50, {row.device_label}"
    for line in measured.accuracy:
        if variant is not None and line.variant.pk == variant.pk:
            yield (
                figures.text(line.figure),
                f"{line.title.lower()}, {line.row.dataset_version.dataset.slug}",
            )
            break
    parameters = facts.of(variant).parameters
    if parameters:
        yield formatting.quantity(parameters), "parameters"
    size = sum(file.blob.size for file in version_head.own_files(version, variant))
    if size:
        yield formatting.size(size), "all files"
    licenses = declarations.licenses_of(version)
    if licenses:
        yield ", ".join(licenses), "licence"
