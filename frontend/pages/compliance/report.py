"""A version's facts under the headings of Annex IV of the EU AI Act and of the GPAI form.

Sources: Regulation (EU) 2024/1689, Annex IV; Code of Practice for General-Purpose AI, Model
Documentation Form. The hub judges nothing here: a heading has facts with their basis, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from django.conf import settings

from frontend.parts import formatting, labels
from frontend.presenters import figures, licences, measurements
from hub.protocol.benchmark_metrics import ENERGY
from hub.protocol.cards import UNKNOWN, Card, CardDataset
from metadata.exports import sheet
from metadata.exports.sheet import Port, Sheet
from metadata.graphs import projection, relatives, selectors, withdrawals
from metadata.rdf.iris import Places
from registry.cards import licences as card_licences
from registry.cards import mentions, resolution
from registry.core.permissions import Actor
from registry.models import Dataset, Version
from runners.benchmarks import selectors as benchmarks
from runners.evaluations import selectors as evaluations
from runners.models import Measurement
from runners.proofs import selectors as proofs


class Basis(StrEnum):
    """On whose word a fact rests."""

    DECLARED = "declared by the publisher"
    FILES = "counted from the files"
    MEASURED = "measured by the hub"
    RECORDED = "recorded by the hub"
    SIGNED = "signed by an enrolled worker"


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement: what it is of, what it says, and its basis."""

    name: str
    value: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its places in the two documents; without facts it is unknown."""

    heading: str
    annex: str
    form: str
    facts: tuple[Fact, ...]

    @property
    def is_known(self) -> bool:
        """Whether the hub holds a fact for this heading."""
        return bool(self.facts)


@dataclass(frozen=True, slots=True)
class Report:
    """The sections in the order of the headings."""

    sections: tuple[Section, ...]

    @property
    def unknown(self) -> list[str]:
        """The headings for which the hub holds no fact."""
        return [section.heading for section in self.sections if not section.is_known]


@dataclass(frozen=True, slots=True)
class Subject:
    """A version with what its sections read: its graph as a sheet, its card and its ancestors.

    Of a withdrawn version the graph is its tombstone. Ancestors are those that the actor may see.
    """

    actor: Actor
    version: Version
    sheet: Sheet
    card: Card
    ancestors: tuple[Version, ...]


Facts = Iterator[Fact]


def read(actor: Actor, version: Version) -> Report:
    """The report of a version that the actor may see."""
    home, model = settings.HUB_PUBLIC_URL, version.model
    nquads = projection.version_graph(selectors.version_facts(version), home)
    iri = Places(home).version(model.namespace.slug, model.name, version.number)
    side = relatives.ancestors(actor, version)
    subject = Subject(
        actor,
        version,
        sheet.read(iri, nquads, home),
        version.typed_card,
        tuple(withdrawals.versions_in(side.relatives)),
    )
    return Report(
        tuple(
            Section(heading, annex, form, tuple(facts(subject)))
            for heading, annex, form, facts in _HEADINGS
        )
    )


def _facts(basis: Basis, values: Mapping[str, object]) -> Facts:
    """Facts by their names: each item of a list is a fact, and what is empty or false is none."""
    for name, value in values.items():
        items = value if isinstance(value, list | tuple) else [value]
        yield from (Fact(name, str(item), basis) for item in items if item)


def _general(of: Subject) -> Facts:
    version, page = of.version, of.sheet
    recorded = {
        "Model and version": version.ref,
        "Publisher": version.model.namespace.slug,
        "Uploaded by": version.created_by.username,
        "Published": version.published_at and formatting.exact(version.published_at),
        "State": version.state,
    }
    has_reason = version.state in (Version.State.YANKED, Version.State.WITHDRAWN)
    declared = {
        "Reason": version.reason if has_reason else "",
        "Creator": [creator.name for creator in page.creators],
        "Task": page.task and labels.task(page.task),
    }
    return chain(_facts(Basis.RECORDED, recorded), _facts(Basis.DECLARED, declared))


def _use(of: Subject) -> Facts:
    return _facts(Basis.DECLARED, {"Intended use": of.sheet.texts.get("intended_use")})


def _limits(of: Subject) -> Facts:
    texts = of.sheet.texts
    limits = {"Limitation": texts.get("limitations"), "Bias": texts.get("bias")}
    return _facts(Basis.DECLARED, limits)


def _properties(of: Subject) -> Facts:
    page = of.sheet
    counts = {
        "Parameters": None if page.parameters is None else f"{page.parameters:,}",
        "Operator set": page.opset,
        "IR version": page.ir_version,
        "Precision": ", ".join(page.precisions),
        "Inputs": _ports(page.inputs),
        "Outputs": _ports(page.outputs),
    }
    declared = _facts(Basis.DECLARED, {"Architecture": page.texts.get("architecture")})
    return chain(declared, _facts(Basis.FILES, counts))


def _ports(ports: Iterable[Port]) -> str:
    return ", ".join(f"{port.name} ({port.element})" for port in ports)


def _licences(of: Subject) -> Facts:
    page, model = of.sheet, of.version.model
    in_files = {
        "Licence in the file": [sheet.spdx_id(iri) or iri for iri in page.licences_in_file],
        "Conflict": page.has_licence_conflict and "the card and the file name no common licence",
    }
    access = "on request" if model.is_gated else model.visibility
    return chain(
        _facts(Basis.DECLARED, {"Licence": page.licence_names}),
        _facts(Basis.FILES, in_files),
        _facts(Basis.DECLARED, {"Conflict with an ancestor": list(_licence_conflicts(of))}),
        _facts(Basis.RECORDED, {"Access to the files": of.version.is_served and access}),
    )


def _licence_conflicts(of: Subject) -> Iterator[str]:
    """Ancestors whose licence forbids commercial use, if that of the version allows it."""
    own = {licences.family(name) for name in of.sheet.licence_names}
    for ancestor in of.ancestors:
        for name in card_licences.named(*ancestor.typed_card.licenses):
            family = licences.family(name)
            if family == licences.NON_COMMERCIAL and own and family not in own:
                yield f"{ancestor.ref} is under {name} ({family.lower()})"


def _lineage(of: Subject) -> Facts:
    sources = withdrawals.sources_of(of.actor, of.version)
    withdrawn = [f"{source.sentence} ({formatting.exact(source.at)})" for source in sources]
    origins = {
        "Base model": of.card.base_models,
        "Ancestor": [_ancestor(version) for version in of.ancestors],
    }
    return chain(_facts(Basis.DECLARED, origins), _facts(Basis.RECORDED, {"Withdrawn": withdrawn}))


def _ancestor(version: Version) -> str:
    names = ", ".join(card_licences.named(*version.typed_card.licenses))
    state = f", {version.state}" if version.state != Version.State.PUBLISHED else ""
    return f"{version.ref}{state}, {names or 'no licence declared'}"


def _data(of: Subject) -> Facts:
    for version in (of.version, *of.ancestors):
        through = "" if version == of.version else f" of {version.ref}"
        card = version.typed_card
        entries = resolution.datasets_of(version.model, mentions.training_names(card))
        statements: dict[str, None] = {}
        for row in (*card.training_data, *card.datasets):
            matches = (entries.get(mentions.key(name)) for name in (*row.names, row.id))
            entry = next((dataset for dataset in matches if dataset is not None), None)
            words = entry.public_title if entry else row.title
            claims = _personal(entry, card, row)
            if entry is not None:
                claims += _of_entry(entry)
            # A card may list one data set twice, by name and in detail.
            statements[f"{words}: {', '.join(claims)}"] = None
        for statement in statements:
            yield Fact(f"Training data{through}", statement, Basis.DECLARED)


def _personal(entry: Dataset | None, card: Card, row: CardDataset) -> list[str]:
    """What the entry of a data set and the card say of personal data; both where they differ."""
    claims = [entry.personal_words] if entry else []
    claims.append(card.personal_words(row))
    statements = [words for words in dict.fromkeys(claims) if words != UNKNOWN]
    if len(statements) > 1:
        return [statements[0], f"by the card {statements[1]}"]
    return statements or [f"personal data {UNKNOWN}"]


def _of_entry(entry: Dataset) -> list[str]:
    claims = (
        f"licence {labels.licence(entry.license) if entry.license else 'unknown'}",
        entry.legal_basis and f"legal basis {entry.legal_basis}",
        entry.source and f"source {entry.source}",
        f"withdrawn: {entry.reason}" if entry.withdrawn_at else "",
    )
    return list(filter(None, claims))


def _accuracy(of: Subject) -> Facts:
    for row in evaluations.rows_of(of.version):
        data = f"{row.dataset_version.dataset.slug}, {row.split}"
        words = ", ".join(
            filter(None, (figures.sentence(row.figure), figures.interval_sentence(row.figure)))
        )
        subject = f"{figures.title(row.metric)} of {row.variant.name} on {data}"
        yield Fact(subject, words, Basis.MEASURED)
    for result in of.card.results:
        if result.value is not None:
            words = f"{result.metric} on {result.dataset.title or result.dataset.type}"
            yield Fact(f"Reported {words}", str(result.value), Basis.DECLARED)


def _tests(of: Subject) -> Facts:
    by_runtime: dict[tuple[str, str], Counter[str]] = {}
    for row in proofs.results_of(of.version):
        key = (row.variant.name, f"{labels.runtime(row.runtime)} {row.runtime_version}")
        by_runtime.setdefault(key, Counter())[str(row.outcome)] += 1
    for (variant, runtime), outcomes in sorted(by_runtime.items()):
        words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        yield Fact(f"Conformance of {variant} on {runtime}", words, Basis.MEASURED)


def _risks(of: Subject) -> Facts:
    for risk in of.sheet.risks:
        parts = (
            risk.description or risk.title,
            risk.severity and f"severity {risk.severity}",
            risk.probability and f"probability {risk.probability}",
            f"mitigation: {risk.mitigation or 'unknown'}",
        )
        yield Fact(risk.title, "; ".join(filter(None, parts)), Basis.DECLARED)


def _energy(of: Subject) -> Facts:
    energy, carbon = of.sheet.energy_kwh, of.sheet.carbon_kg
    declared = {
        "Energy of training": None if energy is None else f"{energy.normalize():f} kWh",
        "Emissions of training": None if carbon is None else f"{carbon.normalize():f} kg CO2e",
    }
    yield from _facts(Basis.DECLARED, declared)
    for row in benchmarks.of_version(of.version):
        figure = row.figure(ENERGY)
        if figure.is_known and row.is_trusted and row.status in Measurement.PUBLIC:
            where = f"{row.device_label}, {measurements.runtime_of(row)}"
            basis = Basis.MEASURED if row.trust == Measurement.Trust.HUB else Basis.SIGNED
            words = figures.sentence(figure, with_kind=True)
            yield Fact(f"Energy of one inference on {where}", words, basis)


def _resources(of: Subject) -> Facts:
    hours = of.card.energy.hours
    declared = {
        "Hardware of training": of.sheet.hardware,
        "Hours of training": None if hours is None else f"{hours:g}",
    }
    return _facts(Basis.DECLARED, declared)


def _changes(of: Subject) -> Facts:
    earlier = selectors.versions_of(of.version.model).filter(number__lt=of.version.number)
    before = [f"{of.version.model.ref}@{row.number}" for row in earlier.order_by("-number")[:1]]
    return chain(
        _facts(Basis.DECLARED, {"Message of this version": of.version.message}),
        _facts(Basis.RECORDED, {"Version before": before}),
    )


def _signatures(of: Subject) -> Facts:
    signed = [
        f"result {row.pk}, by {row.enrolled_worker.name if row.enrolled_worker else ''}"
        for row in benchmarks.of_version(of.version)
        if row.signature and row.is_trusted
    ]
    return chain(
        _facts(Basis.FILES, {"SHA-256 of the manifest": of.version.manifest_sha256}),
        _facts(Basis.SIGNED, {"Signed benchmark": signed}),
    )


def _nothing(_of: Subject) -> Facts:
    """No fact of the hub is about this heading."""
    return iter(())


# Heading, its place in Annex IV, its place in the GPAI form, and what reads its facts.
_HEADINGS: Sequence[tuple[str, str, str, Callable[[Subject], Facts]]] = (
    ("General description", "1", "General information", _general),
    ("Intended purpose", "1 (a)", "Use", _use),
    ("Model properties", "1 (c), 2 (b)", "Model properties", _properties),
    ("Distribution and licences", "1 (d)", "Methods of distribution and licences", _licences),
    ("Lineage and third-party models", "2 (a)", "Training process", _lineage),
    ("Data and data governance", "2 (d)", "Data used for training, testing, validation", _data),
    ("Human oversight", "2 (e)", "", _nothing),
    ("Accuracy and metrics", "2 (g), 4", "", _accuracy),
    ("Tests", "2 (g)", "", _tests),
    ("Capabilities and limitations", "3", "Use", _limits),
    ("Risk management", "5", "", _risks),
    ("Changes through the lifecycle", "6", "", _changes),
    ("Harmonised standards", "7", "", _nothing),
    ("EU declaration of conformity", "8", "", _nothing),
    ("Post-market monitoring", "9", "", _nothing),
    ("Computational resources", "2 (c)", "Computational resources", _resources),
    ("Energy", "", "Energy consumption during training and inference", _energy),
    ("Authenticity and signatures", "", "General information: model authenticity", _signatures),
)
