"""Reads a state dict that PyTorch saved before release 1.6, without PyTorch.

Such a file is five pickles (a mark, the protocol, facts of the system, the state dict, the keys of
its storages), then for each storage its number of elements as int64 and their bytes: the legacy
format of torch/serialization.py. The unpickler makes dicts, tensors and names of storages, and
nothing else: a pickle that names another callable is refused.
"""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_DTYPES = {"FloatStorage": "<f4", "LongStorage": "<i8"}
_REBUILD = ("torch._utils", "_rebuild_tensor_v2")
_ORDERED = ("collections", "OrderedDict")
_MOST_STORAGES = 100_000


class WeightsError(Exception):
    """The file is no state dict that this reader knows; the message says why."""


@dataclass(frozen=True, slots=True)
class _Storage:
    """A storage that the pickle names: its key, its type and its number of elements."""

    key: str
    dtype: str
    elements: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage: offset, shape and strides count elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuild(
    storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int], *_: object
) -> _Tensor:
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, _Storage) or not all(
        isinstance(number, int) and number >= 0 for number in numbers
    ):
        raise WeightsError("A tensor of the file is no view of a storage.")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _Unpickler(pickle.Unpickler):
    """An unpickler of dicts, lists, numbers, texts, tensors and storages."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == _REBUILD:
            return _rebuild
        if (module, name) == _ORDERED:
            return OrderedDict
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        raise WeightsError(f"The file wants to make {module}.{name}, which is no tensor.")

    def persistent_load(self, pid: object) -> _Storage:
        match pid:
            case ("storage", str(dtype), str(key), _, int(elements), None) if elements >= 0:
                return _Storage(key, dtype, elements)
        raise WeightsError("The file names something else than a storage.")


def read(reader: BinaryIO) -> dict[str, npt.NDArray[np.generic]]:
    """The tensors of a file by name; raises WeightsError. Memory: twice the size of the file."""
    if _load(reader) != MAGIC or _load(reader) != _PROTOCOL:
        raise WeightsError("The file is no state dict of PyTorch before release 1.6.")
    _load(reader)
    tensors, keys = _load(reader), _load(reader)
    if not isinstance(tensors, dict) or not isinstance(keys, list) or len(keys) > _MOST_STORAGES:
        raise WeightsError("The file holds no dict of tensors.")
    views = {str(name): view for name, view in tensors.items() if isinstance(view, _Tensor)}
    storages = {view.storage.key: view.storage for view in views.values()}
    content = {key: _elements(reader, storages.get(key)) for key in keys}
    return {name: _array(view, content) for name, view in views.items()}


def _load(reader: BinaryIO) -> object:
    try:
        return _Unpickler(reader).load()
    except WeightsError:
        raise
    except Exception as error:  # noqa: BLE001 - a pickle of a stranger may end in any way
        raise WeightsError(f"The file cannot be read: {type(error).__name__}.") from None


def _elements(reader: BinaryIO, storage: _Storage | None) -> npt.NDArray[np.generic]:
    head = reader.read(8)
    count = struct.unpack("<q", head)[0] if len(head) == 8 else -1
    if storage is None or count != storage.elements:
        raise WeightsError("The file holds another number of elements than it names.")
    dtype = np.dtype(storage.dtype)
    content = reader.read(count * dtype.itemsize)
    if len(content) != count * dtype.itemsize:
        raise WeightsError("The file ends within its weights.")
    return np.frombuffer(content, dtype)


def _array(
    view: _Tensor, content: Mapping[str, npt.NDArray[np.generic]]
) -> npt.NDArray[np.generic]:
    base = content.get(view.storage.key)
    steps = [(size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True)]
    if base is None or (0 not in view.shape and view.offset + sum(steps) >= view.storage.elements):
        raise WeightsError("A tensor of the file lies outside of its storage.")
    strides = [stride * base.itemsize for stride in view.strides]
    array = np.lib.stride_tricks.as_strided(base[view.offset :], view.shape, strides)
    return np.ascontiguousarray(array).reshape(view.shape)
