"""Writes state dicts as PyTorch before release 1.6 saved them, without PyTorch."""

from __future__ import annotations

import io
import pickle
import struct
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from runners.engine.starter.torch_weights import MAGIC

STORAGES = {"float32": "FloatStorage", "int64": "LongStorage"}


class Name:
    """What a pickle names as module and name, and reads as whatever lies there."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        raise AssertionError("a name is only written")


class Storage(NamedTuple):
    key: str
    array: np.ndarray


class View:
    """A tensor to pickle: a view of a storage."""

    def __init__(self, key, array):
        self.key, self.array = key, array

    def __reduce__(self):
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        storage = Storage(self.key, self.array)
        arguments = (storage, 0, self.array.shape, strides, False, OrderedDict())
        return Name("torch._utils", "_rebuild_tensor_v2"), arguments


class Pickler(pickle._Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Storage):
            kind = Name("torch", STORAGES[thing.array.dtype.name])
            return ("storage", kind, thing.key, "cpu", thing.array.size, None)
        return None

    def save_name(self, thing):
        self.write(b"c%s\n%s\n" % (thing.module.encode(), thing.name.encode()))

    dispatch = pickle._Pickler.dispatch | {Name: save_name}


def dump(tensors, *, content=None, counts=None):
    """The file of these arrays, whose strides are kept; `content` replaces storages' bytes."""
    whole = io.BytesIO()
    views = OrderedDict(
        (name, View(str(at), one)) for at, (name, one) in enumerate(tensors.items())
    )
    keys = [view.key for view in views.values()]
    for value in (MAGIC, 1001, {"little_endian": True}, views, keys):
        Pickler(whole, 2).dump(value)
    for view in views.values():
        array = view.array
        flat = np.lib.stride_tricks.as_strided(array, (array.size,), (array.itemsize,))
        whole.write(struct.pack("<q", (counts or {}).get(view.key, array.size)))
        whole.write((content or {}).get(view.key, flat.tobytes()))
    return whole.getvalue()
