"""Models and files in memory that are sent to a hub as files.

A model is recognised by its protobuf type, so that the client does not import onnx for it.
"""

from __future__ import annotations

import io
import posixpath
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from hub.client import loading
from hub.protocol import phrases, problems

if TYPE_CHECKING:
    from onnx import ModelProto

    # A model, or files by their paths in the version.
    Contents = ModelProto | Mapping[str, bytes] | Mapping[str, ModelProto | bytes]

MODEL = "model.onnx"
MOST_NAMES = 10
# The largest message of protobuf.
LARGEST_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class InMemory:
    """A file in memory: its path in the version, and its bytes."""

    source: str
    content: bytes

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return len(self.content)

    def open(self) -> io.BytesIO:
        """Open the content as a file."""
        return io.BytesIO(self.content)


def is_model(content: object) -> TypeGuard[ModelProto]:
    """Say whether something is an `onnx.ModelProto`."""
    return getattr(getattr(content, "DESCRIPTOR", None), "full_name", "") == "onnx.ModelProto"


def files_of(contents: Contents) -> dict[str, InMemory]:
    """Return a model, or files by their paths, as files; a model alone is `model.onnx`.

    Raise `TooLarge` for a model that no file can hold, and `InvalidRequest` for anything else.
    """
    return {path: InMemory(path, _bytes(path, content)) for path, content in _named(contents)}


def check_data(sources: Iterable[object], paths: Collection[str]) -> None:
    """Raise `ModelMissing` for a model in memory whose external data is not among the paths."""
    models = [
        (posixpath.dirname(path), content)
        for source in sources
        if is_model(source) or isinstance(source, Mapping)
        for path, content in _named(source)
        if is_model(content)
    ]
    needed = {
        posixpath.normpath(posixpath.join(folder, location))
        for folder, model in models
        for location in loading.locations_of(model)
    }
    if missing := sorted(needed.difference(paths)):
        names = phrases.enumeration(missing, MOST_NAMES)
        raise problems.ModelMissing(
            f"The model keeps tensors in other files, which were not given: {names}. Push the "
            "folder that has them, or load the model with its external data first."
        )


def _named(contents: Contents) -> Iterable[tuple[str, object]]:
    if is_model(contents):
        return [(MODEL, contents)]
    if isinstance(contents, Mapping):
        return contents.items()
    raise problems.InvalidRequest(
        f"{type(contents).__name__} cannot be pushed. Give a path, an onnx.ModelProto, or a "
        'mapping of paths to bytes, such as {"model.onnx": content}.'
    )


def _bytes(path: str, content: object) -> bytes:
    if is_model(content):
        return _serialised(path, content)
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise problems.InvalidRequest(
        f"The content of {path!r} is of type {type(content).__name__}. Give bytes or a model."
    )


def _serialised(path: str, model: ModelProto) -> bytes:
    from google.protobuf.message import EncodeError  # noqa: PLC0415  (loaded: here is a message)

    try:
        content: bytes = model.SerializeToString()
    except (EncodeError, ValueError) as error:  # what each implementation of protobuf raises
        raise _too_large(path, str(error)) from None
    if len(content) > LARGEST_BYTES:
        raise _too_large(path, f"{len(content):,} bytes")
    return content


def _too_large(path: str, reason: str) -> problems.TooLarge:
    return problems.TooLarge(
        f"{path} is a model that protobuf cannot write as one file, which may have 2 GB at most "
        f"({reason}). Write it with external data, onnx.save_model(model, path, "
        "save_as_external_data=True), and push the folder."
    )
