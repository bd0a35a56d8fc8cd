"""Sentences about the provenance of a version: source, author, time and tool.

The sentences are made from the facts of the version's graph; each has the query that finds its
statements there. What a card or a file states is declared, what a stored job did is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import Formatter
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from frontend.parts import labels
from frontend.parts.svg import diagrams as drawing
from frontend.presenters.statement_queries import statement_queries
from hub.protocol import derivations, phrases, stored
from hub.protocol.cards import Card
from hub.protocol.variants import DERIVATIONS
from metadata.graphs.facts import EntryFacts, VariantFacts, VersionFacts
from metadata.graphs.relatives import LineageNode
from metadata.rdf import quads
from metadata.rdf.iris import Places
from registry.cards import mentions

SENTENCES = 60
_ENTRIES = 12
_LOOKED_AT = 10 * _ENTRIES
_CLIPPED = 200
TURTLE_LINES = 40


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


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words of a sentence with fields for parts, and the predicates that it states.

    ``absent`` stands in its place where the first part is empty; without it nothing does.
    """

    words: str
    kind: str
    predicates: str = ""
    absent: str = ""


_CREATED = _Clause(
    "{uploader} created this version {at}.", "recorded", "it6:hasUploader dcterms:created"
)
_PUBLISHED = _Clause(
    "Published under {namespace} {at}.", "recorded", "dcterms:publisher dcterms:issued"
)
_FOLLOWS = _Clause("Follows {previous} of the same model.", "recorded", "dcat:previousVersion")
_CREATORS = _Clause("Created by {people}.", "declared", "dcterms:creator", "Authors not declared.")
_DERIVED = _Clause("Derived from {base} {how}.", "declared", "prov:wasDerivedFrom dc:source")
_NO_BASE = _Clause("No base model declared.", "none")
_PRODUCER = _Clause(
    "File written by {tool}, according to the file.",
    "declared",
    "prov:wasAssociatedWith",
    "The file does not name the tool that wrote it.",
)
_MIRRORED = _Clause(
    "Mirrored from {url}{commit}.", "declared", "prov:hadPrimarySource dcterms:source"
)
_PACKAGED = _Clause(
    "Taken out of the package {package}{archive}.",
    "declared",
    "prov:hadPrimarySource dcterms:source",
)
_DATA = _Clause(
    "Trained on {data}{more}.", "declared", "it6:trainedOn", "Training data not declared."
)
_HYPERPARAMETERS = _Clause("Hyperparameters: {rows}.", "declared", "mls:hasInput")
_HARDWARE = _Clause("Trained on hardware: {machines}.", "declared", "it6:hasHardware")
_VARIANT = _Clause(
    "The hub derived the variant {name} from {source} by {how}{job}{at}.",
    "recorded",
    "prov:used prov:startedAtTime prov:endedAtTime rdfs:seeAlso",
)
_COPY = _Clause(
    "The hub wrote {path}: {source} with embedded card metadata.",
    "recorded",
    "prov:wasDerivedFrom",
)
_UNSIGNED = _Clause(
    "Not signed. The digests show that the files are unchanged since publication, not who "
    "published them.",
    "none",
)
_MANIFEST = _Clause(
    "The manifest, sha256 {sha256}, lists all uploaded files.", "recorded", "hub:manifestSha256"
)


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

    def sentences(
        self, clause: _Clause, subject: str = "", **fields: str | Part | Sequence[Part]
    ) -> Iterator[Sentence]:
        """The sentence of a clause, if any; without statements in the graph it has no question."""
        if fields and not next(iter(fields.values())):
            if clause.absent:
                yield Sentence((Part(clause.absent),), "none")
            return
        subject = subject or self.version
        predicates = map(self.places.expand, clause.predicates.split())
        stored = [predicate for predicate in predicates if (subject, predicate) in self._lines]
        self._statements.update((subject, predicate) for predicate in stored)
        question = ""
        if stored and self._asks:
            question = next((query.address(subject, stored) for query in statement_queries), "")
        yield Sentence(tuple(_parts(clause.words, fields)), clause.kind, question)

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


def _parts(words: str, fields: Mapping[str, str | Part | Sequence[Part]]) -> Iterator[Part]:
    """The words of a clause with its fields as parts, without empty ones."""
    for literal, name, _, _ in Formatter().parse(words):
        value = fields[name] if name else ""
        values = [Part(value)] if isinstance(value, str) else value
        pieces = (Part(literal), *([values] if isinstance(values, Part) else values))
        yield from (piece for piece in pieces if piece.words or piece.at)


def _beginning(narrative: _Narrative) -> Iterator[Sentence]:
    of = narrative.of
    created, published = Part(at=of.created_at), Part(at=of.published_at)
    yield from narrative.sentences(_CREATED, uploader=_agent(narrative, of.uploader), at=created)
    if of.published_at is not None:
        namespace = _agent(narrative, of.namespace)
        yield from narrative.sentences(_PUBLISHED, namespace=namespace, at=published)
    if of.previous is not None:
        url = reverse("version", args=[of.namespace, of.name, of.previous])
        previous = Part(f"version {of.previous}", url)
        yield from narrative.sentences(_FOLLOWS, previous=previous)
    yield from narrative.sentences(_CREATORS, people=_row(narrative.card.creators))


def _making(narrative: _Narrative) -> Iterator[Sentence]:
    of = narrative.of
    step = derivations.declared(narrative.card)
    how = f"by {step.noun}" if step else "by an undeclared method"
    for base in narrative.bases[:_ENTRIES]:
        yield from narrative.sentences(_DERIVED, base=part_of(base), how=how)
    if not narrative.bases:
        yield from narrative.sentences(_NO_BASE)
    yield from narrative.sentences(_PRODUCER, narrative.generation, tool=producer(of))
    origin = stored.mapping(of.card.get("mirrored_from"))
    if url := str(origin.get("url") or ""):
        place = quads.foreign(url)
        commit = str(origin.get("commit") or "")[:40]
        yield from narrative.sentences(
            _MIRRORED,
            url=Part(drawing.cut(url, _CLIPPED), place, outside=bool(place)),
            commit=commit and f" at the commit {commit}",
        )
    package = stored.mapping(of.card.get("packaged_in"))
    if purl := str(package.get("package") or ""):
        sha256 = str(package.get("sha256") or "")[:64]
        yield from narrative.sentences(
            _PACKAGED,
            package=drawing.cut(purl, _CLIPPED),
            archive=sha256 and f", archive sha256:{sha256}",
        )


def _learning(narrative: _Narrative) -> Iterator[Sentence]:
    of, step = narrative.of, narrative.generation
    data = trained_on(narrative)
    parts = [part for item in data[:_ENTRIES] for part in (Part(", "), item)][1:]
    more = len(data) - _ENTRIES
    yield from narrative.sentences(_DATA, data=parts, more=f" and {more} more" if more > 0 else "")
    rows = [
        f"{key} {'…' if isinstance(value, dict | list) else drawing.cut(str(value), 60)}"
        for key, value in stored.mapping(of.card.get("hyperparameters")).items()
    ]
    yield from narrative.sentences(_HYPERPARAMETERS, step, rows=_row(rows))
    yield from narrative.sentences(_HARDWARE, step, machines=_row(narrative.card.hardware))


def _derived(narrative: _Narrative) -> Iterator[Sentence]:
    of = narrative.of
    for variant in of.variants:
        if not variant.source:
            continue
        job = variant.job
        finished = job.finished_at if job else None
        yield from narrative.sentences(
            _VARIANT,
            f"{narrative.version}#generation-{quads.part(variant.name)}",
            name=variant.name,
            source=variant.source,
            how=_how(variant),
            job=[Part(", in "), Part("a job", reverse("job", args=[job.pk]))] if job else "",
            at=[Part(" finished "), Part(at=finished)] if finished else "",
        )
    for file in of.files:
        if file.source:
            iri = f"{narrative.version}/files/{quads.part(file.path, '/')}"
            yield from narrative.sentences(_COPY, iri, path=file.path, source=file.source)


def _signing(narrative: _Narrative) -> Iterator[Sentence]:
    yield from narrative.sentences(_UNSIGNED)
    yield from narrative.sentences(_MANIFEST, sha256=narrative.of.manifest_sha256)


# --- pieces --------------------------------------------------------------------------------------


def part_of(base: LineageNode) -> Part:
    """A base as a piece of a sentence: linked where the reader may see it, or is elsewhere."""
    if base.version is not None:
        model = base.version.model
        url = reverse("version", args=[model.namespace.slug, model.name, base.version.number])
        return Part(base.version.ref, url)
    return Part(drawing.cut(base.named, _CLIPPED), base.address, outside=bool(base.address))


def producer(of: VersionFacts) -> str:
    """The tool that wrote the main file, and its version, as the file says."""
    tool = of.variants[0].facts.producer if of.variants else None
    return drawing.cut(str(tool), _CLIPPED) if tool and tool.name else ""


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
        return Part(
            drawing.cut(name or entry.slug, _CLIPPED), reverse("dataset", args=[entry.slug])
        )
    outside = quads.foreign(mentions.name(iri or name))
    return Part(drawing.cut(name or iri, _CLIPPED), outside, outside=bool(outside))


def _agent(narrative: _Narrative, name: str) -> Part:
    return Part(name, urlsplit(narrative.places.agent(name)).path)


def _how(variant: VariantFacts) -> str:
    return f"{DERIVATIONS[variant.origin].noun} to {labels.target(variant)}"


def _row(items: Sequence[str]) -> str:
    return phrases.enumeration([drawing.cut(item, 80) for item in items], _ENTRIES)


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
