"""Test data beside a model: which files they are, how they are read, and how they are written.

The layout is the one of the ONNX backend tests: `test_data_set_*/input_k.pb` and `output_k.pb`. A
tensor that points outside its file is refused, and an archive is read without pickle.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from hub.protocol import inputs as declarations

# An array, a sequence, a map, or an optional without a value. Text: object arrays of str.
Value: TypeAlias = "np.ndarray[Any, Any] | list[Any] | dict[Any, Any] | None"

_PREFIX = "test_data_set_"
_FOLDER = re.compile(_PREFIX + r"[\w.-]{1,60}")
_FILE = re.compile(r"(input|output)_(\d{1,5})\.pb")
_ARCHIVES = {"inputs.npz": "input", "outputs.npz": "output"}
_ARRAYS = declarations.ARRAYS
_UNFIT = re.compile(r"[^\w.-]+")


class UnreadableDataError(ValueError):
    """A file of a data set is not what its name says; the message names it."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Values by the names of the graph's inputs and outputs; either may be incomplete.

    `origin` is "bundled", "generated" or "owner".
    """

    name: str
    origin: str
    inputs: dict[str, Value] = field(default_factory=dict)
    outputs: dict[str, Value] = field(default_factory=dict)


def paths(files: Iterable[str], entry: str) -> list[str]:
    """List the version paths of the test data beside the entry; looks at names only."""
    home = PurePosixPath(entry).parent
    matching = []
    for path in files:
        place = PurePosixPath(path)
        fits = _FILE.fullmatch(place.name) or place.name in _ARCHIVES
        if fits and _FOLDER.fullmatch(place.parent.name) and place.parent.parent == home:
            matching.append(path)
    return sorted(matching)


def examples(declared: Any, files: Iterable[str]) -> list[str]:
    """List the version paths of the arrays that a card's key `inputs` names as examples."""
    named = {
        declared_input.example
        for declared_input in declarations.parse(declared)
        if declared_input.example
    }
    return sorted(path for path in files if path in named and path.lower().endswith(_ARRAYS))


def read_example(file: Path, port: onnx.ValueInfoProto) -> Value:
    """Read an example of one input: .npy, .npz, or .pb. Raises UnreadableDataError."""
    if file.suffix.lower() == ".pb":
        return _to_value(_parse(file.name, file.read_bytes(), port.type))
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded as archive:
            name = port.name if port.name in archive.files else archive.files[0]
            array: np.ndarray[Any, Any] = archive[name]
            return array
    except (ValueError, OSError, EOFError, IndexError, zipfile.BadZipFile) as error:
        raise UnreadableDataError(f"{file.name}: {error}") from None


def read(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    """Read every data set in the folder. Raises UnreadableDataError; for children only."""
    homes = [home for home in folder.iterdir() if home.is_dir() and _FOLDER.fullmatch(home.name)]
    return [_read_one(home, model) for home in sorted(homes, key=_natural)]


def _natural(home: Path) -> list[tuple[bool, int, str]]:
    return [
        (not part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in re.split(r"(\d+)", home.name)
    ]


def _read_one(home: Path, model: onnx.ModelProto) -> DataSet:
    ports = {"input": required_inputs(model), "output": list(model.graph.output)}
    values: dict[str, dict[str, Value]] = {"input": {}, "output": {}}
    raw: dict[str, dict[int, bytes]] = {"input": {}, "output": {}}
    for file in sorted(home.iterdir()):
        match = _FILE.fullmatch(file.name)
        if match:
            raw[match[1]][int(match[2])] = file.read_bytes()
        elif file.name in _ARCHIVES:
            side = _ARCHIVES[file.name]
            values[side] |= _read_archive(file, [port.name for port in ports[side]])
    if len(raw["input"]) > len(ports["input"]):
        ports["input"] = list(model.graph.input)
    for side, raws in raw.items():
        values[side] |= _read_protos(home.name, side, raws, ports[side])
    return DataSet(home.name, "bundled", values["input"], values["output"])


def required_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """List the graph's inputs that no initializer gives a default."""
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [port for port in graph.input if port.name not in stored]


def _read_protos(
    home: str, side: str, raws: dict[int, bytes], ports: list[onnx.ValueInfoProto]
) -> dict[str, Value]:
    if raws and max(raws) >= len(ports):
        # The runner of the ONNX tests, too, takes what the graph has no place for as an error.
        place = f"{home}/{side}_{max(raws)}.pb"
        raise UnreadableDataError(f"{place}: the graph has only {len(ports)} {side}s.")
    protos = {k: _parse(f"{home}/{side}_{k}.pb", raw, ports[k].type) for k, raw in raws.items()}
    names = {port.name for port in ports}
    proto_names = [proto.name for proto in protos.values()]
    # Names decide only where all are known: many sets carry names of another export.
    named = len(set(proto_names)) == len(proto_names) and names.issuperset(proto_names)
    values = {}
    for k, proto in protos.items():
        try:
            values[proto.name if named else ports[k].name] = _to_value(proto)
        except (ValueError, TypeError, IndexError, UnicodeDecodeError) as error:
            raise UnreadableDataError(f"{home}/{side}_{k}.pb: {error}") from None
    return values


def _parse(place: str, raw: bytes, kind: onnx.TypeProto) -> Any:
    shapes = {
        "sequence_type": onnx.SequenceProto,
        "optional_type": onnx.OptionalProto,
        "map_type": onnx.MapProto,
    }
    proto = shapes.get(kind.WhichOneof("value"), onnx.TensorProto)()
    try:
        proto.ParseFromString(raw)
    except DecodeError:
        raise UnreadableDataError(f"{place} is not a {type(proto).__name__}.") from None
    _refuse_external(place, proto)
    return proto


def _refuse_external(place: str, message: Any) -> None:
    """Walk every tensor in the message; test data must not read other files."""
    if message.DESCRIPTOR.name == "TensorProto":
        if message.external_data or message.data_location == message.EXTERNAL:
            raise UnreadableDataError(
                f"{place} points to data outside the file, which is not allowed."
            )
        return
    for kind, value in message.ListFields():
        if kind.message_type is not None:
            # A single message is not iterable; a repeated one has a length.
            for part in value if hasattr(value, "__len__") else (value,):
                _refuse_external(place, part)


def _to_value(proto: Any) -> Value:
    value: Value = {
        "SequenceProto": lambda proto: numpy_helper.to_list(proto) if proto.elem_type else [],
        "OptionalProto": numpy_helper.to_optional,
        "MapProto": numpy_helper.to_dict,
        "TensorProto": numpy_helper.to_array,
    }[proto.DESCRIPTOR.name](proto)
    return value


def _read_archive(file: Path, names: list[str]) -> dict[str, Value]:
    place = f"{file.parent.name}/{file.name}"
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UnreadableDataError(f"{place}: {error}") from None
    if not set(arrays) <= set(names):
        by_place = {f"arr_{k}": name for k, name in enumerate(names)}
        if not set(arrays) <= set(by_place):
            raise UnreadableDataError(f"{place} contains names that the graph does not have.")
        arrays = {by_place[key]: array for key, array in arrays.items()}
    return dict(arrays)


def write(folder: Path, dataset: DataSet, model: onnx.ModelProto) -> None:
    """Write one data set to `folder`/<its name>, in the layout that `read` reads.

    A name that does not begin as a data set's folder must gets that beginning.
    """
    name = _UNFIT.sub("_", dataset.name)
    home = folder / (name if name.startswith(_PREFIX) else f"{_PREFIX}{name}")
    home.mkdir(parents=True, exist_ok=True)
    inputs = required_inputs(model)
    if not {port.name for port in inputs}.issuperset(dataset.inputs):
        inputs = list(model.graph.input)
    sides = (("input", inputs, dataset.inputs), ("output", model.graph.output, dataset.outputs))
    for side, ports, values in sides:
        for k, port in enumerate(ports):
            if port.name in values:
                proto = _to_proto(values[port.name], port.name, port.type)
                if proto is not None:
                    (home / f"{side}_{k}.pb").write_bytes(proto.SerializeToString())


def _to_proto(value: Value, name: str, kind: onnx.TypeProto) -> Any:
    if kind.WhichOneof("value") == "optional_type":
        return numpy_helper.from_optional(value, name)
    if value is None:
        return None
    if isinstance(value, list):
        return numpy_helper.from_list(value, name)
    if isinstance(value, dict):
        return numpy_helper.from_dict(value, name)
    return numpy_helper.from_array(np.asarray(value), name)
