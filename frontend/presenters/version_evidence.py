"""What was measured of a version, read once for its page and for its picture beside links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frontend.parts import formatting
from frontend.parts.link_picture import LinkPicture, is_writable
from frontend.presenters import evaluations, evidence_sentence, latency_tables
from runners.benchmarks import selectors as benchmarks
from runners.proofs import selectors as proofs
from runners.queue import selectors as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from registry.models import Variant, Version
    from runners.models import ConformanceResult

# Parts of the sentence in a picture: further ones would not be read.
MOST_PARTS = 2


@dataclass(frozen=True, slots=True)
class VersionEvidence:
    """Conformance of all variants; latency and accuracy of the chosen one; all in a sentence."""

    results: Sequence[ConformanceResult]
    latency: dict[str, Any]
    accuracy: dict[str, Any]
    sentence: evidence_sentence.Sentence


def read(version: Version, variant: Variant | None, *, may_have: bool) -> VersionEvidence:
    """What is measured of a version, about one variant; ``may_have``: the reader gets the files."""
    results = proofs.results_of(version)
    latency = latency_tables.overview(benchmarks.of_version(version), variant)
    accuracy = evaluations.of(version, variant)
    evidence = evidence_sentence.Evidence(
        results=results,
        fastest=latency["best"],
        timed=len(latency["rows"]),
        accuracy=accuracy["lines"],
        live=jobs.live_kinds(version),
    )
    sentence = evidence_sentence.write(version, variant, evidence, may_have=may_have)
    return VersionEvidence(results, latency, accuracy, sentence)


def picture(
    version: Version, variant: Variant | None, head: dict[str, Any], of: VersionEvidence
) -> LinkPicture:
    """What the picture beside a link shows of a version."""
    model = version.model
    parts = [words for words in map(str, of.sentence.parts) if is_writable(words)]
    return LinkPicture(
        namespace=model.namespace.slug,
        name=model.name,
        number=version.number,
        summary=head["summary"],
        figures=tuple(_figures(variant, head, of)),
        evidence="; ".join(parts[:MOST_PARTS]),
        tone=of.sentence.tone,
        cells=head["facts"].barcode,
    )


def _figures(
    variant: Variant | None, head: dict[str, Any], of: VersionEvidence
) -> Iterator[tuple[str, str]]:
    """The figures that decide, each with its meaning; what was not measured is left out."""
    row = of.latency["best"]
    if row is not None and row.p50_ms:
        # In milliseconds however short: the font has no letter for micro.
        milliseconds = f"{formatting.rounded(row.p50_ms)}{formatting.NARROW}ms"
        yield milliseconds, f"p50, {row.device_title}"
    for line in of.accuracy["lines"]:
        if variant is not None and line.variant.pk == variant.pk:
            yield line.value, f"{line.title.lower()}, {line.row.dataset_version.dataset.slug}"
            break
    if head["facts"].parameters:
        yield formatting.quantity(head["facts"].parameters), "parameters"
    if head["size"]:
        yield formatting.size(head["size"]), "all files"
    if head["licenses"]:
        yield ", ".join(head["licenses"]), "licence"
