"""Recognising, by its first bytes alone, a file that cannot be an ONNX model.

This reads a few bytes and parses nothing; whether a file really is a model is for the sandbox.
"""

from __future__ import annotations

from hub.protocol import problems

HEAD_BYTES = 512
_LFS = b"version https://git-lfs.github.com/spec/"

# First bytes, what they are, and what to do.
_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (
        _LFS,
        "a Git-LFS pointer, not the model itself",
        "Run `git lfs pull` where it came from, then upload the file again",
    ),
    (b"PK\x03\x04", "a zip archive (perhaps a PyTorch checkpoint)", "Unpack it, or export to ONNX"),
    (b"\x1f\x8b", "a gzip archive", "Unpack it and upload the .onnx file inside"),
    (b"\x80\x02", "a Python pickle", "Export the model to ONNX; pickles are never opened here"),
    (b"\x80\x03", "a Python pickle", "Export the model to ONNX; pickles are never opened here"),
    (b"\x80\x04", "a Python pickle", "Export the model to ONNX; pickles are never opened here"),
    (b"\x80\x05", "a Python pickle", "Export the model to ONNX; pickles are never opened here"),
    (b"\x89HDF", "an HDF5 file (perhaps a Keras model)", "Export the model to ONNX"),
    (b"<!DOCTYPE", "a web page", "Download the model itself; the link gave a page instead"),
    (b"<html", "a web page", "Download the model itself; the link gave a page instead"),
    (b"{", "a JSON document", "Upload the binary .onnx file"),
)


def expect_onnx(path: str, head: bytes, size: int) -> None:
    """Raise NotOnnx where ``head``, a file's first bytes, shows another known format."""
    if size == 0:
        raise problems.NotOnnx(f"{path} is empty. Upload the file again.", found="empty")
    start = head.lstrip() if head[:1] in b" \t\r\n" else head
    for signature, kind, cure in _SIGNATURES:
        if start[: len(signature)].lower() == signature.lower():
            raise problems.NotOnnx(f"{path} is {kind}. {cure}.", found=kind)
    if head[4:8] == b"TFL3":
        raise problems.NotOnnx(f"{path} is a TFLite model. Export to ONNX.", found="TFLite")
