"""Walks a whole model file: what it is, what it holds, and whether the hub takes it in.

This is the first stage of every job. It parses no value and calls no library, so it is what decides
whether a library may be let near the file at all.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from typing import Any

from hub import counting
from runners.engine.onnx_files import file_types, graphs, tensors, text, walk, wire
from runners.engine.onnx_files.walk import Scope, Walk

_METADATA_ENTRIES = 64
_METADATA_CHARACTERS = 2000
_MAX_OPSETS = 256


def scan(
    handle: int, entry: str, files: dict[str, int], pointers: frozenset[str] = frozenset()
) -> Walk:
    """Scan an open file; `files` maps every path of the version to its size in bytes.

    `pointers` are those of them that are Git LFS pointers.

    Nothing raises for a bad model: the walk's notes tell, and `notes.refused` decides.
    """
    size = os.fstat(handle).st_size
    head = os.pread(handle, file_types.HEAD_BYTES, 0)
    file_type = file_types.recognise(head, size)
    if file_type is None and not file_types.could_be_model(head):
        file_type = file_types.UNKNOWN
    if file_type is not None:
        state = Walk(b"", entry, files)
        state.notes.refuse(file_type.code, file_type.message, entry)
        return state
    # Closed by the end of the process: names are cut out of it until the report is written.
    buffer = mmap.mmap(handle, size, prot=mmap.PROT_READ)
    state = Walk(buffer, entry, files, pointers)
    try:
        _Model(state).read(size)
    except walk.OverBudgetError as error:
        state.refuse("over-budget", str(error))
    except wire.TruncatedError as error:
        _explain_cut(state, error)
    except wire.MalformedError as error:
        state.refuse("malformed", f"The file is not a readable ONNX model: {error}.")
    return state


def walk_of(content: bytes) -> Walk:
    """The walk over a model in memory, whose tensors may lack their data.

    Raises wire.MalformedError for what is no model.
    """
    state = Walk(content, "", {})
    _Model(state).read(len(content))
    return state


def _explain_cut(state: Walk, error: wire.TruncatedError) -> None:
    if state.trail:
        state.refuse("malformed", f"A message inside the model claims too many bytes: {error}.")
        return
    missing = error.claimed - error.left
    verb = counting.noun(missing, "byte is", "bytes are")
    state.refuse(
        "truncated",
        f"The file is truncated: at least {missing:,} {verb} missing. Upload the complete file "
        "again and compare its size.",
    )


def _folders(state: Walk) -> str:
    """Finding about paths of the author's machine in a file, which it does not quote."""
    keys = ", ".join(
        f"{key} ({count:,})" if count > 1 else key
        for key, count in sorted(state.local_path_keys.items())
    )
    count = state.local_path_nodes
    nodes = f", on {count:,} {counting.noun(count, 'node')}" if count else ""
    texts = counting.noun(
        state.local_paths, "text in the file contains", "texts in the file contain"
    )
    return (
        f"{state.local_paths:,} {texts} paths of the machine it was created on: "
        f"{keys}{nodes}. Facts and pages leave them out, but anyone who downloads the file can "
        "read them. To strip it: `for node in model.graph.node: node.doc_string = ''; "
        "del node.metadata_props[:]`, the same for the model, its functions and subgraphs, then "
        "onnx.save."
    )


class _Model:
    def __init__(self, state: Walk) -> None:
        self._walk = state
        self._once: Counter[int] = Counter()
        self._opsets: list[tuple[str, int]] = []
        self._metadata: list[tuple[str, str]] = []
        self._functions: list[dict[str, Any]] = []
        self._graph: dict[str, Any] = {}
        self._plain: dict[int, Any] = {}
        self._training = 0

    def read(self, size: int) -> None:
        state = self._walk
        for number, kind, first, second in wire.fields(state.buffer, 0, size):
            if number in {1, 5} and kind == wire.VARINT:
                self._plain[number] = wire.signed(first)
            elif kind != wire.BYTES:
                raise wire.MalformedError(f"model field {number} uses the wire type {kind}")
            else:
                self._take(number, first, second)
        self._judge()
        self._tell()

    def _take(self, number: int, first: int, second: int) -> None:
        state = self._walk
        if number == 7:
            self._once[7] += 1
            if self._once[7] == 1:
                state.trail.append("graph")
                self._graph = graphs.read_graph(state, first, second, Scope("graph"))
                state.trail.pop()
        elif number == 8:
            self._opsets.append(graphs.read_opset(state, first, second))
            state.spend("operator sets", len(self._opsets), _MAX_OPSETS)
        elif number == 14:
            self._take_metadata(first, second)
        elif number == 20:
            self._take_training(first, second)
        elif number == 25:
            state.spend("functions", len(self._functions) + 1, walk.MAX_FUNCTIONS)
            self._functions.append(graphs.read_function(state, first, second))
        elif number in {2, 3, 4}:
            self._plain[number] = state.words(first, second, text.NAME_LIMIT)
        elif number == 6:
            self._plain[6] = state.document(first, second, text.DOCUMENT_LIMIT, "doc_string")
        elif number != 26:
            state.unknown_fields += 1

    def _take_metadata(self, first: int, second: int) -> None:
        state = self._walk
        if second - first > walk.MAX_TEXT_BYTES:
            raise walk.OverBudgetError("A metadata entry is longer than 16 MiB.")
        state.spend("metadata entries", len(self._metadata) + 1, 10_000)
        key, value = tensors.read_pair(state, first, second)
        if text.names_local_path(value.encode("utf-8", "replace")):
            state.note_local_path(text.clip(key, 60), "the model's metadata")
            value = ""
        if text.names_local_path(key.encode("utf-8", "replace")):
            key = "a key that tells a folder"
        self._metadata.append(
            (text.clip(key, text.NAME_LIMIT), text.clip(value, _METADATA_CHARACTERS))
        )

    def _take_training(self, first: int, second: int) -> None:
        state = self._walk
        self._training += 1
        state.trail.append("training")
        for number, kind, inner_first, inner_end in wire.fields(state.buffer, first, second):
            if number in {1, 2} and kind == wire.BYTES:
                graphs.read_graph(state, inner_first, inner_end, Scope("training"))
        state.trail.pop()

    def _judge(self) -> None:
        state = self._walk
        if not self._once[7]:
            state.refuse(
                "model-without-graph",
                "The file has no graph: it is truncated, or another kind of protobuf file (a "
                "tensor, a TensorFlow graph). Upload the .onnx file of the model.",
            )
        if self._once[7] > 1:
            state.refuse("field-repeated", "The model contains two graphs.")
        self._judge_opsets()
        keys = Counter(key for key, _ in self._metadata)
        for key in [key for key, count in keys.items() if count > 1]:
            state.notes.add("metadata-repeated", "warning", f"Metadata {key!r} occurs twice.")
        functions = Counter((f["domain"], f["name"], f["overload"]) for f in self._functions)
        for (domain, name, _), count in functions.items():
            if count > 1:
                state.refuse("function-repeated", f"Function {domain}:{name} is defined twice.")
        if state.local_paths:
            state.notes.add("local-paths", "warning", _folders(state), state.local_path_where)
        if state.unknown_fields:
            state.notes.add(
                "unknown-fields",
                "info",
                f"{state.unknown_fields:,} fields mean nothing in IR version 14 and are ignored.",
            )

    def _judge_opsets(self) -> None:
        versions: dict[str, int] = {}
        for domain, version in self._opsets:
            if versions.setdefault(domain, version) != version:
                self._walk.refuse(
                    "opset-contradiction",
                    f"Operator set {domain!r} is imported in versions {versions[domain]} and "
                    f"{version}; libraries disagree about which one applies. Keep one.",
                )
        if len(versions) != len(self._opsets) and not self._walk.notes.refused:
            self._walk.notes.add(
                "opset-repeated", "info", "An operator set is imported twice in the same version."
            )

    def _tell(self) -> None:
        self._walk.facts.update(
            {
                "ir_version": self._plain.get(1, 0),
                "opsets": dict(reversed(self._opsets)),
                "producer": {"name": self._plain.get(2, ""), "version": self._plain.get(3, "")},
                "domain": self._plain.get(4, ""),
                "model_version": self._plain.get(5, 0),
                "doc": self._plain.get(6, ""),
                "metadata": dict(self._metadata[:_METADATA_ENTRIES]),
                "graph": self._graph,
                "functions": self._functions,
                "training_info": self._training > 0,
            }
        )
