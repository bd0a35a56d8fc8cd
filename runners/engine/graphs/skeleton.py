"""Task "skeleton": the graph of a model without its weights, its nodes, and their costs.

The file is cut out of the original's bytes message by message, so a model of any size costs only
the memory of its structure: data of tensors over 4 kB and references to other files are left out,
shapes and types stay. Source: onnx.proto (IR 14).
"""

from __future__ import annotations

import functools
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runners.engine.confine.children import EndingKind
from runners.engine.costs import functions
from runners.engine.jobs import Job, mapping_of
from runners.engine.onnx_files import nodes, wire
from runners.engine.onnx_files.vocabulary import MESSAGES, RUNS
from runners.engine.reports import Finding, Report

# Maximum size of the data of one tensor or attribute, and of all of them, in bytes.
MOST_DATA = 4096
MOST_DATA_TOGETHER = 1 << 20
# Suffices for shapes and axes, and is always kept.
ALWAYS_KEPT = 128
# Longer texts are usually stack traces of an exporter.
MOST_TEXT = 1024
SKELETON, NODES, COSTS = "skeleton.onnx", "nodes.json", "costs.json"

_TENSOR_DATA = frozenset({4, 5, 6, 7, 9, 10, 11})
_TENSOR_OUTSIDE = frozenset({13, 14})
_TENSOR_DOC, _ATTRIBUTE_DOC = 12, 13
_ATTRIBUTE_DATA = frozenset({4, 7, 8, 9})
# Fields that are not drawn: a model's training information.
_LEFT_OUT = {"model": frozenset({20})}
_TEXTS = {
    "graph": frozenset({10, 16}),
    "node": frozenset({6, 9}),
    "function": frozenset({8, 14}),
    "attribute": frozenset({13}),
}


@dataclass(slots=True)
class Cut:
    """What was left out of a skeleton, and the remaining data budget of its tensors.

    With ``marking``, each tensor and each emptied attribute has in its doc_string where its whole
    message stands in the original, as `@first:end`.
    """

    tensors: int = 0
    bytes: int = 0
    external: int = 0
    attributes: int = 0
    texts: int = 0
    left: int = field(default=MOST_DATA_TOGETHER)
    marking: bool = False

    def keeps(self, size: int) -> bool:
        """Whether data of this size in bytes is kept."""
        if size > MOST_DATA or (size > ALWAYS_KEPT and size > self.left):
            return False
        self.left -= size if size > ALWAYS_KEPT else 0
        return True

    def to_json(self) -> dict[str, int]:
        counts = asdict(self)
        return {
            name: counts[name] for name in ("tensors", "bytes", "external", "attributes", "texts")
        }


def run(job: Job) -> Report:
    """Write the skeleton of a model, the table of its nodes, and their costs."""
    entry = job.request.entry
    job.scan()
    job.lay_out([entry])
    job.tell(30, "skeleton")
    skeleton, table = job.out / SKELETON, job.out / NODES
    facts = job.answer(
        "skeleton",
        lambda: write(job.model, skeleton),
        Finding("skeleton-failed", "error", "The graph cannot be extracted from the model"),
        file_bytes=job.size(entry) + (1 << 20),
    )
    # Shape inference is native code on untrusted data: if it crashes, the nodes have no shapes.
    findings: list[Finding] = []
    for inferring in (True, False):
        job.tell(60 if inferring else 80, "nodes")
        ending = job.stage(
            "nodes",
            functools.partial(nodes.write, skeleton, table, infer=inferring),
            file_bytes=nodes.MOST_BYTES + (1 << 20),
        )
        if ending.kind == EndingKind.ANSWERED:
            facts |= mapping_of(ending.answer)
            break
        words = f"The shapes of the graph could not be inferred: {job.cause(ending)}"
        findings.append(Finding("shapes-unknown", "info", words))
    else:
        words = f"The nodes of the model cannot be listed: {job.cause(ending)}"
        return job.report("failed", (Finding("skeleton-failed", "error", words),))
    outputs = [SKELETON, NODES]
    job.tell(90, "costs")
    ending = job.stage(
        "costs",
        lambda: functions.write(skeleton, job.out / COSTS),
        file_bytes=2 * functions.MOST_BYTES,
    )
    if ending.kind == EndingKind.ANSWERED:
        facts |= mapping_of(ending.answer)
        outputs.append(COSTS)
    else:
        words = f"The costs of the graph could not be counted: {job.cause(ending)}"
        findings.append(Finding("costs-unknown", "info", words))
    return job.report("passed", tuple(findings), facts, outputs=outputs)


def write(origin: Path, target: Path) -> dict[str, Any]:
    """Write the skeleton of a model file; returns its size and what was left out.

    Raises wire.MalformedError for what is no message, and ValueError where there is no graph.
    """
    with wire.mapped(origin) as buffer:
        content, cut = cut_out(buffer)
    with target.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return {"skeleton": {"bytes": len(content), "left_out": cut.to_json()}}


def cut_out(buffer: wire.Buffer, *, marking: bool = False) -> tuple[bytes, Cut]:
    """The skeleton of a model's bytes, and what it lacks; raises as `write` does."""
    cut = Cut(marking=marking)
    if not any(number == 7 for number, *_ in wire.fields(buffer, 0, len(buffer))):
        raise ValueError("the model has no graph")
    return _rebuilt(buffer, 0, len(buffer), "model", cut), cut


def _rebuilt(buffer: wire.Buffer, start: int, end: int, kind: str, cut: Cut) -> bytes:
    """A message without the fields that a skeleton leaves out."""
    if kind == "tensor":
        return _tensor(buffer, start, end, cut)
    content = bytearray()
    inside, texts = MESSAGES[kind], _TEXTS.get(kind, frozenset())
    emptied = _long_values(buffer, start, end, cut) if kind == "attribute" else frozenset()
    before = start
    for number, how, first, second in wire.fields(buffer, start, end, RUNS.get(kind, frozenset())):
        if number in _LEFT_OUT.get(kind, ()) or number in emptied:
            pass
        elif how == wire.BYTES and number in inside:
            content += wire.field(number, _rebuilt(buffer, first, second, inside[number], cut))
        elif how == wire.BYTES and number in texts and second - first > MOST_TEXT:
            cut.texts += 1
        else:
            content += buffer[before:second]
        before = second
    if emptied and cut.marking:
        content += _mark(_ATTRIBUTE_DOC, start, end)
    return bytes(content)


def _mark(number: int, start: int, end: int) -> bytes:
    return wire.field(number, f"@{start}:{end}".encode())


def _tensor(buffer: wire.Buffer, start: int, end: int, cut: Cut) -> bytes:
    """A tensor with its name, type and shape; with its data if they are small."""
    pieces: list[tuple[bytes, bool]] = []
    size, outside, before = 0, False, start
    for number, how, first, second in wire.fields(buffer, start, end, RUNS["tensor"]):
        is_data = number in _TENSOR_DATA
        if number in _TENSOR_OUTSIDE:
            outside = outside or number == 13
        elif is_data and (size := size + second - before) > MOST_DATA:
            pass  # not even read: it will not stay
        elif how != wire.BYTES or is_data or second - first <= MOST_TEXT:
            pieces.append((bytes(buffer[before:second]), is_data))
        before = second
    keeps = cut.keeps(size)
    if not keeps:
        cut.tensors += 1
        cut.bytes += size
    cut.external += outside
    content = b"".join(piece for piece, is_data in pieces if keeps or not is_data)
    return content + _mark(_TENSOR_DOC, start, end) if cut.marking else content


def _long_values(buffer: wire.Buffer, start: int, end: int, cut: Cut) -> frozenset[int]:
    """The fields of an attribute whose values are too many to keep, such as those of trees."""
    sizes: dict[int, int] = {}
    before = start
    for number, _, _, second in wire.fields(buffer, start, end, RUNS["attribute"]):
        if number in _ATTRIBUTE_DATA:
            sizes[number] = sizes.get(number, 0) + second - before
        before = second
    emptied = frozenset(number for number, size in sizes.items() if not cut.keeps(size))
    cut.attributes += len(emptied)
    cut.bytes += sum(sizes[number] for number in emptied)
    return emptied
