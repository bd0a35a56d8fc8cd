"""What is compared: references read from an address, each found for its reader or told by name.

The address is the whole state: the order of the columns is that of the references in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import prefetch_related_objects
from django.urls import reverse

from frontend.presenters import facts, version_head
from hub.protocol import problems, refs
from hub.protocol.facts import Facts
from registry.core.permissions import Actor
from registry.models import Variant, Version
from registry.models.saved_comparisons import LONGEST_REFERENCE, MOST_COMPARED
from registry.versions import moves, selectors
from runners.benchmarks import selectors as benchmark_selectors
from runners.evaluations import selectors as evaluations
from runners.models import ConformanceResult, Evaluation, Measurement
from runners.proofs import selectors as proof_selectors

# References that an address may hold: those beyond MOST_COMPARED are refused by name, the rest cut.
READ = 20


@dataclass(frozen=True, slots=True)
class Column:
    """One thing that is compared: a variant of a version; None where nothing has read its files.

    ``pinned`` is the reference that means the same for ever.
    """

    ref: str
    version: Version
    variant: Variant | None
    results: tuple[ConformanceResult, ...]
    facts: Facts
    # The result that may be held against the other columns', else the best there is.
    speed: Measurement | None = None
    is_comparable: bool = False
    # Why an accepted result is not compared.
    speed_note: str = ""
    accuracy: Evaluation | None = None

    @property
    def is_main(self) -> bool:
        main = version_head.main_variant(self.version)
        return self.variant is None or main is None or self.variant.pk == main.pk

    @property
    def pinned(self) -> str:
        ref = self.version.ref
        return ref if self.variant is None or self.is_main else f"{ref}:{self.variant.name}"

    @property
    def url(self) -> str:
        return self.place("version")

    def place(self, view: str) -> str:
        """A page of this version with this variant chosen."""
        model = self.version.model
        url = reverse(view, args=[model.namespace.slug, model.name, self.version.number])
        return url + version_head.choice_of(self.version, self.variant)


def read(texts: Iterable[str]) -> list[str]:
    """References as their address has them: each once, in full where they can be read."""
    references: dict[str, None] = {}
    for text in texts:
        written = text.strip()[:LONGEST_REFERENCE]
        if not written:
            continue
        with suppress(problems.InvalidReference):  # told by name on the page
            written = refs.format(refs.parse(written))
        references[written] = None
    return list(references)[:READ]


def address(references: Sequence[str], view: str = "compare", *, charts: Sequence[str] = ()) -> str:
    """The one address of a comparison, with the charts that were chosen."""
    pairs = [*(("m", ref) for ref in references), *(("chart", name) for name in charts)]
    written = urlencode(pairs, safe="/@:")
    return f"{reverse(view)}?{written}" if references else reverse(view)


def find(actor: Actor, references: Sequence[str]) -> tuple[list[Column], list[dict[str, Any]]]:
    """The columns that the actor may see, and what is wrong with every other reference.

    However large the models are, the number of questions to the database depends on the number of
    references alone.
    """
    refused = [
        {
            "ref": ref,
            "words": f"You can compare up to {MOST_COMPARED} models.",
        }
        for ref in references[MOST_COMPARED:]
    ]
    parsed_references: list[tuple[str, refs.Ref, Version]] = []
    by_key: dict[int, Version] = {}
    for ref in references[:MOST_COMPARED]:
        try:
            parsed = refs.parse(ref)
            version = _version(actor, parsed)
        except (
            problems.InvalidReference,
            problems.NotFound,
            problems.Withdrawn,
        ) as problem:
            refused.append(
                {
                    "ref": ref,
                    "words": problem.detail,
                }
            )
            continue
        parsed_references.append((ref, parsed, by_key.setdefault(version.pk, version)))
    versions = list(by_key.values())
    prefetch_related_objects(versions, "files__blob", "variants__entry")
    results = {version.pk: proof_selectors.results_of(version) for version in versions}
    columns = []
    for ref, parsed, version in parsed_references:
        try:
            variant = version_head.chosen_variant(version, parsed.variant or "")
        except problems.VariantMissing as problem:
            refused.append(
                {
                    "ref": ref,
                    "words": problem.detail,
                }
            )
            continue
        mine = tuple(row for row in results[version.pk] if variant and row.variant_id == variant.pk)
        columns.append(Column(ref, version, variant, mine, facts.of(variant)))
    figures = evaluations.shared([column.variant for column in columns if column.variant])
    columns = [
        replace(column, accuracy=figures.get(column.variant.pk) if column.variant else None)
        for column in columns
    ]
    columns = _timed(
        columns, {version.pk: benchmark_selectors.of_version(version) for version in versions}
    )
    order = {ref: index for index, ref in enumerate(references)}
    return columns, sorted(refused, key=lambda reference: order[reference["ref"]])


def _timed(columns: Sequence[Column], rows: dict[int, list[Measurement]]) -> list[Column]:
    """The columns with their latencies: of the one comparability key that most of them have.

    Where a column has no accepted result of it, its best stands there and is compared with nothing.
    """
    mine = [
        [
            row
            for row in rows[column.version.pk]
            if column.variant
            and row.variant_id == column.variant.pk
            and row.p50.value is not None
            and row.scenario == "single_stream"
            and row.batch == 1
        ]
        for column in columns
    ]
    counts = Counter(
        key
        for results in mine
        for key in {row.comparability_key for row in results if row.is_ranked}
    )
    shared = min(counts, key=lambda key: (-counts[key], key)) if counts else ""
    accepted = sum(any(row.is_ranked for row in results) for results in mine)
    done = []
    for column, results in zip(columns, mine, strict=True):
        same = [row for row in results if row.is_ranked and row.comparability_key == shared]
        best = min(same or results, key=benchmark_selectors.reliability, default=None)
        is_comparable = bool(same) and counts[shared] > 1
        note = ""
        if best is not None and best.is_ranked and not is_comparable and len(columns) > 1:
            note = "not comparable" if accepted > 1 else "the only accepted result"
        done.append(replace(column, speed=best, is_comparable=is_comparable, speed_note=note))
    return done


def _version(actor: Actor, ref: refs.Ref) -> Version:
    """The version that a reference means; a model's former name leads to it."""
    try:
        model = selectors.model(actor, ref.namespace, ref.model)
    except moves.Moved as moved:
        namespace, _, name = moved.new.partition("/")
        model = selectors.model(actor, namespace, name)
    return selectors.find_version(actor, model, ref)


def without(references: Sequence[str], ref: str) -> list[str]:
    """The references but one."""
    return [other for other in references if other != ref]


def moved(references: Sequence[str], ref: str, steps: int) -> list[str]:
    """The references with one of them that many places further on."""
    rest = without(references, ref)
    at = min(max(list(references).index(ref) + steps, 0), len(rest))
    return [*rest[:at], ref, *rest[at:]]
