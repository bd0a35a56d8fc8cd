"""The key-value cache of a decoder: what a config declares against inputs and attention nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hub.protocol.packages import Code
from hub.protocol.stored import whole
from runners.engine.packages.folder import Folder
from runners.engine.packages.graph_facts import Graph, Shape

# Names that Optimum gives to inputs of a cache: layer, part of an encoder-decoder, key or value.
_NAMES = re.compile(r"past_key_values\.(\d{1,4})\.(?:(decoder|encoder)\.)?(?:key|value)")
# Batch, heads, length, size of a head.
_RANK, _HEADS, _SIZE = 4, 1, 3


@dataclass(frozen=True, slots=True)
class Declared:
    """A number of a config, under its own key there; None where it does not state it."""

    field: str = ""
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Cache:
    """What a config declares of the attention of a decoder."""

    file: str
    heads: Declared = Declared()
    key_value_heads: Declared = Declared()
    head_size: Declared = Declared()
    layers: Declared = Declared()


def number_of(config: Mapping[str, object], *names: str, prefix: str = "") -> Declared:
    """The first of these keys that the config has as a whole number above 0."""
    for name in names:
        value = whole(config.get(name))
        if value is not None and value > 0:
            return Declared(f"{prefix}{name}", value)
    return Declared()


def named(inputs: Iterable[str]) -> dict[str, int]:
    """Those of the inputs that are a cache by Optimum's names, with the layer of each."""
    matches = ((name, _NAMES.fullmatch(name)) for name in inputs)
    return {name: int(match[1]) for name, match in matches if match}


def compare(folder: Folder, graph: Graph, cache: Cache, names: Mapping[str, int]) -> None:
    """Hold a declared cache against a graph; ``names`` are inputs of it with their layers."""
    shapes = graph.input_shapes
    present = {name: shapes[name] for name in names if name in shapes}
    _compare_size(folder, graph, cache.file, cache.key_value_heads, _sizes(present, _HEADS))
    _compare_size(folder, graph, cache.file, cache.head_size, _sizes(present, _SIZE))
    layers = {names[name] for name in present}
    # Where layers are left out, those have no attention.
    is_whole = layers == set(range(len(layers)))
    if cache.layers.value not in (None, len(layers)) and layers and is_whole:
        _note(
            folder,
            Code.LAYERS_DIFFER,
            cache.file,
            cache.layers,
            f"{graph.path} has a cache of {len(layers)} layers",
            len(layers),
        )
    for attention in graph.attention:
        heads = Code.HEADS_DIFFER, cache.heads, attention.heads
        pairs = Code.KEY_VALUE_HEADS_DIFFER, cache.key_value_heads, attention.key_value_heads
        for code, declared, value in (heads, pairs):
            if declared.value is not None and declared.value != value:
                words = f"GroupQueryAttention in {graph.path} has {value}"
                _note(folder, code, cache.file, declared, words, value)


def _sizes(shapes: Mapping[str, Shape | None], axis: int) -> dict[str, tuple[int, int]]:
    return {
        name: (axis, size)
        for name, shape in shapes.items()
        if shape is not None and len(shape) == _RANK and (size := shape[axis]) is not None
    }


def _compare_size(
    folder: Folder,
    graph: Graph,
    file: str,
    declared: Declared,
    sizes: Mapping[str, tuple[int, int]],
) -> None:
    """Note the first input with another size, since the others have it too."""
    for name, (axis, size) in sizes.items():
        if declared.value is not None and size != declared.value:
            code = Code.KEY_VALUE_HEADS_DIFFER if axis == _HEADS else Code.HEAD_SIZE_DIFFERS
            words = f"the input {name} of {graph.path} has {size}"
            _note(folder, code, file, declared, words, size)
            return


def _note(
    folder: Folder, code: Code, file: str, declared: Declared, words: str, value: int
) -> None:
    if any(
        (row.code, row.file, row.field) == (code, file, declared.field) for row in folder.findings
    ):
        return  # the other graphs and nodes contradict it alike
    folder.error(
        code,
        file,
        declared.field,
        f"{declared.field} is {declared.value}, and {words}.",
        f"Set {declared.field} to {value}, or add the model that belongs to this file.",
    )
