"""Task "annotate": the same model with metadata of the hub in its metadata_props.

Only the outermost message is parsed: every byte of graph, weights and functions is copied as it is,
so the file may be of any size, and external data stay where they are. Entries of the same key are
replaced, others kept. Source: ModelProto in onnx.proto, docs/MetadataProps.md.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import wire
from runners.engine.reports import Finding, Report

# ModelProto.metadata_props, and the two fields of a StringStringEntryProto.
_PROPS, _KEY, _VALUE = 14, 1, 2
_GRAPH = 7
_COPIED_AT_ONCE = 4 << 20
# Maximum size of the properties in bytes.
MOST_BYTES = 4 << 20
_ENDING = "with-metadata"


def run(job: Job) -> Report:
    """Write the annotated file beside the original; the report has both graphs' digests."""
    props = _props(job.request.options.get("props"))
    entry = job.request.entry
    job.scan()
    job.lay_out([entry])
    job.tell(40, "annotate")
    name = f"{PurePosixPath(entry).stem}.{_ENDING}.onnx"
    facts = job.answer(
        "annotate",
        lambda: write(job.model, job.out / name, props),
        Finding("annotate-failed", "error", "The model's outermost message cannot be copied"),
        file_bytes=job.size(entry) + MOST_BYTES + (1 << 20),
    )
    return job.report("passed", (), facts, outputs=[name])


def write(origin: Path, target: Path, props: Mapping[str, str]) -> dict[str, Any]:
    """Copy a model with these properties; returns the replaced keys and the graph's SHA-256.

    Raises wire.MalformedError for what is no message, and ValueError where there is no graph.
    """
    replaced: list[str] = []
    graph = hashlib.sha256()
    has_graph = False
    with wire.mapped(origin) as buffer, target.open("xb") as copy:
        for first, end, number, inner in _parts(buffer):
            if number == _PROPS and (key := _key(buffer, inner, end)) in props:
                replaced.append(key)
            else:
                for place in range(first, end, _COPIED_AT_ONCE):
                    copy.write(buffer[place : min(end, place + _COPIED_AT_ONCE)])
            if number == _GRAPH:
                has_graph = True
                for place in range(inner, end, _COPIED_AT_ONCE):
                    graph.update(buffer[place : min(end, place + _COPIED_AT_ONCE)])
        for key, value in sorted(props.items()):
            entry = wire.field(_KEY, key.encode()) + wire.field(_VALUE, value.encode())
            copy.write(wire.field(_PROPS, entry))
        copy.flush()
        os.fsync(copy.fileno())
    if not has_graph:
        raise ValueError("the model has no graph")
    return {"keys": sorted(props), "replaced": sorted(replaced), "graph_sha256": graph.hexdigest()}


def _parts(buffer: wire.Buffer) -> Iterator[tuple[int, int, int, int]]:
    """Each outermost field: its start with its tag, its end, its number, its content."""
    before = 0
    for number, kind, first, second in wire.fields(buffer, 0, len(buffer)):
        yield before, second, number, first if kind == wire.BYTES else second
        before = second


def _key(buffer: wire.Buffer, start: int, end: int) -> str:
    """The key of one entry; the last one counts, as in protobuf."""
    key = b""
    for number, how, first, second in wire.fields(buffer, start, end):
        if number == _KEY and how == wire.BYTES:
            key = bytes(buffer[first:second])
    return key.decode("utf-8", "replace")


def _props(props: Any) -> dict[str, str]:
    if not isinstance(props, dict) or not props:
        raise JobError("engine-error", "An annotation needs properties.")
    pairs = {str(key): str(value) for key, value in props.items()}
    if sum(len(key.encode()) + len(value.encode()) for key, value in pairs.items()) > MOST_BYTES:
        raise JobError("engine-error", f"The properties have more than {MOST_BYTES} bytes.")
    return pairs
