"""Sentences about the provenance of a version: source, author, time and tool.

The sentences are made from the facts of the version's graph; each has the query that finds its
statements there. What a card or a file states is declared, what a stored job did is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from frontend.parts import labels
from frontend.parts.svg import diagrams as drawing
from frontend.presenters.statement_queries import statement_queries
from hub.protocol import derivations, stored
from hub.protocol.cards import Card
from hub.protocol.variants import DERIVATIONS
from metadata.rdf import quads
from metadata.rdf.iris import Places
from metadata.rdf.terms import DC, DCAT, DCTERMS, IT6, MLS, PROV, RDFS
from registry.cards import mentions

if TYPE_CHECKING:
    from datetime import datetime

    from metadata.graphs.facts import EntryFacts, VariantFacts, VersionFacts
    from metadata.graphs.relatives import LineageNode

SENTENCES = 60
_ENTRIES = 12
_LOOKED_AT = 10 * _ENTRIES
_CLIPPED = 200
TURTLE_LINES = 40
_UNSIGNED = (
    "Not signed. The digests show that the files are unchanged since publication, not who "
    "published them."
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a sentence: words, perhaps with a link, or a moment."""

    words: str = ""
    url: str = ""
    outside: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, its kind, and the address of the query that finds its statements."""

    parts: tuple[Part, ...]
    kind: str
    question: str = ""

    @property
    def plain(self) -> str:
        """The words alone."""
        return "".join(part.words for part in self.parts)


@dataclass(frozen=True, slots=True)
class Story:
    """Everything the tab shows."""

    sentences: tuple[Sentence, ...]
    cut: bool
    drawing: str
    nquads: str


class _Narrative:
    """Sentences of one version, and which statements of its graph each of them tells."""

    def __init__(
        self, of: VersionFacts, bases: Sequence[LineageNode], nquads: str, *, asks: bool
    ) -> None:
        self.of = of
        self.card = Card.read(of.card)
        self.bases = bases
        self.places = Places(settings.HUB_PUBLIC_URL)
        self.version = self.places.version(of.namespace, of.name, of.number)
        self.generation = f"{self.version}#generation"
        self._asks = asks
        self._lines = _lines(nquads)
        self._statements: set[tuple[str, str]] = set()

    def sentence(
        self, kind: str, parts: Iterable[str | Part], subject: str = "", *predicates: str
    ) -> Sentence:
        """A sentence; without statements in the graph it has no question."""
        subject = subject or self.version
        stored = [predicate for predicate in predicates if (subject, predicate) in self._lines]
        self._statements.update((subject, predicate) for predicate in stored)
        question = ""
        if stored and self._asks:
            question = next((query.address(subject, stored) for query in statement_queries), "")
        pieces = (Part(part) if isinstance(part, str) else part for part in parts)
        return Sentence(tuple(piece for piece in pieces if piece.words or piece.at), kind, question)

    def statements(self) -> str:
        """What the sentences tell, as lines of the graph."""
        return "".join(line for pair in sorted(self._statements) for line in self._lines[pair])


def tell(of: VersionFacts, bases: Sequence[LineageNode], nquads: str, *, private: bool) -> Story:
    """The story of a version; ``bases`` are its ancestors of the first step, as readers see them.

    What is private is in no graph that can be asked, so its sentences have no questions.
    """
    narrative = _Narrative(of, bases, nquads, asks=not private)
    every = [
        *_beginning(narrative),
        *_making(narrative),
        *_learning(narrative),
        *_derived(narrative),
        *_signing(narrative),
    ]
    cut = len(every) > SENTENCES
    return Story(tuple(every[:SENTENCES]), cut, _drawn(narrative), narrative.statements())


# --- sentences -----------------------------------------------------------------------------------


def _beginning(narrative: _Narrative) -> Iterator[Sentence]:
    of = narrative.of
    uploader = _agent(narrative, of.uploader)
    yield narrative.sentence(
        "recorded",
        [uploader, " created this version ", Part(at=of.created_at), "."],
        "",
        f"{IT6}hasUploader",
        f"{DCTERMS}created",
    )
    if of.published_at is not None:
        yield narrative.sentence(
            "recorded",
            [
                "Published under ",
                _agent(narrative, of.namespace),
                " ",
                Part(at=of.published_at),
                ".",
            ],
            "",
            f"{DCTERMS}publisher",
            f"{DCTERMS}issued",
        )
    if of.previous is not None:
        url = reverse("version", args=[of.namespace, of.name, of.previous])
        yield narrative.sentence(
            "recorded",
            ["Follows ", Part(f"version {of.previous}", url), " of the same model."],
            "",
            f"{DCAT}previousVersion",
        )
    if people := narrative.card.creators:
        yield narrative.sentence(
            "declared", ["Created by ", _row(people), "."], "", f"{DCTERMS}creator"
        )
    else:
        yield narrative.sentence("none", ["Authors not declared."])


def _making(narrative: _Narrative) -> Iterator[Sentence]:
    of = narrative.of
    step = derivations.declared(narrative.card)
    for base in narrative.bases[:_ENTRIES]:
        predicates = [f"{PROV}wasDerivedFrom", f"{DC}source"]
        how = f"by {step.noun}" if step else "by an undeclared method"
        yield narrative.sentence(
            "declared", ["Derived from ", part_of(base), f" {how}."], "", *predicates
        )
    if not narrative.bases:
        yield narrative.sentence("none", ["No base model declared."])
    tool = producer(of)
    if tool:
        yield narrative.sentence(
            "declared",
            ["File written by ", tool, ", according to the file."],
            narrative.generation,
            f"{PROV}wasAssociatedWith",
        )
    else:
        yield narrative.sentence("none", ["The file does not name the tool that wrote it."])
    origin = stored.mapping(of.card.get("mirrored_from"))
    if url := str(origin.get("url") or ""):
        place = quads.foreign(url)
        commit = str(origin.get("commit") or "")[:40]
        yield narrative.sentence(
            "declared",
            [
                "Mirrored from ",
                Part(_clip(url), place, outside=bool(place)),
                f" at the commit {commit}." if commit else ".",
            ],
            "",
            f"{PROV}hadPrimarySource",
            f"{DCTERMS}source",
        )


def _learning(narrative: _Narrative) -> Iterator[Sentence]:
    of, step = narrative.of, narrative.generation
    data = trained_on(narrative)
    if data:
        parts: list[str | Part] = ["Trained on "]
        for index, item in enumerate(data[:_ENTRIES]):
            parts += [", " if index else "", item]
        more = len(data) - _ENTRIES
        yield narrative.sentence(
            "declared", [*parts, f" and {more} more." if more > 0 else "."], "", f"{IT6}trainedOn"
        )
    else:
        yield narrative.sentence("none", ["Training data not declared."])
    rows = [
        f"{key} {'…' if isinstance(value, dict | list) else _clip(str(value), 60)}"
        for key, value in stored.mapping(of.card.get("hyperparameters")).items()
    ]
    if rows:
        yield narrative.sentence(
            "declared", ["Hyperparameters: ", _row(rows), "."], step, f"{MLS}hasInput"
        )
    if machines := narrative.card.hardware:
        yield narrative.sentence(
            "declared", ["Trained on hardware: ", _row(machines), "."], step, f"{IT6}hasHardware"
        )


def _derived(narrative: _Narrative) -> Iterator[Sentence]:
    of = narrative.of
    for variant in of.variants:
        if not variant.source:
            continue
        step = f"{narrative.version}#generation-{quads.part(variant.name)}"
        job = variant.job
        parts: list[str | Part] = [
            f"The hub derived the variant {variant.name} from {variant.source} by {_how(variant)}",
        ]
        if job is not None:
            parts += [", in ", Part("a job", reverse("job", args=[job.uuid]))]
            if job.finished_at is not None:
                parts += [" finished ", Part(at=job.finished_at)]
        yield narrative.sentence(
            "recorded",
            [*parts, "."],
            step,
            f"{PROV}used",
            f"{PROV}startedAtTime",
            f"{PROV}endedAtTime",
            f"{RDFS}seeAlso",
        )
    for file in of.files:
        if file.source:
            iri = f"{narrative.version}/files/{quads.part(file.path, '/')}"
            wrote = f"The hub wrote {file.path}: {file.source} with embedded card metadata."
            yield narrative.sentence("recorded", [wrote], iri, f"{PROV}wasDerivedFrom")


def _signing(narrative: _Narrative) -> Iterator[Sentence]:
    yield narrative.sentence(
        "none",
        [_UNSIGNED],
    )
    if narrative.of.manifest_sha256:
        yield narrative.sentence(
            "recorded",
            [f"The manifest, sha256 {narrative.of.manifest_sha256}, lists all uploaded files."],
            "",
            narrative.places.term("manifestSha256"),
        )


# --- pieces --------------------------------------------------------------------------------------


def part_of(base: LineageNode) -> Part:
    """A base as a piece of a sentence: linked where the reader may see it, or is elsewhere."""
    if base.version is not None:
        model = base.version.model
        url = reverse("version", args=[model.namespace.slug, model.name, base.version.number])
        return Part(base.version.ref, url)
    return Part(_clip(base.named), base.address, outside=bool(base.address))


def producer(of: VersionFacts) -> str:
    """The tool that wrote the main file, and its version, as the file says."""
    tool = of.variants[0].facts.producer if of.variants else None
    return _clip(str(tool)) if tool and tool.name else ""


def trained_on(narrative: _Narrative) -> list[Part]:
    """The data sets that a card says were learned from, linked to their entries or elsewhere."""
    card, entries = narrative.card, narrative.of.entries
    parts: dict[str, Part] = {}
    for dataset in (*card.datasets[:_LOOKED_AT], *card.training_data[:_LOOKED_AT]):
        if name := dataset.iri or dataset.url or dataset.name:
            parts.setdefault(
                mentions.key(name), _data(entries, dataset.name, dataset.iri or dataset.url)
            )
    return list(parts.values())


def _data(entries: Iterable[EntryFacts], name: str, iri: str) -> Part:
    keys = {mentions.key(text) for text in (name, iri) if text}
    entry = next((candidate for candidate in entries if keys & set(candidate.keys)), None)
    if entry is not None:
        return Part(_clip(name or entry.slug), reverse("dataset", args=[entry.slug]))
    outside = quads.foreign(mentions.name(iri or name))
    return Part(_clip(name or iri), outside, outside=bool(outside))


def _agent(narrative: _Narrative, name: str) -> Part:
    return Part(name, urlsplit(narrative.places.agent(name)).path)


def _how(variant: VariantFacts) -> str:
    return f"{DERIVATIONS[variant.origin].noun} to {labels.target(variant)}"


def _row(items: Sequence[str]) -> str:
    listing = ", ".join(_clip(item, 80) for item in items[:_ENTRIES])
    more = len(items) - _ENTRIES
    return f"{listing} and {more} more" if more > 0 else listing


def _clip(text: str, most: int = _CLIPPED) -> str:
    return drawing.cut(text, most)


# --- the graph -----------------------------------------------------------------------------------


def turtle(written: bytes) -> tuple[str, int]:
    """The first lines of a graph as Turtle, without its prefixes, and how many more there are."""
    lines = [line for line in written.decode().splitlines() if not line.startswith("@prefix")]
    text = "\n".join(line[:_CLIPPED] for line in lines[:TURTLE_LINES]).strip()
    return text, max(0, len(lines) - TURTLE_LINES)


def _lines(nquads: str) -> dict[tuple[str, str], list[str]]:
    """The lines of a stored graph by subject and predicate; there are no blank nodes in it."""
    by_subject: dict[tuple[str, str], list[str]] = {}
    for line in nquads.splitlines(keepends=True):
        subject, predicate, _ = line.split(" ", 2)
        by_subject.setdefault((subject[1:-1], predicate[1:-1]), []).append(line)
    return by_subject


# --- the drawing ---------------------------------------------------------------------------------


def _drawn(narrative: _Narrative) -> str:
    of, boxes, lines = narrative.of, [], []
    sources = [
        (base.version.ref if base.version else base.named, "base model") for base in narrative.bases
    ]
    sources += [(part.words, "trained on") for part in trained_on(narrative)]
    if tool := producer(of):
        sources.append((tool, "wrote the file"))
    step = derivations.declared(narrative.card)
    for index, (title, note) in enumerate(sources):
        boxes.append(drawing.Box(f"source-{index}", 0, title, note))
        lines.append((f"source-{index}", "step"))
    boxes.append(drawing.Box("step", 1, step.noun if step else "undeclared step", "author", "step"))
    boxes.append(drawing.Box("self", 2, f"{of.name}@{of.number}", "this version", "self"))
    lines.append(("step", "self"))
    for variant in of.variants:
        if variant.source:
            key = f"variant-{variant.name}"
            boxes.append(drawing.Box(key, 3, variant.name, _how(variant)))
            lines.append(("self", key))
    return drawing.draw(boxes, lines)
