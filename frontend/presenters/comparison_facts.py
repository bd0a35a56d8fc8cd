"""Facts of compared models as rows: what differs, what is equal, and which is best of each.

Every row says where its values come from. What nobody measured or said is told in words; a row has
a best value only where everybody would agree which way is better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.parts.svg import latency_strips
from frontend.presenters import carbon, conformance, declarations, figures, timings, version_head
from hub.protocol import stored
from registry.catalogue import searchable
from runners.models import ConformanceVerdict
from runners.proofs import verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from django.utils.safestring import SafeString

    from frontend.presenters.comparison import Column
    from frontend.presenters.facts import Port
    from runners.models import ConformanceResult

READ, MEASURED, DECLARED = "from the file", "measured", "declared"
COUNTED, RECORDED = "counted", "recorded"
BY_CELL = "method per value"
LESS = "less"
TIMES = "\u00d7"
NOT_READ = "not read yet"
NOT_COUNTED = "not counted"
NOT_SAID = "not declared"
NOT_MEASURED = "not measured"
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """One fact of one model: words, and a number where there is one; ``lines`` stand below it.

    ``difference`` is to the first column; ``state`` names a glyph; ``kind`` says how it is known
    where a row's cells differ in that; ``picture`` says the number again, on an axis that the row
    has in common.
    """

    words: str
    value: float | None = None
    absent: bool = False
    url: str = ""
    lines: tuple[str, ...] = ()
    barcode: tuple[str, ...] = ()
    state: str = ""
    difference: str = ""
    best: bool = False
    interval: str = ""
    kind: str = ""
    picture: SafeString | str = ""

    @property
    def same(self) -> tuple[Any, ...]:
        """What makes two cells equal."""
        return self.words, self.value, self.lines, self.barcode, self.kind


@dataclass(frozen=True, slots=True)
class Row:
    """One fact of every compared model."""

    key: str
    title: str
    kind: str
    cells: tuple[Cell, ...]

    @property
    def is_equal(self) -> bool:
        return len(self.cells) > 1 and len({cell.same for cell in self.cells}) == 1


def rows(columns: Sequence[Column]) -> list[Row]:
    """Every fact of these, in the order in which people ask for them."""
    found = [
        Row(key, title, kind, _ranked([cell(column) for column in columns], order))
        for key, (title, kind, order, cell) in _FACTS.items()
    ]
    at = next(index for index, row in enumerate(found) if row.key == "latency")
    found[at] = _with_strips(found[at], columns)
    return [*found[: at + 1], *_conformance(columns), *found[at + 1 :]]


def _with_strips(row: Row, columns: Sequence[Column]) -> Row:
    """The row of latencies with a strip for each that may be compared, all on one axis."""
    speeds = [column.speed if column.is_comparable else None for column in columns]
    drawn = latency_strips.together(speed for speed in speeds if speed is not None)
    cells = [
        replace(cell, picture=drawn.get(speed.pk, "")) if speed is not None else cell
        for cell, speed in zip(row.cells, speeds, strict=True)
    ]
    return replace(row, cells=tuple(cells))


def csv(columns: Sequence[Column]) -> list[list[str]]:
    """The table as rows of a CSV file: numbers plain, in bytes, kilograms and counts."""
    head = ["fact", "kind", *(column.pinned for column in columns)]
    return [
        head,
        *([row.title, row.kind, *(_plain(cell) for cell in row.cells)] for row in rows(columns)),
    ]


def _plain(cell: Cell) -> str:
    if cell.value is not None:
        return f"{cell.value:.12g}" if cell.value % 1 else str(int(cell.value))
    said = "; ".join(cell.lines) or ", ".join(part for part in (cell.words, cell.kind) if part)
    # Spreadsheets would run what begins so.
    return f"'{said}" if said.startswith(("=", "+", "-", "@", "\t")) else said


def _ranked(cells: list[Cell], order: str) -> tuple[Cell, ...]:
    """The best marked and the differences to the first told, where a fact has an order."""
    known = [cell.value for cell in cells if cell.value is not None]
    if not order or len(known) < 2 or len(set(known)) == 1:
        return tuple(cells)
    best = min(known)
    first = cells[0].value
    return tuple(
        replace(cell, best=cell.value == best, difference=_difference(cell.value, first))
        for cell in cells
    )


def _difference(value: float | None, first: float | None) -> str:
    """How much more or less than the first, as a percentage or as a multiple; empty for none."""
    if value is None or not first or value == first:
        return ""
    ratio = value / first
    if ratio >= 10:
        return f"{TIMES}{formatting.NARROW}{formatting.rounded(ratio)}"
    if ratio <= 0.1:
        return f"1/{formatting.rounded(1 / ratio)}"
    percent = (ratio - 1) * 100
    shown = round(percent) if abs(percent) >= 1 else float(f"{percent:.1g}")
    sign = "+" if percent > 0 else ""
    return f"{sign}{formatting.rounded(shown)}{formatting.NARROW}%"


def _count(value: int | None, write: Callable[[int], str] = formatting.grouped) -> Cell:
    return Cell(NOT_READ, absent=True) if value is None else Cell(write(value), float(value))


def _said(text: str, otherwise: str = NOT_SAID) -> Cell:
    return Cell(text) if text else Cell(otherwise, absent=True)


def _size(column: Column) -> Cell:
    """Bytes of the model and of the weights beside it; what a version also holds does not count."""
    variant = column.variant
    if variant is None:
        return Cell(NOT_READ, absent=True)
    paths = variant.paths
    files = [file for file in column.version.files.all() if file.path in paths]
    return _count(sum(file.blob.size for file in files), formatting.size)


def _parameters(column: Column) -> Cell:
    if column.variant is not None and column.variant.parameters is None:
        return Cell(NOT_COUNTED, absent=True)
    return _count(column.variant.parameters if column.variant else None, formatting.quantity)


def _nodes(column: Column) -> Cell:
    return _count(column.graph.nodes)


def _ops(column: Column) -> Cell:
    graph = column.graph
    if not graph.operators:
        return Cell(NOT_READ, absent=True)
    shares = sorted(graph.shares, key=lambda share: -share.count)
    said = ", ".join(f"{share.words} {formatting.grouped(share.count)}" for share in shares[:3])
    more = len(shares) - 3
    rest = f", {formatting.plural(more, 'more kind')}" if more > 0 else ""
    return Cell(f"{said}{rest}", barcode=graph.barcode)


def _opset(column: Column) -> Cell:
    opset = column.variant.opset if column.variant else None
    return _count(opset, str)


def _ready(column: Column) -> Cell:
    """How far an upgrade of the uploaded file got; of what was derived nobody asks."""
    version, variant = column.version, column.variant
    made = [
        row
        for row in version_head.variants(version)
        if variant
        and row.origin == "upgraded"
        and row.derived_from_id == variant.pk
        and (row.opset or 0) > (variant.opset or 0)
    ]
    highest = max(made, key=lambda row: (row.is_chosen, row.opset or 0), default=None)
    if highest is None:
        return Cell("none", absent=True)
    return Cell(version_head.readiness(highest), url=column.place("version-variants"))


def _ir(column: Column) -> Cell:
    return _count(column.variant.ir_version if column.variant else None, str)


def _precision(column: Column) -> Cell:
    said = column.variant.precision if column.variant else ""
    return _said("no weights" if said == "none" else said, NOT_READ)


def _inputs(column: Column) -> Cell:
    return _ports(column.graph.inputs, read=bool(column.variant))


def _outputs(column: Column) -> Cell:
    return _ports(column.graph.outputs, read=bool(column.variant))


def _ports(ports: Iterable[Port], *, read: bool) -> Cell:
    lines = tuple(f"{port.name}: {signature(port)}" for port in ports)
    return Cell("", lines=lines) if lines else Cell("none" if read else NOT_READ, absent=True)


def signature(port: Port) -> str:
    """A port's type and shape: float32[N, 3, 64, 64]."""
    if port.dims is None:
        return port.type
    return f"{port.type}[{', '.join(dim.text for dim in port.dims)}]"


def _task(column: Column) -> Cell:
    return _said(words.task(declarations.task_of(column.version)))


def _licence(column: Column) -> Cell:
    return _said(words.licence(declarations.license_of(column.version)))


def _carbon(column: Column) -> Cell:
    kilograms = searchable.training_carbon_kg(column.version.card)
    if kilograms is None:
        return Cell(NOT_SAID, absent=True)
    return Cell(formatting.carbon(kilograms), kilograms)


def _base(column: Column) -> Cell:
    return _said(_listed(_names(column.version.card.get("base_model"))))


def _trained_on(column: Column) -> Cell:
    card = column.version.card
    detailed = card.get("training_data")
    rows = stored.rows(detailed)
    # What both fields name stands there once, by its name.
    told = {str(row.get(key)) for row in rows for key in ("name", "iri", "doi", "url")}
    plain = [name for name in _names(card.get("datasets")) if name not in told]
    return _said(_listed([*_names(detailed), *plain]))


def _personal(column: Column) -> Cell:
    found = searchable.personal_data(column.version)
    return _said(_listed(words.PERSONAL.get(word, word) for word in sorted(found)))


def origin(column: Column) -> list[tuple[str, Cell, str]]:
    """Where a version comes from, in a few lines: title, what is known, and how it is known."""
    return [
        ("Exported by", _producer(column), READ),
        ("Based on", _base(column), DECLARED),
        ("Trained on", _trained_on(column), DECLARED),
        ("Personal data", _personal(column), DECLARED),
        ("Training carbon", _carbon(column), DECLARED),
    ]


def _names(said: Any) -> list[str]:
    """Names that a card lists, each as text or as a mapping with a name."""
    listed = said if isinstance(said, list) else [said]
    named = [
        next((row[key] for key in ("name", "iri", "doi", "url") if row.get(key)), "")
        if isinstance(row, dict)
        else row
        for row in listed
    ]
    return [str(name).strip() for name in named if isinstance(name, str | int | float)]


def _listed(names: Iterable[str]) -> str:
    """Each name once, and how many more there are of a long list."""
    known = list(dict.fromkeys(name for name in names if name))
    more = len(known) - NAMES_SHOWN
    said = ", ".join(known[:NAMES_SHOWN])
    return f"{said} and {more} more" if more > 0 else said


def _latency(column: Column) -> Cell:
    """p50 under the comparability key that the columns share; alone where it is another's."""
    row = column.speed
    if row is None or row.p50_ms is None:
        return Cell(NOT_MEASURED, absent=True)
    if column.is_comparable:
        told = timings.latency(row.p50_ms)
        between = timings.interval(row)
        return Cell(told, row.p50_ms, url=timings.address(row), interval=between)
    return Cell(f"{timings.latency(row.p50_ms)}, not comparable", url=timings.address(row))


def _timed_on(column: Column) -> Cell:
    row = column.speed
    return _said(f"{row.device_title}, {timings.runtime_of(row)}" if row else "", NOT_MEASURED)


def _energy(column: Column) -> Cell:
    row = column.speed
    if row is None or row.energy_j is None:
        return Cell(NOT_MEASURED, absent=True)
    return Cell(timings.energy(row), url=timings.address(row), kind=row.energy_provenance)


def _running_carbon(column: Column) -> Cell:
    """Of the run whose latency stands above; never measured, since no grid is."""
    row = column.speed
    if row is None or row.carbon_g is None:
        return Cell(NOT_MEASURED, absent=True)
    return Cell(carbon.of_thousand(row), url=timings.address(row), kind=row.carbon_provenance)


def _parity(column: Column) -> figures.Worst | None:
    variant = column.variant
    told = variant.derivation.get("parity") if variant and variant.origin != "uploaded" else None
    return figures.worst([], told) if isinstance(told, dict) else None


def _far(column: Column) -> Cell:
    """How far the outputs of a derived variant lie from those of its source."""
    if column.variant is not None and column.variant.origin == "uploaded":
        return Cell("original", absent=True)
    worst = _parity(column)
    return _said(worst.max_abs if worst else "", NOT_MEASURED)


def _top1(column: Column) -> Cell:
    if column.variant is not None and column.variant.origin == "uploaded":
        return Cell("original", absent=True)
    worst = _parity(column)
    return _said(worst.top1 if worst else "", NOT_MEASURED)


def _downloads(column: Column) -> Cell:
    return _count(column.version.model.downloads)


def _published(column: Column) -> Cell:
    at = column.version.published_at
    return _said(at.strftime("%Y-%m-%d") if at else "", "not published")


def _producer(column: Column) -> Cell:
    return _said(column.graph.producer, "not reported")


# Key -> title, where it comes from, which way is better, how to read it.
_FACTS: dict[str, tuple[str, str, str, Callable[[Column], Cell]]] = {
    "latency": ("Latency, p50", MEASURED, LESS, _latency),
    "timed-on": ("Measured on", MEASURED, "", _timed_on),
    "energy": ("Energy of 1 000 inferences", BY_CELL, "", _energy),
    "running-carbon": ("Carbon of 1 000 inferences", BY_CELL, "", _running_carbon),
    "size": ("Model and weights", COUNTED, LESS, _size),
    "carbon": ("Carbon of training", DECLARED, LESS, _carbon),
    "far": ("Largest difference from source", MEASURED, "", _far),
    "top1": ("Same top-1 result as source", MEASURED, "", _top1),
    "parameters": ("Parameters", READ, "", _parameters),
    "precision": ("Precision", READ, "", _precision),
    "opset": ("Opset", READ, "", _opset),
    "ready": ("Upgraded opset", MEASURED, "", _ready),
    "ir": ("IR version", READ, "", _ir),
    "ops": ("Ops", READ, "", _ops),
    "nodes": ("Nodes", READ, "", _nodes),
    "inputs": ("Inputs", READ, "", _inputs),
    "outputs": ("Outputs", READ, "", _outputs),
    "producer": ("Producer", READ, "", _producer),
    "task": ("Task", DECLARED, "", _task),
    "licence": ("Licence", DECLARED, "", _licence),
    "base": ("Based on", DECLARED, "", _base),
    "data": ("Training data", DECLARED, "", _trained_on),
    "personal": ("Personal data in training", DECLARED, "", _personal),
    "downloads": ("Downloads, all versions", COUNTED, "", _downloads),
    "published": ("Published", RECORDED, "", _published),
}


def _conformance(columns: Sequence[Column]) -> list[Row]:
    """A row for each runtime that some of these ran on."""
    names = sorted({result.runtime for column in columns for result in column.results})
    made = []
    for name in names or [""]:
        cells = [
            _verdict(column, [result for result in column.results if result.runtime == name])
            for column in columns
        ]
        title = f"Conformance, {words.runtime(name)}" if name else "Conformance"
        made.append(Row(f"conformance-{name}", title, MEASURED, tuple(cells)))
    return made


def _verdict(column: Column, results: Sequence[ConformanceResult]) -> Cell:
    if not results:
        return Cell("not run", absent=True)
    url = column.place("version-conformance")
    verdict = verdicts.together(results)
    if verdict == ConformanceVerdict.INAPPLICABLE:
        return Cell("not applicable", absent=True, url=url)
    return Cell(conformance.tally_text(results), url=url, state=str(verdict.label))
