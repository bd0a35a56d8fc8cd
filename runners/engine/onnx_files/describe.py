"""Every fact about a model that needs no weights, from one walk over its bytes.

Nothing is parsed by a library, nothing is copied but names, and the cost does not grow with the
weights.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict
from typing import Any

from runners.engine.onnx_files import external, parameters, precision, text
from runners.engine.onnx_files.scan import scan
from runners.engine.onnx_files.vocabulary import (
    CATEGORIES,
    CONTROL_FLOW,
    DATA_TYPES,
    DEFAULT_DOMAIN,
    OPERATOR_SETS,
    OTHER,
    STANDARD_DOMAINS,
)
from runners.engine.onnx_files.walk import Tensor, Walk
from runners.engine.reports import Scan

# How facts are counted; a higher number has what was described before described again.
# 2: parameters by scope, and those in attributes. 3: all external files, not only the first 256.
# 4: parameters without settings, numbers without a dimension and what no output is computed with.
METHOD = 4
BARCODE_CELLS = 200
_LISTED_VALUES = 256
_LISTED_OPERATORS = 1000
_LISTED_FUNCTIONS = 200
_LISTED_NAMES = 10
_HASHED_BYTES = 1 << 20
_HASH_BUDGET = 32 << 20
_WORTH_COMPARING = 64


def describe(
    handle: int, entry: str, files: dict[str, int], pointers: frozenset[str] = frozenset()
) -> Scan:
    """Describe an open model file; `files` maps version paths to sizes, `pointers` are of Git LFS.

    Facts are whole only when no finding is an error.
    """
    state = scan(handle, entry, files, pointers)
    facts = facts_of(state) if "graph" in state.facts else {}
    return Scan(tuple(state.notes.findings()), facts)


def operators_of(state: Walk) -> dict[str, Any]:
    """The operators that a model uses, and the sets that it imports."""
    return {
        "ir_version": state.facts["ir_version"],
        "opsets": state.facts["opsets"],
        "operators": _operators(state),
        "custom_domains": _custom_domains(state),
    }


def facts_of(state: Walk) -> dict[str, Any]:
    """Put together what a finished walk saw."""
    read = state.facts
    graph = read["graph"] or {"name": "", "doc": "", "inputs": [], "outputs": []}
    word, profile = precision.profile(state, [*graph["inputs"], *graph["outputs"]])
    count = parameters.count(state)
    if state.uncounted:
        parts = [text.decode(word, text.NAME_LIMIT) for word in next(iter(state.uncounted))]
        state.notes.add(
            "parameters-not-counted",
            "info",
            f"The parameters are not counted: {'.'.join(parts)} keeps values in its attributes, "
            "and what they are is unknown.",
        )
    external.note_unread(state)
    operators = operators_of(state)
    for domain in operators["custom_domains"]:
        source = f", which {domain['provided_by']} provides" if domain["provided_by"] else ""
        names = ", ".join(domain["operators"][:5])
        words = f"Valid, needs operator set {domain['domain']!r}{source}: {names}."
        state.notes.add("needs-operator-set", "info", words)
    opset = _opset(read)
    if opset is None and read["opsets"]:
        sets = ", ".join(
            f"{domain} {version}" for domain, version in sorted(read["opsets"].items())
        )
        state.notes.add(
            "no-default-opset",
            "info",
            f"The model imports {sets} and no set of default operators, which none of its nodes "
            "needs. It has no opset, so there is none to upgrade: it loads wherever these sets are "
            "known.",
        )
    return {
        "format": "onnx",
        "method": METHOD,
        **operators,
        "opset": opset,
        "producer": read["producer"],
        "model_version": read["model_version"],
        "domain": read["domain"],
        "doc": read["doc"],
        "metadata": read["metadata"],
        "graph": {"name": graph["name"], "doc": graph["doc"]},
        "inputs": graph["inputs"][:_LISTED_VALUES],
        "input_count": len(graph["inputs"]),
        "outputs": graph["outputs"][:_LISTED_VALUES],
        "output_count": len(graph["outputs"]),
        "nodes": {
            "total": state.nodes.total() - state.nodes["training"],
            "graph": state.nodes["graph"],
            "subgraphs": state.nodes["subgraph"],
            "functions": state.nodes["function"],
        },
        "barcode": barcode(state.sequence),
        "functions": [
            {key: function[key] for key in ("domain", "name", "overload", "nodes")}
            for function in read["functions"][:_LISTED_FUNCTIONS]
        ],
        "function_count": len(read["functions"]),
        "control_flow": any(
            name.decode("ascii", "replace") in CONTROL_FLOW for _, name in state.operators
        ),
        "training_info": read["training_info"],
        "initializers": _initializers(state),
        "external_files": _external(state),
        "tree_nodes": state.tree_nodes,
        "parameters": None if state.uncounted else count.parameters,
        "constants": count.constants,
        "precision": word,
        "precision_profile": profile,
        "size": {
            "entry": state.files.get(state.entry, 0),
            "external": sum(state.files[path] for path in state.external),
        },
    }


def _opset(read: dict[str, Any]) -> int | None:
    """Give the default operator set; before IR 3 none was written and version 1 was meant."""
    declared = read["opsets"].get(DEFAULT_DOMAIN)
    if declared is None and not read["opsets"] and read["ir_version"] < 3:
        return 1
    return declared if declared is None else int(declared)


def _operators(state: Walk) -> list[dict[str, Any]]:
    return [
        {
            "domain": text.decode(domain, text.NAME_LIMIT) or DEFAULT_DOMAIN,
            "name": text.decode(name, text.NAME_LIMIT),
            "count": count,
        }
        for (domain, name), count in state.operators.most_common(_LISTED_OPERATORS)
    ]


def barcode(sequence: bytes | bytearray) -> dict[str, Any]:
    """Compress the operators in order: each cell is the index of its bin's commonest family."""
    cells = min(BARCODE_CELLS, len(sequence))
    families = []
    for cell in range(cells):
        inside = sequence[cell * len(sequence) // cells : (cell + 1) * len(sequence) // cells]
        # Among equals the one that says more wins: "other" only when nothing else is as frequent.
        counts = Counter(inside)
        families.append(max(counts, key=lambda family: (counts[family], family != OTHER, -family)))
    return {"categories": list(CATEGORIES), "cells": families, "nodes": len(sequence)}


def _custom_domains(state: Walk) -> list[dict[str, Any]]:
    """List operators that neither ONNX nor the model's own functions define, by their domain."""
    own = {(f["domain"] or DEFAULT_DOMAIN, f["name"]) for f in state.facts["functions"]}
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for (raw_domain, raw_name), count in state.operators.items():
        domain = text.decode(raw_domain, text.NAME_LIMIT) or DEFAULT_DOMAIN
        name = text.decode(raw_name, text.NAME_LIMIT)
        if domain not in STANDARD_DOMAINS and (domain, name) not in own:
            used[domain][name] += count
    return [
        {
            "domain": domain,
            "version": state.facts["opsets"].get(domain),
            "operators": [name for name, _ in names.most_common(20)],
            "nodes": names.total(),
            "provided_by": OPERATOR_SETS.get(domain, ""),
        }
        for domain, names in sorted(used.items())[:_LISTED_OPERATORS]
    ]


def _initializers(state: Walk) -> dict[str, Any]:
    tensors = state.initializers
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for tensor in tensors:
        kind = DATA_TYPES.get(tensor.data_type, ("unknown", 0))[0]
        kinds[kind].update(count=1, elements=tensor.elements, bytes=tensor.stored)
    uses: Counter[int] = Counter()
    for node in state.flow:
        uses.update(id(state.weight(node.sees, name)) for name in node.inputs)
    outputs = {
        id(state.weight(sees, name)) for sees, names in state.outputs.items() for name in names
    }
    unused = [tensor for tensor in tensors if not uses[id(tensor)] and id(tensor) not in outputs]
    largest = heapq.nlargest(5, tensors, key=lambda tensor: tensor.stored)
    return {
        "count": len(tensors),
        "bytes": sum(tensor.stored for tensor in tensors),
        "by_dtype": {kind: dict(figures) for kind, figures in sorted(kinds.items())},
        "sparse": state.sparse,
        "largest": [
            {
                "name": _name(tensor),
                "dtype": DATA_TYPES.get(tensor.data_type, ("unknown", 0))[0],
                "shape": list(tensor.dimensions),
                "bytes": tensor.stored,
            }
            for tensor in largest
        ],
        "shared": sum(uses[id(tensor)] > 1 for tensor in tensors),
        "unused": {
            "count": len(unused),
            "bytes": sum(tensor.stored for tensor in unused),
            "names": [_name(tensor) for tensor in unused[:_LISTED_NAMES]],
        },
        "duplicates": _duplicates(state),
    }


def _name(tensor: Tensor) -> str:
    return text.decode(tensor.name, text.NAME_LIMIT)


def _duplicates(state: Walk) -> dict[str, int]:
    """Count weights stored more than once; only those of at most 1 MiB are compared."""
    alike: dict[tuple[int, tuple[int, ...]], list[Tensor]] = defaultdict(list)
    for tensor in state.initializers:
        if _WORTH_COMPARING <= tensor.stop - tensor.start <= _HASHED_BYTES:
            alike[tensor.data_type, tensor.dimensions].append(tensor)
    counts: Counter[bytes] = Counter()
    wasted = budget = 0
    for group in alike.values():
        if len(group) < 2:
            continue
        for tensor in group:
            budget += tensor.stop - tensor.start
            if budget > _HASH_BUDGET:
                break
            raw = state.buffer[tensor.start : tensor.stop]
            mark = hashlib.blake2b(raw, digest_size=16).digest()
            wasted += tensor.stored if counts[mark] else 0
            counts[mark] += 1
    return {"groups": sum(count > 1 for count in counts.values()), "bytes": wasted}


def _external(state: Walk) -> list[dict[str, Any]]:
    return [
        {
            "path": path,
            "size": state.files[path],
            "tensors": len(parts),
            "bytes": sum(part.length for part in parts),
            "first": min(part.offset for part in parts),
            "end": max(part.offset + part.length for part in parts),
        }
        for path, parts in sorted(state.external.items())
    ]
