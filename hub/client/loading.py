"""ONNX models read from verified blobs, external data included.

A model names its external data by path; here such a path is looked up in the version's own list of
files and nowhere else, so no model can read another file of this machine.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.client.cache import RemoteFile, Resolved
from hub.protocol import problems

if TYPE_CHECKING:
    import onnx


def entry_of(resolved: Resolved) -> RemoteFile:
    """Return the file that a loader opens; raise `ModelMissing` when the version has none."""
    by_path = {file.path: file for file in resolved.files}
    if resolved.entry in by_path:
        return by_path[resolved.entry]
    models = [file for file in resolved.files if file.path.endswith(".onnx")]
    if len(models) == 1:
        return models[0]
    names = ", ".join(file.path for file in models[:10]) or "none"
    raise problems.ModelMissing(
        f"{resolved.ref} does not state which file to load (.onnx files: {names}). "
        "Name a variant, or use hub.download and choose a file."
    )


def read_model(
    resolved: Resolved, bring: Callable[[Iterable[RemoteFile]], Mapping[str, Path]]
) -> onnx.ModelProto:
    """Return the model; `bring` puts files into the cache and says where their blobs lie.

    Only the entry file and the external data it names are fetched.
    """
    model, sources = read_graph(resolved, bring)
    blobs = bring(list(sources.values()))
    for tensor in _outside(model):
        source = sources[_external_fields(tensor).get("location", "")]
        _fill(tensor, blobs[source.sha256], source)
    return model


def read_graph(
    resolved: Resolved, bring: Callable[[Iterable[RemoteFile]], Mapping[str, Path]]
) -> tuple[onnx.ModelProto, dict[str, RemoteFile]]:
    """Return the model without its external data, and the files of that by their locations.

    A location is what the model names, relative to its own folder. Only the entry is fetched.
    """
    import onnx  # noqa: PLC0415  (imported at first use: `import hub` stays light)
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    entry = entry_of(resolved)
    path = bring([entry])[entry.sha256]
    try:
        model = onnx.load_model(path, load_external_data=False)
    except DecodeError:
        raise problems.NotOnnx(
            f"{entry.path} of {resolved.ref} is not an ONNX model that the installed onnx "
            f"{onnx.__version__} can read. Use hub.download to look at its files."
        ) from None
    by_path = {file.path: file for file in resolved.files}
    return model, {
        location: _data_file(location, entry, by_path, resolved) for location in locations_of(model)
    }


def locations_of(model: onnx.ModelProto) -> set[str]:
    """Return the paths of a model's external data, relative to its own folder."""
    return {_external_fields(tensor).get("location", "") for tensor in _outside(model)}


def _outside(model: onnx.ModelProto) -> list[onnx.TensorProto]:
    return [tensor for tensor in _tensors(model) if tensor.data_location == type(tensor).EXTERNAL]


def _data_file(
    location: str, entry: RemoteFile, by_path: Mapping[str, RemoteFile], resolved: Resolved
) -> RemoteFile:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), location))
    if path not in by_path:
        raise problems.ModelMissing(
            f"{entry.path} of {resolved.ref} keeps data in {location[:200]!r}, "
            "which is not a file of that version. Its publisher must add it."
        )
    return by_path[path]


def _fill(tensor: onnx.TensorProto, blob: Path, source: RemoteFile) -> None:
    fields = _external_fields(tensor)
    try:
        offset = int(fields.get("offset") or 0)
        length = int(fields["length"]) if fields.get("length") else source.size - offset
    except ValueError:
        offset, length = -1, -1
    if offset < 0 or length < 0 or offset + length > source.size:
        raise problems.NotOnnx(
            f"The tensor {tensor.name[:200]!r} points outside {source.path}. "
            "The model is damaged; its publisher must export it again."
        )
    with blob.open("rb") as reader:
        reader.seek(offset)
        tensor.raw_data = reader.read(length)
    tensor.data_location = type(tensor).DEFAULT
    del tensor.external_data[:]


def _external_fields(tensor: onnx.TensorProto) -> dict[str, str]:
    return {item.key: item.value for item in tensor.external_data}


def _tensors(model: onnx.ModelProto) -> Iterator[Any]:
    graphs = [model.graph]
    for training in model.training_info:
        graphs += [training.initialization, training.algorithm]
    nodes = [node for function in model.functions for node in function.node]
    while graphs or nodes:
        while graphs:
            graph = graphs.pop()
            yield from graph.initializer
            for sparse in graph.sparse_initializer:
                yield from (sparse.values, sparse.indices)
            nodes.extend(graph.node)
        for attribute in nodes.pop().attribute if nodes else ():
            yield from (attribute.t, *attribute.tensors)
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                yield from (sparse.values, sparse.indices)
            graphs += [attribute.g, *attribute.graphs]
