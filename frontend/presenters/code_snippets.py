"""Code that loads a model and runs it once, with the names, types and shapes of its inputs.

Each way to use a model has a template below `templates/code`. Free sizes are those that the card
declares, else 1, and named in a comment. An input has the one value that its card declares, else
zeros. An input that is no tensor is left to the reader, and said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from frontend.parts import text_templates
from frontend.presenters import facts
from hub.protocol import ports
from hub.protocol.facts import Port, is_cache

if TYPE_CHECKING:
    from hub.protocol.inputs import DeclaredInput

# Inputs that are written out; models with more get a comment.
MOST_INPUTS = 8
LONGEST_NAME = 200
# Elements of an input that are written one by one where a language has no word for filling.
MOST_ELEMENTS = 64


class Types(NamedTuple):
    """A type of ONNX in the languages; empty where one has no such tensors."""

    numpy: str = ""
    javascript: str = ""
    csharp: str = ""
    java_buffer: str = ""
    java: str = ""


_TYPES = {
    "float32": Types("np.float32", "Float32Array", "float", "FloatBuffer", "float"),
    "float64": Types("np.float64", "Float64Array", "double", "DoubleBuffer", "double"),
    "float16": Types("np.float16", "Uint16Array", "Float16"),
    "int64": Types("np.int64", "BigInt64Array", "long", "LongBuffer", "long"),
    "int32": Types("np.int32", "Int32Array", "int", "IntBuffer", "int"),
    "int16": Types("np.int16", "Int16Array", "short", "ShortBuffer", "short"),
    "int8": Types("np.int8", "Int8Array", "sbyte", "ByteBuffer", "byte"),
    "uint8": Types("np.uint8", "Uint8Array", "byte"),
    "bool": Types("np.bool_", "Uint8Array", "bool"),
    "string": Types("np.str_"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """What code is written for: a reference, the files that load, and the address of the hub."""

    ref: str
    repository: str
    number: int
    # Paths of the files, the entry first.
    paths: tuple[str, ...]
    inputs: tuple[Port, ...]
    hub: str
    is_open: bool = True
    is_derived: bool = False
    # What the card declares of inputs.
    declared: Sequence[DeclaredInput] = ()
    # The names of all files of the version, without folders.
    names: frozenset[str] = frozenset()

    def files(self) -> list[dict[str, str]]:
        """Path, name and address of each file."""
        folder = f"{self.hub}/models/{self.repository}/v/{self.number}/files"
        return [
            {"path": path, "name": path.rpartition("/")[2], "url": f"{folder}/{quote(path)}"}
            for path in self.paths
        ]


@dataclass(frozen=True, slots=True)
class Language:
    """A way to use a model in code: its name, its title, and the template of its text.

    ``element`` is the field of `Types` without which it cannot be given an input. Derived files
    have no address in some ways; those are not ``is_for_derived``. A way that ``needs`` a file of
    this name is for versions that have it, and comes first there.
    """

    value: str
    title: str
    template: str
    element: str = "numpy"
    is_for_derived: bool = True
    needs: str = ""


languages = ports.Port(Language)


@dataclass(frozen=True, slots=True)
class Input:
    """An input as a template writes it: a tensor of zeros, or of ``number`` where that is set.

    ``dtype`` is empty for what is no tensor, ``signature`` says type and shape in words,
    ``shape`` the sizes, and ``is_free`` whether the file leaves one of them open.
    """

    name: str
    dtype: str
    types: Types
    signature: str
    sizes: tuple[int, ...]
    shape: str
    count: int
    is_free: bool
    number: int | float | None = None

    @property
    def elements(self) -> str:
        """The numbers one by one; empty for zeros, and for more than `MOST_ELEMENTS`."""
        if self.number is None or self.count > MOST_ELEMENTS:
            return ""
        return ", ".join([f"{self.number}{'f' * (self.dtype == 'float32')}"] * self.count)


def _input(port: Port, declared: DeclaredInput | None) -> Input:
    kind, own = port.type.tensor_dtype, port.type.sizes
    with_declared = declared.sizes(own) if declared else own
    # A cache of earlier tokens is empty before the first.
    free = 0 if is_cache(port.name, own) else 1
    sizes = tuple(
        (free if axis else 1) if size is None else size
        for axis, size in enumerate(with_declared or ())
    )
    return Input(
        name=port.name,
        dtype=kind,
        types=_TYPES.get(kind, Types()),
        signature=facts.signature(port),
        sizes=sizes,
        shape=", ".join(map(str, sizes)),
        count=math.prod(sizes),
        is_free=own is None or None in own,
        number=_number(kind, declared.constant) if declared else None,
    )


def _number(kind: str, constant: float | str | None) -> int | float | None:
    """The value of an input that has a single one, of a type that every language writes alike."""
    if not isinstance(constant, float) or constant == 0 or not math.isfinite(constant):
        return None
    if kind in ("int32", "int64"):
        return int(constant)
    return constant if kind in ("float32", "float64") else None


def of(target: Target) -> tuple[dict[str, Any], ...]:
    """A snippet for each way to use a model, after special ones the hub's own client first."""
    return tuple(
        {
            "value": language.value,
            "title": language.title,
            "text": _write(language, target),
        }
        for language in sorted(languages, key=lambda language: not language.needs)
        if language.is_for_derived or not target.is_derived
        if not language.needs or language.needs in target.names
    )


def _write(language: Language, target: Target) -> str:
    inputs: list[Input] = []
    remarks: list[str] = []
    declarations = {declared.name: declared for declared in target.declared}
    for port in target.inputs[:MOST_INPUTS]:
        row = _input(port, declarations.get(port.name))
        if getattr(row.types, language.element) and len(row.name) <= LONGEST_NAME:
            inputs.append(row)
        else:
            name, signature = map(text_templates.comment, (row.name, row.signature))
            remarks.append(f"{name}: {signature}")
    if len(target.inputs) > MOST_INPUTS:
        remarks.append(f"and {len(target.inputs) - MOST_INPUTS} more inputs")
    files = target.files()
    text = text_templates.render(
        language.template,
        target=target,
        files=files,
        weights=files[1:],
        inputs=inputs,
        remarks=remarks,
    )
    return text.removesuffix("\n")


languages.register(
    "frontend",
    Language("python", "Python", "code/python.txt"),
    Language("onnxruntime", "ONNX Runtime", "code/onnxruntime.txt"),
    Language("javascript", "JavaScript", "code/javascript.txt", "javascript"),
    Language("csharp", "C#", "code/csharp.txt", "csharp"),
    Language("java", "Java", "code/java.txt", "java"),
    Language("curl", "curl", "code/curl.txt"),
    Language("huggingface", "huggingface_hub", "code/huggingface.txt"),
    Language("cli", "Command line", "code/cli.txt"),
)
