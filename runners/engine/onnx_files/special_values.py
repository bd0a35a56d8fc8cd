"""Tables of special values in the definitions of ONNX operators, by operator set.

The definition of `Cast` states for each 8-bit float what becomes of zeros, NaN and infinities. The
tables changed between operator sets: infinity cast to FLOAT8E4M3FNUZ gives NaN until 23, and the
largest value from 24 on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import onnx

# Head of the first column of the tables by 8-bit type. The first table is about casts that
# saturate, the second about the others.
_HEAD = "x"
_TYPES = ("E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ")


@lru_cache(maxsize=1024)
def rows(operator: str, opset: int) -> tuple[str, ...]:
    """The rows of all tables in an operator's definition; empty without one."""
    try:
        definition = onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        return ()
    lines = (line.strip() for line in (definition.doc or "").splitlines())
    return tuple(re.sub(r"\s+", " ", line) for line in lines if line.startswith("|"))


@lru_cache(maxsize=256)
def of_cast(opset: int, type_name: str, *, saturates: bool) -> Mapping[str, str]:
    """What `Cast` makes of special values of floats, such as `Inf`: `FLT_MAX`.

    `type_name` is that of TensorProto.DataType. Empty where the definition states nothing.
    """
    tables: list[dict[str, str]] = []
    column = 0
    for row in rows("Cast", opset):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if cells[0] == _HEAD:
            names = [f"FLOAT8{name}" for name in cells[1:] if name in _TYPES]
            column = names.index(type_name) + 1 if type_name in names else 0
            tables.append({})
        elif tables and column:
            tables[-1][cells[0]] = cells[column]
    place = 0 if saturates else 1
    return tables[place] if place < len(tables) else {}
