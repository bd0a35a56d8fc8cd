"""How the rows of a data set are read: its splits, with their files, inputs and targets.

A split names files of one version of a data set and says how a reader turns them into rows. Each
row has one value for each input, and a target: what a model should answer.

================  =================================================================================
reader            files, and the meaning of ``columns``
================  =================================================================================
``csv``           UTF-8 with a header line (RFC 4180), in order; columns of the table
``parquet``       Apache Parquet, in order; columns of the table
``npz``           one NumPy archive; one array of it, whose first axis counts the rows
``images``        one ZIP archive with a folder of pictures for each class; no columns, and the
                  target is the folder's name, or of texts a column of its ``metadata.csv``, of
                  boxes one of its ``metadata.jsonl``
================  =================================================================================

Several columns of a table become one tensor of shape ``[rows, columns]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from hub.protocol import problems
from hub.protocol.inputs import POLARITIES, Polarity

# The version path under which a job sees the files of a data set.
DATA_FOLDER = ".data"
Reader = Literal["csv", "parquet", "npz", "images"]
Task = Literal[
    "classification",
    "multi-label-classification",
    "regression",
    "frame-classification",
    "pitch-estimation",
    "text-recognition",
    "language-modelling",
    "object-detection",
]
READERS: tuple[Reader, ...] = get_args(Reader)
TASKS: tuple[Task, ...] = get_args(Task)
MOST_SPLITS, MOST_FILES, MOST_INPUTS, MOST_COLUMNS, MOST_LABELS = 16, 256, 64, 4096, 10_000
MULTI_LABEL: Task = "multi-label-classification"
FRAMES: Task = "frame-classification"
PITCH: Task = "pitch-estimation"
TEXT: Task = "text-recognition"
LANGUAGE: Task = "language-modelling"
DETECTION: Task = "object-detection"
# The target of a row is an array, of frames or of tokens.
ARRAYS: tuple[Task, ...] = (FRAMES, PITCH, LANGUAGE)
# The only reader whose rows can have the targets of a task.
READER_OF: dict[Task, Reader] = {**dict.fromkeys(ARRAYS, "npz"), DETECTION: "images"}
# A model's answer to a row is a sequence, of frames, tokens, characters or boxes.
SEQUENCES: tuple[Task, ...] = (*ARRAYS, TEXT, DETECTION)
# Tokens with this number are fed and not predicted, such as those of padding and of a prompt.
IGNORED_TOKEN = -100
# Tables in an archive of pictures with the target of each (Hugging Face's ImageFolder), by task.
PICTURE_TABLES: dict[Task, str] = {TEXT: "metadata.csv", DETECTION: "metadata.jsonl"}
PICTURE_NAME = "file_name"
LONGEST = 200
# Control characters and lone surrogates: no database and no canonical JSON takes all of them.
_UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# Files of these readers are one archive.
_ONE_FILE: tuple[Reader, ...] = ("npz", "images")


@dataclass(frozen=True, slots=True)
class SplitInput:
    """What a model gets of a row: the name of its input, and the columns that it comes from.

    Pictures may have a ``polarity``, which models that expect the other one get inverted.
    """

    name: str
    columns: tuple[str, ...] = ()
    polarity: Polarity | None = None

    def document(self) -> dict[str, Any]:
        """The input as a data set's description has it; what is not stated has no key."""
        stated = {"polarity": self.polarity} if self.polarity else {}
        return {"name": self.name, "columns": list(self.columns), **stated}


@dataclass(frozen=True, slots=True)
class Target:
    """What a model should answer: a column of class numbers, class names or values.

    ``labels`` are the names of the classes in the order of their numbers; where the column holds
    names they are needed. The column is empty where the reader is `images`.

    ``positive`` is the one of two labels that a single score speaks for. With several labels for
    each row, ``columns`` of a table have 0 or 1 for each label, or ``column`` is an array of them.

    Of frames ``column`` is an array ``[rows, frames]`` or ``[rows, frames, labels]`` of 0 and 1; of
    pitches one of hertz, ``[rows]`` or ``[rows, frames]``, with 0 where there is none. Of tokens it
    is one of whole numbers ``[rows, tokens]``: a model predicts each from those before it, but
    those of `IGNORED_TOKEN`. Texts are a column of a table or array, of pictures one of
    ``metadata.csv`` in their archive, and boxes one of ``metadata.jsonl``. ``output`` names the
    output of the model that answers, where several could.
    """

    column: str = ""
    labels: tuple[str, ...] = ()
    positive: str = ""
    columns: tuple[str, ...] = ()
    output: str = ""

    def document(self) -> dict[str, Any]:
        """The target as a data set's description has it; what is not stated has no key."""
        stated: dict[str, Any] = {"positive": self.positive} if self.positive else {}
        stated |= {"columns": list(self.columns)} if self.columns else {}
        stated |= {"output": self.output} if self.output else {}
        return {"column": self.column, "labels": list(self.labels), **stated}


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a data set that models are measured on: files of one version, and their reader."""

    name: str
    task: Task
    reader: Reader
    files: tuple[str, ...]
    inputs: tuple[SplitInput, ...]
    target: Target = field(default_factory=Target)

    def document(self) -> dict[str, Any]:
        """The split as a data set's description has it."""
        return {
            "name": self.name,
            "task": self.task,
            "reader": self.reader,
            "files": list(self.files),
            "inputs": [column.document() for column in self.inputs],
            "target": self.target.document(),
        }


@dataclass(frozen=True, slots=True)
class _Place:
    """A value with its JSON pointer (RFC 6901), and where its errors go."""

    value: Any
    pointer: str
    errors: list[dict[str, str]]

    def error(self, detail: str) -> None:
        self.errors.append({"pointer": self.pointer, "detail": detail})

    def fields(self, *names: str) -> dict[str, _Place]:
        """The values of these keys; any other key is an error, and so is what is no object."""
        if not isinstance(self.value, dict):
            self.error("This must be an object.")
            return {}
        for name in self.value.keys() - set(names):
            self.error(f"{str(name)[:60]!r} is not a valid key. Valid keys: {', '.join(names)}.")
        return {
            name: _Place(self.value.get(name), f"{self.pointer}/{name}", self.errors)
            for name in names
        }

    def items(self, most: int) -> list[_Place]:
        """The values of a list; none and None are an empty one."""
        rows = [] if self.value is None else self.value
        if not isinstance(rows, list) or len(rows) > most:
            self.error(f"This must be a list of at most {most:,}.")
            return []
        return [_Place(row, f"{self.pointer}/{at}", self.errors) for at, row in enumerate(rows)]

    def text(self, noun: str) -> str:
        """A text that is not empty; empty after an error."""
        if isinstance(self.value, str) and 0 < len(self.value.strip()) <= LONGEST:
            if not _UNFIT.search(self.value):
                return self.value.strip()
            self.error(f"Give {noun} without control characters.")
            return ""
        self.error(f"Give {noun} of 1 to {LONGEST} characters.")
        return ""

    def texts(self, noun: str, most: int) -> tuple[str, ...]:
        """Texts that differ from each other."""
        texts = tuple(item.text(noun) for item in self.items(most))
        if len(set(texts)) != len(texts):
            self.error(f"Name {noun} only once.")
        return texts

    def word(self, words: tuple[Any, ...]) -> Any:
        """One of these words; the first of them after an error."""
        if self.value in words:
            return self.value
        self.error(f"This must be one of {', '.join(words)}.")
        return words[0]


def parse(document: Any, paths: frozenset[str], pointer: str = "/splits") -> tuple[Split, ...]:
    """Parse the splits of a version whose files have these ``paths``.

    Raises InvalidRequest with the JSON pointer of each error.
    """
    errors: list[dict[str, str]] = []
    rows = _Place(document, pointer, errors).items(MOST_SPLITS)
    splits = tuple(_split(row, paths) for row in rows)
    names = [split.name for split in splits]
    if len(set(names)) != len(names):
        errors.append({"pointer": pointer, "detail": "Give each split a name of its own."})
    if errors:
        raise problems.InvalidRequest(" ".join(error["detail"] for error in errors), errors=errors)
    return splits


def read_stored(document: Any) -> tuple[Split, ...]:
    """The splits of a stored version, which were valid when they were stored."""
    paths = frozenset(path for split in document for path in split["files"])
    return parse(document, paths)


def _split(row: _Place, paths: frozenset[str]) -> Split:
    keys = row.fields("name", "task", "reader", "files", "inputs", "target")
    if not keys:
        return Split("", "classification", "csv", (), ())
    reader: Reader = keys["reader"].word(READERS)
    files = keys["files"].texts("a file", MOST_FILES)
    if not files or (reader in _ONE_FILE and len(files) > 1):
        needed = "exactly one file" if reader in _ONE_FILE else "at least one file"
        keys["files"].error(f"The reader {reader} needs {needed}.")
    for path in files:
        if path and path not in paths:
            keys["files"].error(f"{path!r} is not a file of this version.")
    inputs = tuple(_input(key, reader) for key in keys["inputs"].items(MOST_INPUTS))
    if not inputs:
        keys["inputs"].error("Name at least one input.")
    elif len({item.name for item in inputs}) != len(inputs):
        keys["inputs"].error("Name each input only once.")
    elif reader == "images" and len(inputs) > 1:
        keys["inputs"].error("A row of pictures has exactly one input.")
    task: Task = keys["task"].word(TASKS)
    if task == MULTI_LABEL and reader == "images":
        keys["task"].error("A folder of pictures has one class, not several labels.")
    needed = READER_OF.get(task, reader)
    if reader != needed:
        keys["reader"].error(f"The task {task} needs the reader {needed}.")
    return Split(
        name=keys["name"].text("a name"),
        task=task,
        reader=reader,
        files=files,
        inputs=inputs,
        target=_target(keys["target"], reader, task),
    )


def _input(row: _Place, reader: Reader) -> SplitInput:
    keys = row.fields("name", "columns", "polarity")
    if not keys:
        return SplitInput("")
    polarity: Polarity | None = None
    if keys["polarity"].value is not None:
        polarity = keys["polarity"].word(POLARITIES)
        if reader != "images":
            keys["polarity"].error("Only pictures have a polarity.")
    columns = keys["columns"].texts("a column", MOST_COLUMNS)
    if reader == "images" and columns:
        keys["columns"].error("Pictures have no columns.")
    elif reader == "npz" and len(columns) != 1:
        keys["columns"].error("Name exactly one array of the archive.")
    elif reader != "images" and not columns:
        keys["columns"].error("Name at least one column.")
    return SplitInput(keys["name"].text("the name of an input"), columns, polarity)


def _target(row: _Place, reader: Reader, task: Task) -> Target:
    if row.value is None and reader == "images" and task not in PICTURE_TABLES:
        return Target()
    keys = row.fields("column", "labels", "positive", "columns", "output")
    if not keys:
        return Target()
    labels = keys["labels"].texts("a label", MOST_LABELS)
    positive = _positive(keys["positive"], labels, task)
    output = keys["output"].text("the name of an output") if keys["output"].value else ""
    if task == MULTI_LABEL and reader in ("csv", "parquet"):
        return replace(_several(keys, labels), output=output)
    if keys["columns"].value:
        keys["columns"].error(f"Only tables of the task {MULTI_LABEL} have several target columns.")
    if reader == "images" and task not in PICTURE_TABLES:
        if keys["column"].value:
            keys["column"].error("The target of pictures is the name of their folder.")
        return Target("", labels, positive, output=output)
    column = keys["column"].text("the column of the target")
    return Target(column, labels, positive, output=output)


def _positive(place: _Place, labels: tuple[str, ...], task: Task) -> str:
    if place.value is None:
        return ""
    if task != "classification" or len(labels) != 2 or place.value not in labels:
        place.error("The positive class is one of exactly two labels of a classification.")
        return ""
    return str(place.value)


def _several(keys: dict[str, _Place], labels: tuple[str, ...]) -> Target:
    """The target of a table with several labels for each row."""
    if keys["column"].value:
        keys["column"].error("Name the target columns as `columns`, one for each label.")
    columns = keys["columns"].texts("a column", MOST_COLUMNS)
    if len(columns) < 2:
        keys["columns"].error("Name at least two target columns, one for each label.")
    elif labels and len(labels) != len(columns):
        keys["labels"].error("Give one label for each target column, or none.")
    return Target("", labels, columns=columns)
