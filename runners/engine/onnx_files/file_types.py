"""Recognises, by first bytes, the files that people upload in place of a model.

Each has its own finding: what it is, how it came about, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from runners.engine.onnx_files import wire
from runners.engine.reports import Finding

HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _Kind:
    code: str
    message: str
    marks: tuple[bytes, ...]
    offset: int = 0


_POINTER = _Kind(
    "git-lfs-pointer",
    "This is a Git LFS pointer, a small text file in place of the model. Get the model "
    "itself with `git lfs pull` (or download the raw file) and upload that.",
    (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"),
)
_KINDS = (
    _POINTER,
    _Kind(
        "pickle-file",
        "This is a Python pickle, probably a PyTorch or scikit-learn checkpoint under another "
        "name. The hub never loads pickles. Export the model (torch.onnx.export, skl2onnx) and "
        "upload "
        "that.",
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    ),
    _Kind(
        "archive-file",
        "This is a compressed archive. Unpack it and upload the .onnx file and its data files.",
        (
            b"PK\x05\x06",
            b"\x1f\x8b",
            b"BZh",
            b"\xfd7zXZ\x00",
            b"\x28\xb5\x2f\xfd",
            b"7z\xbc\xaf\x27\x1c",
            b"Rar!",
        ),
    ),
    _Kind(
        "archive-file",
        "This is a tar archive. Unpack it and upload the .onnx file and its data files.",
        (b"ustar",),
        257,
    ),
    _Kind(
        "hdf5-file",
        "This is an HDF5 file, probably Keras weights. Convert the model with tf2onnx or "
        "keras.Model.export and upload the .onnx file.",
        (b"\x89HDF\r\n\x1a\n",),
    ),
    _Kind(
        "tflite-file",
        "This is a TensorFlow Lite model. Convert it with `python -m tf2onnx.convert --tflite` and "
        "upload the .onnx file.",
        (b"TFL3",),
        4,
    ),
    _Kind(
        "ort-format-file",
        "This is a model in ONNX Runtime's own format (.ort), which only that runtime can read. "
        "Upload the .onnx file that it was made from.",
        (b"ORTM",),
        4,
    ),
    _Kind(
        "gguf-file",
        "This is a GGUF file: weights for llama.cpp, without an ONNX graph. Export the original "
        "model to ONNX and upload that.",
        (b"GGUF",),
    ),
    _Kind(
        "numpy-file",
        "This is a NumPy array, not a model. Upload the .onnx file that uses it.",
        (b"\x93NUMPY",),
    ),
    _Kind(
        "foreign-file",
        "This is an image, a document or a program, not a model. Check that the right file was "
        "chosen.",
        (b"\x89PNG\r\n", b"\xff\xd8\xff", b"%PDF-", b"\x7fELF", b"GIF8", b"MZ\x90"),
    ),
)
_TORCH_ZIP = Finding(
    "pickle-file",
    "error",
    (
        "This is a zip archive holding a Python pickle, as torch.save writes it. The hub never "
        "loads pickles. Export the model with torch.onnx.export and upload that."
    ),
)
_ZIP = Finding(
    "archive-file",
    "error",
    "This is a zip archive. Unpack it and upload the .onnx file and its data files.",
)
_HTML = Finding(
    "html-page",
    "error",
    (
        "This is a web page, most likely a login or error page saved in place of the download. "
        "Download the model again, signed in, and check its size."
    ),
)
_JSON = Finding(
    "json-file",
    "error",
    (
        "This is JSON text: an error answer, a configuration, or a model in another form. Upload "
        "the binary .onnx file."
    ),
)
_SAFETENSORS = Finding(
    "safetensors-file",
    "error",
    (
        "This is a safetensors file: weights without a graph. Export the model to ONNX (for "
        "example with optimum) and upload that."
    ),
)
_TEXT_FORM = Finding(
    "text-form",
    "error",
    "This is a model in text form. Save it with onnx.save in the binary form and upload that.",
)
_EMPTY = Finding(
    "empty-file",
    "error",
    "The file is empty: it has no bytes. The export or the transfer failed; create the file again.",
)


def recognise(head: bytes, size: int) -> Finding | None:
    """Name what a file is if it is certainly no ONNX model; `head` is its first 4 KiB."""
    if size == 0:
        return _EMPTY
    for kind in _KINDS:
        if any(head.startswith(mark, kind.offset) for mark in kind.marks):
            return Finding(kind.code, "error", kind.message)
    if head.startswith(b"PK\x03\x04"):
        torch = b"data.pkl" in head or b"/version" in head[:200] or b".pkl" in head[:200]
        return _TORCH_ZIP if torch else _ZIP
    return _recognise_text(head, size)


def is_pointer(head: bytes) -> bool:
    """Tell whether a file that starts so is a Git LFS pointer."""
    return head.startswith(_POINTER.marks)


def _recognise_text(head: bytes, size: int) -> Finding | None:
    claimed = int.from_bytes(head[:8], "little")
    if head[8:9] == b"{" and 2 <= claimed <= size - 8:
        return _SAFETENSORS
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<script", b"<!--")):
        return _HTML
    if start[:1] in {b"{", b"["} and all(byte >= 9 for byte in head[:64]):
        return _JSON
    if start.startswith((b"ir_version:", b"<ir_version", b"< ir_version", b"<\n")):
        return _TEXT_FORM
    return None


UNKNOWN = Finding(
    "not-onnx",
    "error",
    "The file does not start like an ONNX model or any other known format. Check that it is "
    "the right file; if it is, export the model again.",
)

# The fields of ModelProto and how each is written.
_MODEL_FIELDS = {
    1: wire.VARINT,
    2: wire.BYTES,
    3: wire.BYTES,
    4: wire.BYTES,
    5: wire.VARINT,
    6: wire.BYTES,
    7: wire.BYTES,
    8: wire.BYTES,
    14: wire.BYTES,
    20: wire.BYTES,
    25: wire.BYTES,
    26: wire.BYTES,
}


def could_be_model(head: bytes) -> bool:
    """Tell whether the first field is one that an ONNX model has."""
    if not head:
        return False
    try:
        tag, _ = wire.varint(head, 0, len(head))
    except wire.MalformedError:
        return False
    return _MODEL_FIELDS.get(tag >> 3) == tag & 7
