"""Inputs as files between the child that makes them and those that are timed with them.

A timed process imports this and nothing of what made the values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_MANIFEST, _ARRAYS = "inputs.json", "inputs.npz"


def write(folder: Path, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Keep the values for the processes; answers each port's name, element type and shape."""
    import numpy as np  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    ports, arrays = [], {}
    for place, (name, value) in enumerate(values.items()):
        kind = "str" if value.dtype.kind in "OUS" else value.dtype.name
        ports.append({"name": name, "dtype": kind, "shape": [int(side) for side in value.shape]})
        stored = value
        if kind == "str":
            stored = value.astype(np.str_)
        elif not value.dtype.isbuiltin:
            stored = np.ascontiguousarray(value).reshape(value.shape).view(np.uint8)
            if value.dtype.itemsize == 2:
                stored = np.ascontiguousarray(value).reshape(value.shape).view(np.uint16)
        arrays[f"a{place}"] = stored
    np.savez(folder / _ARRAYS, **arrays)
    (folder / _MANIFEST).write_text(json.dumps(ports), encoding="utf-8")
    return ports


def read(folder: Path) -> dict[str, Any]:
    """Read back what `write` kept, element types that numpy lacks included."""
    import numpy as np  # noqa: PLC0415

    ports = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    values = {}
    with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
        for place, port in enumerate(ports):
            value = arrays[f"a{place}"]
            if port["dtype"] == "str":
                value = value.astype(object)
            elif value.dtype.name != port["dtype"]:
                import ml_dtypes  # noqa: PLC0415 - comes with onnx

                value = value.view(getattr(ml_dtypes, port["dtype"]))
            values[port["name"]] = value
    return values
