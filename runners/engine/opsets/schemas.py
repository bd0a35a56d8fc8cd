"""What the operator schemas of onnx say about an operator at an opset."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import onnx

from runners.engine.onnx_files import special_values

NEWEST = onnx.defs.onnx_opset_version()


@lru_cache(maxsize=8192)
def schema(op: str, version: int) -> Any:
    """The schema that is valid at this opset; None without one."""
    try:
        return onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return None


def since(op: str, version: int) -> int | None:
    """The opset in which the operator last changed before `version`.

    None if it is unknown there.
    """
    definition = schema(op, version)
    return None if definition is None else int(definition.since_version)


def usable(op: str, version: int) -> bool:
    """Whether the operator exists at this opset and is not deprecated."""
    definition = schema(op, version)
    return definition is not None and not definition.deprecated


def same(op: str, source: int, target: int) -> bool:
    """Whether nothing about the operator changed between two opsets."""
    if not (usable(op, source) and usable(op, target)):
        return False
    return since(op, source) == since(op, target)


@lru_cache(maxsize=8192)
def widened(op: str, source: int, target: int) -> bool:
    """Whether versions in between differ by additional types only.

    The direction does not matter: all types of the older version are still allowed.
    """
    low, high = sorted((source, target))
    steps = sorted({since(op, version) or 0 for version in range(low, high + 1)})
    if 0 in steps or not usable(op, target):
        return False
    definition = [schema(op, version) for version in steps]
    return all(
        _signature(before) == _signature(after) and _allows(after, before)
        for before, after in itertools.pairwise(definition)
    )


@lru_cache(maxsize=8192)
def extends(op: str, source: int, target: int) -> bool:
    """Whether a model of opset `source` means the same by the definition of the newer `target`.

    Attributes may be added, those of `source` keep their defaults; inputs and outputs may be added
    behind its own. No table of special values loses a row.
    """
    old, new = schema(op, source), schema(op, target)
    if old is None or new is None:
        return False
    attributes, newer = (_signature(definition)[0] for definition in (old, new))
    sides = ((old.inputs, new.inputs), (old.outputs, new.outputs))
    return (
        attributes.items() <= newer.items()
        and all(len(before) <= len(after) for before, after in sides)
        and set(special_values.rows(op, source)) <= set(special_values.rows(op, target))
    )


def _signature(definition: Any) -> tuple[Any, ...]:
    attributes = {
        name: (attribute.type, attribute.required, attribute.default_value.SerializeToString())
        for name, attribute in definition.attributes.items()
    }
    sides = [
        [(parameter.name, parameter.option) for parameter in side]
        for side in (definition.inputs, definition.outputs)
    ]
    return (attributes, *sides, definition.min_input, definition.max_input)


def _allows(after: Any, before: Any) -> bool:
    sides = ((after.inputs, before.inputs), (after.outputs, before.outputs))
    return all(
        set(old.types) <= set(new.types)
        for news, olds in sides
        for new, old in zip(news, olds, strict=True)
    )
