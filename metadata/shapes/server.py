"""The fork server: reads shapes once, and has each graph validated by a confined child of its own.

A line of JSON comes in, a frame of JSON goes out. It ends when its other side does, and by itself
after a long time without requests. The children are those of the ONNX engine, with the same layers.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import select
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from metadata.shapes import child
from registry.core.child_processes import DONE, IDLE_SECONDS, send
from runners.engine.confine import children, probe
from runners.engine.confine.isolation import Confinement, Limits

if TYPE_CHECKING:
    from rdflib import Graph

_CHUNK = 1 << 16
_MOST_BYTES = 64 << 20
_MOST_GRAPHS = 4


def serve() -> NoReturn:
    """Answer requests until the client goes or is idle for long. Called by `__main__` only."""
    speaking = os.dup(1)
    # Output of libraries must not be taken for an answer.
    os.dup2(2, 1)
    logging.disable(logging.WARNING)  # what rdflib has to say of strangers' terms
    layers = probe.probe().layers
    graphs: dict[str, Graph] = {}
    gc.freeze()
    for line in _lines(0):
        answer = _answer(json.loads(line), graphs, layers)
        with contextlib.suppress(BrokenPipeError):
            send(speaking, DONE, json.dumps(answer).encode("ascii"))
    os._exit(0)


def _answer(
    request: dict[str, Any], graphs: dict[str, Graph], layers: frozenset[str]
) -> dict[str, Any]:
    try:
        shapes, vocabulary = (_graph(request[name], graphs) for name in ("shapes", "vocabulary"))
    except Exception as error:  # noqa: BLE001 - parsers raise many kinds of errors
        return {"kind": "shapes", "detail": f"{type(error).__name__}: {error}"[:1000]}
    limits = Limits(**request["limits"])
    task = partial(child.judge, request["nquads"], request["context"], shapes, vocabulary)
    ending = children.run(task, Confinement(layers, limits), children.Stop())
    children.end_strays()
    detail = " ".join(ending.answer) if ending.kind == "raised" else ending.detail
    answer = ending.answer if ending.kind == "answered" else None
    return {"kind": ending.kind, "detail": detail[:1000], "answer": answer}


def _graph(turtle: str, graphs: dict[str, Graph]) -> Graph:
    """A graph that the operator or the hub wrote, read once; the oldest ones are forgotten."""
    if turtle not in graphs:
        graphs[turtle] = child.read(turtle)
        while len(graphs) > _MOST_GRAPHS:
            graphs.pop(next(iter(graphs)))
    return graphs[turtle]


def _lines(handle: int) -> Iterator[bytes]:
    pending = bytearray()
    while select.select([handle], [], [], IDLE_SECONDS)[0]:
        chunk = os.read(handle, _CHUNK)
        pending += chunk
        if not chunk or len(pending) > _MOST_BYTES:
            return
        while b"\n" in chunk and (end := pending.find(b"\n")) >= 0:
            line = bytes(pending[:end])
            del pending[: end + 1]
            yield line
