"""Facts of compared models: what each is called, how it is known, and how it is read.

A missing value says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.presenters import (
    conformance,
    declarations,
    facts,
    figures,
    measurements,
    parity_figures,
    version_head,
)
from frontend.presenters.comparison import Column
from hub.protocol import phrases, stored
from hub.protocol.benchmark_metrics import CARBON, ENERGY, P50, BenchmarkMetric
from hub.protocol.cards import PERSONAL_DATA
from hub.protocol.facts import Port
from hub.protocol.figures import Figure, Unit, absent, count
from registry.catalogue import searchable
from runners.models import ConformanceResult, ConformanceVerdict
from runners.proofs import verdicts

LESS = "less"
READ, MEASURED, DECLARED = "from the file", "measured", "declared"
BY_COUNT, RECORDED = "counted", "recorded"
BY_CELL = "method per value"
NOT_READ = "not read yet"
NOT_DECLARED = "not declared"
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of one model: a figure or words; ``lines`` stand below it.

    ``value`` is what is compared, ``note`` stands beside a figure. ``difference`` is to the first
    column; ``state`` names a glyph; ``with_kind`` writes how the figure is known; ``picture`` says
    the value again, on an axis that the row has in common.
    """

    words: str = ""
    value: float | None = None
    absent: bool = False
    figure: Figure | None = None
    note: str = ""
    url: str = ""
    lines: tuple[str, ...] = ()
    barcode: tuple[str, ...] = ()
    state: str = ""
    difference: str = ""
    best: bool = False
    with_kind: bool = False
    picture: SafeString | str = ""

    @property
    def same(self) -> tuple[Any, ...]:
        """What makes two cells equal."""
        return self.text, self.value, self.lines, self.barcode

    @property
    def text(self) -> str:
        """All that the cell says of its fact, in one line."""
        if self.figure is None:
            return self.words
        words = figures.sentence(self.figure, with_kind=self.with_kind)
        return ", ".join(filter(None, (words, self.note)))


def _of_figure(figure: Figure, *, is_compared: bool = True, **more: Any) -> Fact:
    value = figure.value if is_compared and figure.is_ranked else None
    return Fact(value=value, absent=figure.value is None, figure=figure, **more)


def _count(value: int | None, write: Callable[[int], str] = formatting.grouped) -> Fact:
    return Fact(NOT_READ, absent=True) if value is None else Fact(write(value), float(value))


def _of_variant(column: Column, name: str) -> Fact:
    return _count(getattr(column.variant, name, None), str)


def _text(text: str, otherwise: str = NOT_DECLARED) -> Fact:
    return Fact(text) if text else Fact(otherwise, absent=True)


def _size(column: Column) -> Fact:
    """Bytes of the model and of the weights beside it; what a version also holds does not count."""
    variant = column.variant
    if variant is None:
        return Fact(NOT_READ, absent=True)
    paths = variant.paths
    files = [file for file in column.version.files.all() if file.path in paths]
    return _of_figure(count(sum(file.blob.size for file in files), Unit.BYTE))


def _count_of(name: str, unit: Unit = Unit.COUNT) -> Callable[[Column], Fact]:
    """Read a count of the compared variant."""

    def read(column: Column) -> Fact:
        if column.variant is None:
            return Fact(NOT_READ, absent=True)
        return _of_figure(count(getattr(column.variant, name), unit))

    return read


def _ops(column: Column) -> Fact:
    shares = sorted(facts.shares(column.facts), key=lambda share: -share["count"])
    if not shares:
        return Fact(NOT_READ, absent=True)
    most = ", ".join(
        f"{share['words']} {formatting.grouped(share['count'])}" for share in shares[:3]
    )
    more = len(shares) - 3
    rest = f", {formatting.plural(more, 'more kind')}" if more > 0 else ""
    return Fact(f"{most}{rest}", barcode=column.facts.barcode)


def _ready(column: Column) -> Fact:
    upgraded = version_head.preferred_upgrade(column.version, column.variant)
    if upgraded is None:
        return Fact("none", absent=True)
    return Fact(version_head.readiness(upgraded), url=column.place("version-variants"))


def _precision(column: Column) -> Fact:
    precision = column.variant.precision if column.variant else ""
    return _text("no weights" if precision == "none" else precision, NOT_READ)


def _ports(column: Column, ports: Iterable[Port]) -> Fact:
    lines = tuple(f"{port.name}: {facts.signature(port)}" for port in ports)
    return (
        Fact("", lines=lines)
        if lines
        else Fact("none" if column.variant else NOT_READ, absent=True)
    )


def _carbon(column: Column) -> Fact:
    kilograms = column.version.typed_card.emissions.kilograms
    if kilograms is None:
        return Fact(NOT_DECLARED, absent=True)
    return Fact(formatting.carbon(kilograms), kilograms)


def _base(column: Column) -> Fact:
    return _text(_name_list(column.version.typed_card.base_models))


def _trained_on(column: Column) -> Fact:
    card = column.version.typed_card
    # What both fields name stands there once.
    detailed = {name for dataset in card.training_data for name in dataset.names}
    plain = [dataset for dataset in card.datasets if not detailed.intersection(dataset.names)]
    return _text(_name_list(dataset.title for dataset in (*card.training_data, *plain)))


def _personal(column: Column) -> Fact:
    statuses = searchable.personal_statuses(column.version)
    return _text(_name_list(PERSONAL_DATA.get(word, word) for word in sorted(statuses)))


def origin(column: Column) -> list[tuple[str, Fact, str]]:
    """Where a version comes from, in a few lines: title, what is known, and how it is known."""
    return [
        ("Exported by", _producer(column), READ),
        ("Based on", _base(column), DECLARED),
        ("Trained on", _trained_on(column), DECLARED),
        ("Personal data", _personal(column), DECLARED),
        ("Training carbon", _carbon(column), DECLARED),
    ]


def _name_list(names: Iterable[str]) -> str:
    """Each name once, and how many more there are of a long list."""
    return phrases.enumeration(list(dict.fromkeys(filter(None, names))), NAMES_SHOWN)


def _latency(column: Column) -> Fact:
    """p50 under the comparability key that the columns share; alone where it is another's."""
    row = column.speed
    if row is None:
        return _of_figure(absent(P50.unit))
    url = measurements.address(row)
    return _of_figure(row.p50, is_compared=column.is_comparable, url=url, note=column.speed_note)


def _accuracy(column: Column) -> Fact:
    """On the split that most columns share, with its name: those of others are not ranked."""
    row = column.accuracy
    if row is None:
        return _of_figure(absent(Unit.SHARE))
    data = f"{row.dataset_version.dataset.slug}@{row.dataset_version.number}, {row.split}"
    name = "" if row.metric == "accuracy" else f"{figures.title(row.metric).lower()} "
    url = f"{column.url}#accuracy"
    return _of_figure(row.figure, is_compared=False, url=url, note=f"{name}on {data}")


def _timed_on(column: Column) -> Fact:
    row = column.speed
    if row is None:
        return _of_figure(absent(P50.unit))
    return Fact(f"{row.device_label}, {measurements.runtime_of(row)}")


def _benchmark(metric: BenchmarkMetric) -> Callable[[Column], Fact]:
    """Read another figure of the run whose latency is shown."""

    def read(column: Column) -> Fact:
        row = column.speed
        if row is None:
            return _of_figure(absent(metric.unit))
        figure = row.figure(metric)
        url = measurements.address(row)
        return _of_figure(figure, is_compared=False, url=url, with_kind=True)

    return read


def _parity(figure: Callable[[dict[str, str]], str]) -> Callable[[Column], Fact]:
    absence = figures.or_unmeasured("")

    def read(column: Column) -> Fact:
        variant = column.variant
        if variant is not None and variant.origin == "uploaded":
            return Fact("original", absent=True)
        parity = stored.mapping(variant.derivation.get("parity")) if variant else {}
        worst = parity_figures.worst([], parity)
        value = figure(worst) if parity else ""
        note = f" ({worst['arithmetic']})" if worst["arithmetic"] else ""
        return _text(value and f"{value}{note}", absence)

    return read


def _published(column: Column) -> Fact:
    at = column.version.published_at
    return _text(at.strftime("%Y-%m-%d") if at else "", "not published")


def _producer(column: Column) -> Fact:
    return _text(str(column.facts.producer), "not reported")


# Key -> title, where it comes from, which way is better, how to read it.
# The title of each, how it is known, in which direction it is better, and its reader.
FACTS: dict[str, tuple[str, str, str, Callable[[Column], Fact]]] = {
    "latency": (P50.label, MEASURED, LESS, _latency),
    "timed-on": ("Measured on", MEASURED, "", _timed_on),
    "accuracy": ("Accuracy", MEASURED, "", _accuracy),
    "energy": (ENERGY.label, BY_CELL, "", _benchmark(ENERGY)),
    "running-carbon": (CARBON.label, BY_CELL, "", _benchmark(CARBON)),
    "size": ("Model and weights", BY_COUNT, LESS, _size),
    "macs": ("Operations of a run (MACs)", BY_COUNT, LESS, _count_of("macs")),
    "memory": (
        "Weights and activations",
        BY_COUNT,
        LESS,
        _count_of("memory_bytes", Unit.BYTE),
    ),
    "carbon": ("Carbon of training", DECLARED, LESS, _carbon),
    "far": (
        "Largest difference from source",
        MEASURED,
        "",
        _parity(lambda worst: worst["max_abs"]),
    ),
    "top1": ("Same top-1 result as source", MEASURED, "", _parity(lambda worst: worst["top1"])),
    "parameters": ("Parameters", READ, "", _count_of("parameters")),
    "precision": ("Precision", READ, "", _precision),
    "opset": ("Opset", READ, "", lambda of: _of_variant(of, "opset")),
    "ready": ("Upgraded opset", MEASURED, "", _ready),
    "ir": ("IR version", READ, "", lambda of: _of_variant(of, "ir_version")),
    "ops": ("Ops", READ, "", _ops),
    "nodes": ("Nodes", READ, "", lambda of: _count(of.facts.nodes)),
    "inputs": ("Inputs", READ, "", lambda of: _ports(of, of.facts.inputs)),
    "outputs": ("Outputs", READ, "", lambda of: _ports(of, of.facts.outputs)),
    "producer": ("Producer", READ, "", _producer),
    "task": ("Task", DECLARED, "", lambda of: _text(words.task(declarations.task_of(of.version)))),
    "licence": (
        "Licence",
        DECLARED,
        "",
        lambda of: _text(words.licence(declarations.license_of(of.version))),
    ),
    "base": ("Based on", DECLARED, "", _base),
    "data": ("Training data", DECLARED, "", _trained_on),
    "personal": ("Personal data in training", DECLARED, "", _personal),
    "downloads": (
        "Downloads, all versions",
        BY_COUNT,
        "",
        lambda of: _count(of.version.model.downloads),
    ),
    "published": ("Published", RECORDED, "", _published),
}


def verdict(column: Column, results: Sequence[ConformanceResult]) -> Fact:
    """Give the conformance of a model on one runtime."""
    if not results:
        return Fact("not run", absent=True)
    url = column.place("version-conformance")
    outcome = verdicts.together(results)
    if outcome == ConformanceVerdict.INAPPLICABLE:
        return Fact("not applicable", absent=True, url=url)
    return Fact(conformance.tally_text(results), url=url, state=str(outcome.label))
