"""Task "annotate": the same model with the hub's words in its metadata_props.

Only the outermost message is walked: every byte of graph, weights and functions is copied as it
is, so the file may be of any size, and external data stay where they are. Entries of the same key
are replaced, others kept. Source: ModelProto in onnx.proto, docs/MetadataProps.md.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from runners.engine.jobs import JobError, mapping_of
from runners.engine.onnx_files import staging, wire
from runners.engine.reports import Finding
from runners.engine.runs.shared_runs import told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runners.engine.jobs import Job
    from runners.engine.reports import Report

# ModelProto.metadata_props, and the two fields of a StringStringEntryProto.
_PROPS, _KEY, _VALUE = 14, 1, 2
_GRAPH = 7
_COPIED_AT_ONCE = 4 << 20
# What the properties may add to a file, in bytes.
MOST_BYTES = 4 << 20
_ENDING = "with-metadata"


def run(job: Job) -> Report:
    """Write the annotated file beside the original; its report tells both graphs' digests."""
    props = _asked(job.request.options.get("props"))
    job.scan()
    job.lay_out([job.request.entry])
    job.tell(40, "annotate")
    name = f"{PurePosixPath(job.request.entry).stem}.{_ENDING}.onnx"
    size = staging.sizes({"": job.request.files[job.request.entry]})[""]
    ending = job.stage(
        "annotate",
        lambda: write(job.model, job.out / name, props),
        file_bytes=size + MOST_BYTES + (1 << 20),
    )
    if ending.kind != "answered":
        words = f"The model's outermost message cannot be copied: {told(ending, job)}"
        return job.report("failed", (Finding("annotate-failed", "error", words),))
    facts = mapping_of({"facts": ending.answer}, "facts")
    return job.report("passed", (), facts, outputs=[{"name": name}])


def write(origin: Path, target: Path, props: Mapping[str, str]) -> dict[str, Any]:
    """Copy a model with these properties; answers which keys were replaced and the graph's SHA-256.

    Raises wire.MalformedError for what is no message, and ValueError where there is no graph.
    """
    replaced: list[str] = []
    graph = hashlib.sha256()
    found = False
    with (
        origin.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as buffer,
        target.open("xb") as made,
    ):
        for first, end, number, inner in _parts(buffer):
            if number == _PROPS and (key := _key(buffer, inner, end)) in props:
                replaced.append(key)
                continue
            for start in range(first, end, _COPIED_AT_ONCE):
                made.write(buffer[start : min(end, start + _COPIED_AT_ONCE)])
            if number == _GRAPH:
                found = True
                for start in range(inner, end, _COPIED_AT_ONCE):
                    graph.update(buffer[start : min(end, start + _COPIED_AT_ONCE)])
        for key, value in sorted(props.items()):
            entry = wire.field(_KEY, key.encode()) + wire.field(_VALUE, value.encode())
            made.write(wire.field(_PROPS, entry))
        made.flush()
        os.fsync(made.fileno())
    if not found:
        raise ValueError("the model has no graph")
    return {"keys": sorted(props), "replaced": sorted(replaced), "graph_sha256": graph.hexdigest()}


def _parts(buffer: wire.Buffer) -> Iterator[tuple[int, int, int, int]]:
    """Each outermost field: where it starts with its tag and ends, its number, its content."""
    before = 0
    for number, how, first, second in wire.fields(buffer, 0, len(buffer)):
        yield before, second, number, first if how == wire.BYTES else second
        before = second


def _key(buffer: wire.Buffer, start: int, end: int) -> str:
    """The key of one entry; the last one counts, as in protobuf."""
    key = b""
    for number, how, first, second in wire.fields(buffer, start, end):
        if number == _KEY and how == wire.BYTES:
            key = bytes(buffer[first:second])
    return key.decode("utf-8", "replace")


def _asked(props: Any) -> dict[str, str]:
    if not isinstance(props, dict) or not props:
        raise JobError("engine-error", "An annotation needs properties.")
    asked = {str(key): str(value) for key, value in props.items()}
    if sum(len(key.encode()) + len(value.encode()) for key, value in asked.items()) > MOST_BYTES:
        raise JobError("engine-error", f"The properties have more than {MOST_BYTES} bytes.")
    return asked
