"""How many tokens a tokenizer has, from its files, and whether the graphs have room for them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hub.counting import number, plural
from hub.protocol.packages import Code, Severity
from hub.protocol.stored import mapping, rows, whole
from runners.engine.onnx_files import wire
from runners.engine.packages.folder import Folder
from runners.engine.packages.graph_facts import Graph

# Largest id that is one; any other number in its place is none.
_MOST_ID = 1 << 31
# Tables are padded to convenient sizes, but hardly ever to more than this multiple.
_MOST_PADDING = 2


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a tokenizer: ``size`` is the highest id and one more."""

    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Declared:
    """A number that a config declares, and where."""

    file: str
    field: str
    value: int


def of_folder(folder: Folder, *places: str) -> Vocabulary | None:
    """The tokenizer in the first of these folders that has one; None without a readable one."""
    for place in places:
        for name, count in _COUNTS.items():
            path = posixpath.join(place, name)
            size = count(folder, path) if path in folder.sizes else 0
            if size:
                return Vocabulary(path, size)
    return None


def _of_tokenizer(folder: Folder, path: str) -> int:
    document = folder.config(path)
    vocabulary = mapping(document.get("model")).get("vocab")
    added = [row.get("id") for row in rows(document.get("added_tokens"))]
    if isinstance(vocabulary, list):  # of pairs of token and score
        return max(len(vocabulary), _highest(added))
    return max(_highest(mapping(vocabulary).values()), _highest(added))


def _of_object(folder: Folder, path: str) -> int:
    return _highest(folder.config(path).values())


def _of_lines(folder: Folder, path: str) -> int:
    content = folder.content(path) or b""
    return len(content.rstrip(b"\r\n").split(b"\n")) if content.strip() else 0


def _of_tokens(folder: Folder, path: str) -> int:
    """Lines of a token and its id."""
    lines = (folder.content(path) or b"").split(b"\n")
    words = (line.split()[-1] for line in lines if line.strip())
    return _highest(int(word) if word.isdigit() and len(word) < 12 else None for word in words)


def _of_sentencepiece(folder: Folder, path: str) -> int:
    content = folder.content(path) or b""
    try:
        return sum(1 for _ in wire.messages(content, 0, len(content), 1))
    except wire.MalformedError:
        return 0


def _highest(ids: Iterable[Any]) -> int:
    numbers = (whole(row) for row in ids)
    return max((row + 1 for row in numbers if row is not None and 0 <= row < _MOST_ID), default=0)


_COUNTS: dict[str, Callable[[Folder, str], int]] = {
    "tokenizer.json": _of_tokenizer,
    "vocab.json": _of_object,
    "vocab.txt": _of_lines,
    "tokens.txt": _of_tokens,
    "spiece.model": _of_sentencepiece,
    "sentencepiece.bpe.model": _of_sentencepiece,
    "tokenizer.model": _of_sentencepiece,
}


def compare(
    folder: Folder,
    graph: Graph,
    *,
    declared: Declared | None,
    vocabulary: Vocabulary | None,
    scores: str = "",
) -> None:
    """Hold the declared size and the tokenizer against a graph, and against each other.

    Of the graph, that are the rows of its embedding, and the last dimension of its output
    ``scores``.
    """
    width = graph.width(scores) if scores else None
    rows_ = graph.embedding_rows
    if declared is not None:
        _compare_declared(folder, graph, declared, width, scores)
    if vocabulary is None:
        return
    if rows_ is not None and vocabulary.size > rows_:
        folder.error(
            Code.VOCABULARY_DIFFERS,
            vocabulary.file,
            "",
            f"The tokenizer has ids up to {number(vocabulary.size - 1)}, and the embedding in "
            f"{graph.path} has {number(rows_)} rows: other ids end the run.",
            "Use the tokenizer that the model was trained with, or export the model again after "
            "its embedding was resized.",
        )
    elif width is not None and vocabulary.size > width:
        folder.error(
            Code.VOCABULARY_DIFFERS,
            vocabulary.file,
            "",
            f"The tokenizer has {plural(vocabulary.size, 'token')}, and the output {scores} of "
            f"{graph.path} has scores of {number(width)}.",
            "Use the tokenizer that the model was trained with.",
        )
    what, room = graph.path, width if width is not None else rows_
    if room is None and declared is not None:
        what, room = declared.file, declared.value
    if room is not None and vocabulary.size * _MOST_PADDING < room:
        folder.add(
            Code.VOCABULARY_SMALL,
            Severity.WARNING,
            vocabulary.file,
            "",
            f"The tokenizer has {plural(vocabulary.size, 'token')}, and {what} states "
            f"{number(room)}: most cannot be read or written.",
            "Use the tokenizer that the model was trained with.",
        )


def _compare_declared(
    folder: Folder, graph: Graph, declared: Declared, width: int | None, scores: str
) -> None:
    rows_ = graph.embedding_rows
    if width is not None and declared.value != width:
        what, size = f"the output {scores}", width
    elif rows_ is not None and declared.value > rows_:
        what, size = "the embedding", rows_
    else:
        return
    folder.error(
        Code.VOCABULARY_DIFFERS,
        declared.file,
        declared.field,
        f"{declared.field} is {number(declared.value)}, and {what} of {graph.path} has the size "
        f"{number(size)}.",
        f"Set {declared.field} to {size}, or add the model that belongs to this file.",
    )
