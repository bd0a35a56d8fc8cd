"""Sizes that a user chooses for the inputs of a model, checked against their declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Declared = Sequence[int | str | None] | None

_MOST_TEXT = 300


class UnfitShapeError(ValueError):
    """A chosen size contradicts the model; ``field`` is the JSON pointer of the choice."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def sizes_of(
    ports: Mapping[str, Declared],
    sizes: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
) -> dict[str, int]:
    """The sizes of named dimensions, with those that follow from whole shapes of inputs.

    ``ports`` are the declared shapes of all inputs. Raises UnfitShapeError.
    """
    named = {dim for declared in ports.values() for dim in declared or () if isinstance(dim, str)}
    for name in sizes:
        if name not in named:
            words = _unknown("dynamic dimension", name, named)
            raise UnfitShapeError(_pointer("shapes", name), words)
    result = dict(sizes)
    for name, shape in shapes.items():
        field = _pointer("input_shapes", name)
        if name not in ports:
            raise UnfitShapeError(field, _unknown("input", name, ports))
        declared = ports[name]
        if declared is None:
            continue
        conflict = f"the shape {_joined(shape)} contradicts the input {name[:100]}"
        if len(shape) != len(declared):
            words = f"{conflict}, which is declared as {_joined(declared) or 'a scalar'}"
            raise UnfitShapeError(field, words[:_MOST_TEXT])
        for dim, size in zip(declared, shape, strict=True):
            expected = result.setdefault(dim, size) if isinstance(dim, str) else dim
            if expected is not None and expected != size:
                why = (
                    f"{dim} is {expected}" if isinstance(dim, str) else f"it is {_joined(declared)}"
                )
                raise UnfitShapeError(field, f"{conflict}: {why}"[:_MOST_TEXT])
    return result


def _unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    names = ", ".join(sorted(choices)) or "none"
    return f"the model has no {kind} named {name[:100]!r}; it has: {names}"[:_MOST_TEXT]


def _joined(shape: Sequence[int | str | None]) -> str:
    return "x".join("?" if size is None else str(size) for size in shape)


def _pointer(option: str, name: str) -> str:
    escaped = name.replace("~", "~0").replace("/", "~1")
    return f"/{option}/{escaped}"[:_MOST_TEXT]
