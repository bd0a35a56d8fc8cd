"""Running a model over the rows of a split: the work of a child.

Writes ``scores.npy`` (``[rows, width]``, float64), ``labels.json`` and ``answer.json`` beside the
rows, and after each batch the number of rows that are done.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.lib.format import open_memmap
from onnx import helper

from hub.protocol import inputs as declarations
from hub.protocol import outputs as declared_outputs
from hub.protocol import splits
from hub.protocol.facts import is_cache
from hub.protocol.inputs import DeclaredInput, Picture, Polarity
from hub.protocol.splits import Split
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.evaluation import detection, outputs, readers, sequences
from runners.engine.evaluation.answers import Port, Ports, Predicted
from runners.engine.evaluation.matching import Plan
from runners.engine.evaluation.outputs import Choice
from runners.engine.onnx_files import datasets
from runners.engine.runs import child_runs, pictures
from runners.engine.runs.answers import name_of

if TYPE_CHECKING:
    import onnx

    Array = np.ndarray[Any, Any]
    # The values of the rows from one place up to another, in the order of the feeds.
    Rows = Callable[[int, int], list[Array]]

SCORES, LABELS, ANSWER, DONE = "scores.npy", "labels.json", "answer.json", "done"
# Scores of all rows together.
MOST_SCORES = 1 << 28
_TENSOR = "tensor_type"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows come from: the split, its first file, and the card's `inputs` and `outputs`.

    ``rows`` and ``classes`` are what the reader counted; ``seconds`` is the time for all rows.
    """

    split: Split
    file: Path
    declared: Any
    declared_outputs: Any
    rows: int
    classes: int
    seconds: float


class OverBudgetError(Exception):
    """The time limit was reached before all rows ran; the message says how many did."""


class UnfitPicturesError(ValueError):
    """The pictures of a split cannot become the model's input; the message says why."""


def ports(path: Path) -> Ports:
    """Read the inputs of a model."""
    model = child_runs.load(path)
    required = {port.name for port in datasets.required_inputs(model)}
    return Ports(
        tuple(
            Port(name_of(port.name), _dtype(port), _shape(port), port.name in required)
            for port in model.graph.input
        )
    )


def _dtype(port: onnx.ValueInfoProto) -> str:
    if port.type.WhichOneof("value") != _TENSOR:
        return ""
    try:
        dtype = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
    except KeyError:
        return ""
    return "text" if dtype.kind == "O" else str(dtype.name)


def _shape(port: onnx.ValueInfoProto) -> tuple[int | None, ...] | None:
    if not port.type.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else None
        for dim in port.type.tensor_type.shape.dim
    )


def run(path: Path, work: Path, plan: Plan, source: Source) -> Predicted:
    """Run a model over all rows.

    Raises OverBudgetError, UnfitOutputError, UnfitPicturesError, UnfitPictureError and whatever the
    runtime raises.
    """
    model = child_runs.load(path)
    read = _pictures if source.split.reader == "images" else _arrays
    runner = _Runner(
        model,
        runtimes.of(ONNXRUNTIME).open(path),
        plan,
        read(source, work, plan, model),
        declarations.parse(source.declared),
    )
    began = time.monotonic()
    names = [name_of(port.name) for port in model.graph.output]
    if source.split.task in splits.SEQUENCES:
        place = _run_sequences(runner, model, work, source, began)
        seconds = time.monotonic() - began
        return Predicted(source.rows, 1, names[place], name_of(""), seconds)
    choice, batch = runner.choose(source)
    with _Writer(work, source.rows, choice) as writer:
        for start in range(0, source.rows, batch):
            stop = min(start + batch, source.rows)
            writer.add(runner.outputs(start, stop, batch), start, stop)
            if stop < source.rows and time.monotonic() - began > source.seconds:
                raise OverBudgetError(over_budget(stop, source.rows, source.seconds))
    return Predicted(
        rows=source.rows,
        batch=batch,
        output=names[choice.scores] if choice.scores >= 0 else name_of(""),
        label_output=names[choice.labels] if choice.labels >= 0 else name_of(""),
        seconds=time.monotonic() - began,
    )


def _run_sequences(
    runner: _Runner, model: onnx.ModelProto, work: Path, source: Source, began: float
) -> int:
    metadata = {each.key: each.value for each in model.metadata_props}
    lists = (metadata[key].split("\n") for key in sequences.ALPHABETS if key in metadata)

    def check(done: int) -> None:
        (work / DONE).write_text(str(done))
        if done < source.rows and time.monotonic() - began > source.seconds:
            raise OverBudgetError(over_budget(done, source.rows, source.seconds))

    if source.split.task != splits.DETECTION:
        return sequences.run(runner, source.rows, source.split, next(lists, []), work, check)
    detector = detection.Detector(
        declared_outputs.parse(source.declared_outputs), runner.outputs_named
    )
    how = picture(
        model.graph.input[runner.places[0]], source.declared, source.split.inputs[0].polarity
    )
    names = json.loads((work / readers.PICTURES).read_bytes())
    with zipfile.ZipFile(source.file) as archive:

        def size(row: int) -> tuple[int, int]:
            return pictures.size(io.BytesIO(archive.read(names[row])))

        detection.run(
            runner.calls, detector, lambda row: (how, size(row)), source.rows, work, check
        )
    return detector.place


def over_budget(done: int, rows: int, seconds: float) -> str:
    """Why there is no figure, where the time was over."""
    return (
        f"The model ran {done:,} of {rows:,} rows in the {seconds:,.0f} seconds that an evaluation "
        "may take; a part of the rows gives no figure."
    )


def done(work: Path) -> int:
    """Count the rows that have run, also after the child was ended."""
    file = work / DONE
    return int(file.read_bytes() or b"0") if file.is_file() else 0


def _pictures(source: Source, work: Path, plan: Plan, model: onnx.ModelProto) -> Rows:
    """The rows of an archive of pictures, decoded as they are needed."""
    port = model.graph.input[plan.feeds[0].port]
    how = picture(port, source.declared, source.split.inputs[0].polarity)
    dtype = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
    names = json.loads((work / readers.PICTURES).read_bytes())
    archive = zipfile.ZipFile(source.file)
    has_batch = how.layout.startswith("N")

    def decode(start: int, stop: int) -> list[Array]:
        tensors = [
            pictures.tensor(io.BytesIO(archive.read(name)), how, dtype)
            for name in names[start:stop]
        ]
        return [np.concatenate(tensors) if has_batch else np.stack(tensors)]

    return decode


def picture(port: onnx.ValueInfoProto, declared: Any, polarity: Polarity | None) -> Picture:
    """What is done to a picture for an input, as the card declares it. Raises UnfitPicturesError.

    Nothing is assumed: every step must be declared, and where the card declares a polarity, the
    split must say with ``polarity`` which one its pictures have.
    """
    own = [
        declared_input
        for declared_input in declarations.parse(declared)
        if declared_input.name == port.name
    ]
    image = own[0].image if own else None
    if image is None:
        raise UnfitPicturesError(
            f"The card declares no preprocessing of pictures for the input {port.name[:100]!r}."
        )
    try:
        return declarations.resolve(image, _shape(port), polarity)
    except declarations.UnknownStepError as error:
        raise UnfitPicturesError(
            f"The preprocessing of pictures for the input {port.name[:100]!r} is incomplete: "
            f"{', '.join(error.names)} cannot be known from the card and the split."
        ) from None


def _arrays(_: Source, work: Path, plan: Plan, model: onnx.ModelProto) -> Rows:
    whole = []
    for place, feed in enumerate(plan.feeds):
        port = model.graph.input[feed.port]
        dtype = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        whole.append((readers.value_of(work, place, is_text=dtype.kind == "O"), dtype))

    def part(start: int, stop: int) -> list[Array]:
        return [_cast(array[start:stop], dtype) for array, dtype in whole]

    return part


def _cast(array: Array, dtype: Any) -> Array:
    """Values in the type of an input; whole numbers alone become integers."""
    if dtype.kind == "O":
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.asarray(array).astype(dtype)
    if dtype.kind in "iub" and not np.array_equal(cast.astype(np.float64), array):
        raise outputs.UnfitOutputError(
            f"The model takes {dtype}, and some values of the split are not of that type."
        )
    return cast


class _Runner:
    """Runs rows of a split in batches of one size.

    Inputs that the split does not have get the only value that the card declares for them.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        execute: runtimes.Run,
        plan: Plan,
        values: Rows,
        declared: Sequence[DeclaredInput],
    ) -> None:
        self.places = [feed.port for feed in plan.feeds]
        own = [model.graph.input[place].name for place in self.places]
        ports = {port.name: port for port in model.graph.input}
        others = {row.name: row for row in declared if row.name in ports and row.name not in own}
        self.outputs_named = [port.name for port in model.graph.output]
        self.carried = {
            row.name: self.outputs_named.index(row.carry)
            for row in others.values()
            if row.carry in self.outputs_named
        }
        self._zeros = {name: _filled(ports[name], 0) for name in self.carried}
        self._constants = {
            row.name: _filled(ports[row.name], row.constant)
            for row in others.values()
            if row.constant is not None and row.name not in self.carried
        }
        self._constants |= {
            name: _filled(port, 0, free=0)
            for name, port in ports.items()
            if name not in (*own, *others) and is_cache(name, _shape(port))
        }
        self._sounds = {row.name: row.audio for row in declared if row.audio and row.name in own}
        self._names, self._execute, self._plan, self._values = own, execute, plan, values

    def choose(self, source: Source) -> tuple[Choice, int]:
        """Find out from the first rows which outputs answer, and how many rows run at once.

        A model that is declared to take any number of rows, and fails with several, gets one.
        """
        several = min(self._plan.batch, source.rows)
        if not self._plan.is_fixed and several > 1:
            choice = runtimes.attempt(self._choose, source, several, several)
            if not isinstance(choice, Exception):
                return choice, several
            return self._choose(source, 1, 1), 1
        return self._choose(source, several, self._plan.batch), self._plan.batch

    def _choose(self, source: Source, rows: int, batch: int) -> Choice:
        values = self.outputs(0, rows, batch)
        split = source.split
        return outputs.choose(
            self.outputs_named,
            values,
            rows,
            split.task,
            source.classes,
            exact=bool(split.target.labels),
            has_positive=bool(split.target.positive),
            named=split.target.output,
        )

    def outputs(self, start: int, stop: int, batch: int) -> list[Any]:
        """The model's outputs for some rows, cut to them."""
        rows = stop - start
        padding = batch - rows if self._plan.is_fixed else 0
        feeds = self._feeds(self._values(start, stop), padding)
        is_alone = any(feed.is_alone for feed in self._plan.feeds)
        return [
            _cut(value, rows, rows + padding, is_alone=is_alone) for value in self._execute(feeds)
        ]

    def calls(self, row: int) -> Iterator[list[Any]]:
        """The outputs of a row: of one call, or of one for each window of its sound.

        Outputs that the card carries are inputs of the next call; in the first they are zeros.
        """
        state = dict(self._zeros)
        for values in self._windows(self._values(row, row + 1)):
            padding = self._plan.batch - 1 if self._plan.is_fixed else 0
            answer = list(self._execute(self._feeds(values, padding) | state))
            state = {name: np.asarray(answer[at]) for name, at in self.carried.items()}
            yield [_cut(value, 1, 1 + padding, is_alone=False) for value in answer]

    def _windows(self, values: list[Array]) -> Iterator[list[Array]]:
        """The values of a row, or for each window of its sound that window with the others."""
        for place, (name, feed) in enumerate(zip(self._names, self._plan.feeds, strict=True)):
            sound = self._sounds.get(name)
            size = math.prod(feed.shape or ())
            if sound is not None and feed.shape is not None and sound.window_of(feed.shape):
                for part in sequences.windows(values[place].reshape(-1), sound, size):
                    yield [*values[:place], part[np.newaxis], *values[place + 1 :]]
                return
        yield values

    def _feeds(self, values: list[Array], padding: int) -> dict[str, Any]:
        feeds: dict[str, Any] = dict(self._constants)
        for name, feed, value in zip(self._names, self._plan.feeds, values, strict=True):
            whole = np.concatenate([value, np.repeat(value[-1:], padding, axis=0)])
            if feed.shape is not None:
                whole = whole.reshape((len(whole), *feed.shape))
            feeds[name] = np.ascontiguousarray(whole[0] if feed.is_alone else whole)
        return feeds


def _filled(port: onnx.ValueInfoProto, value: Any, free: int = 1) -> Array:
    """A tensor of one value for an input; a free batch is 1, its other free sizes are ``free``."""
    dtype = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
    sizes = enumerate(_shape(port) or ())
    return np.full([size or (free if axis else 1) for axis, size in sizes], value, dtype)


def _cut(value: Any, rows: int, run: int, *, is_alone: bool) -> Any:
    if isinstance(value, list):
        return value[:rows] if len(value) == run else value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if is_alone and (array.ndim == 0 or array.shape[0] != 1):
            return array[np.newaxis]
        return array[:rows] if array.ndim and array.shape[0] == run else array
    return value


class _Writer:
    """Writes the chosen outputs of all rows."""

    def __init__(self, work: Path, rows: int, choice: Choice) -> None:
        self._work, self._rows, self._choice = work, rows, choice
        self._scores: np.memmap[Any, Any] | None = None
        self._labels: list[str] = []
        self._done = os.open(work / DONE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def __enter__(self) -> Self:
        return self

    def add(self, values: list[Any], start: int, stop: int) -> None:
        """Keep the answers to some rows. Raises UnfitOutputError."""
        rows = stop - start
        if self._choice.scores >= 0:
            part = outputs.floats(values[self._choice.scores], rows, self._choice.keys)
            if self._scores is None:
                if self._rows * part.shape[1] > MOST_SCORES:
                    raise outputs.UnfitOutputError(
                        f"The model gives more than {MOST_SCORES:,} scores for these rows."
                    )
                shape = (self._rows, part.shape[1])
                self._scores = open_memmap(
                    self._work / SCORES, mode="w+", dtype=np.float64, shape=shape
                )
            self._scores[start:stop] = part
        if self._choice.labels >= 0:
            self._labels += outputs.labels(values[self._choice.labels], rows)
        os.pwrite(self._done, str(stop).encode(), 0)

    def __exit__(self, kind: object, *_: object) -> None:
        os.close(self._done)
        if kind is None:
            if self._scores is not None:
                self._scores.flush()
            (self._work / LABELS).write_text(json.dumps(self._labels), encoding="utf-8")
            (self._work / ANSWER).write_text(json.dumps(self._choice.keys), encoding="utf-8")
