"""Code that loads a model and runs it once, with the names, types and shapes of its inputs.

Free sizes are 1 and named in a comment. An input that is no tensor is left to the reader, and said.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from frontend.presenters import facts
from hub.protocol import ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hub.protocol.facts import Port

# Inputs that are written out; models with more get a comment.
MOST_INPUTS = 8
LONGEST_NAME = 200
# Type of ONNX -> NumPy, JavaScript's array, C#, Java's buffer and its array.
_TYPES = {
    "float32": ("np.float32", "Float32Array", "float", "FloatBuffer", "float"),
    "float64": ("np.float64", "Float64Array", "double", "DoubleBuffer", "double"),
    "float16": ("np.float16", "Uint16Array", "Float16", "", ""),
    "int64": ("np.int64", "BigInt64Array", "long", "LongBuffer", "long"),
    "int32": ("np.int32", "Int32Array", "int", "IntBuffer", "int"),
    "int16": ("np.int16", "Int16Array", "short", "ShortBuffer", "short"),
    "int8": ("np.int8", "Int8Array", "sbyte", "ByteBuffer", "byte"),
    "uint8": ("np.uint8", "Uint8Array", "byte", "", ""),
    "bool": ("np.bool_", "Uint8Array", "bool", "", ""),
    "string": ("np.str_", "", "", "", ""),
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

    def url(self, path: str) -> str:
        """The address of a file."""
        return f"{self.hub}/models/{self.repository}/v/{self.number}/files/{quote(path)}"


@dataclass(frozen=True, slots=True)
class Language:
    """A way to use a model in code: its name, its title, and what writes the lines.

    Derived files have no address in some ways; those are not ``is_for_derived``.
    """

    value: str
    title: str
    write: Callable[[Target], Iterator[str]]
    is_for_derived: bool = True


languages = ports.Port(Language)


def of(target: Target) -> tuple[dict[str, Any], ...]:
    """A snippet for each way to use a model, the hub's own client first."""
    return tuple(
        {
            "value": language.value,
            "title": language.title,
            "text": "\n".join(language.write(target)),
        }
        for language in languages
        if language.is_for_derived or not target.is_derived
    )


def _python(of: Target) -> Iterator[str]:
    yield from ("import hub", "import numpy as np", "")
    yield f"session = hub.session({of.ref!r})"
    yield from _run_in_python(of)


def _onnxruntime(of: Target) -> Iterator[str]:
    yield from ("import numpy as np", "import onnxruntime", "")
    yield f"# {_plain(of.url(of.paths[0]))}"
    yield f"session = onnxruntime.InferenceSession({_file(of)!r})"
    yield from _run_in_python(of)


def _run_in_python(of: Target) -> Iterator[str]:
    yield "outputs = session.run(None, {"
    for port in _written(of, 0):
        yield from _free(port, "    #")
        sizes = _row(port, "(", ")", ",")
        yield f"    {port.name!r}: np.zeros({sizes}, {_name(port, 0)}),"
    yield from _unwritten(of, 0, "    #")
    yield "})"


def _javascript(of: Target) -> Iterator[str]:
    yield 'import * as ort from "onnxruntime-web";'
    yield ""
    external = [
        f"{{ path: {_text(_base(path))}, data: {_text(of.url(path))} }}" for path in of.paths[1:]
    ]
    options = f", {{ externalData: [{', '.join(external)}] }}" if external else ""
    yield "const session = await ort.InferenceSession.create("
    yield f"  {_text(of.url(of.paths[0]))}{options});"
    yield "const outputs = await session.run({"
    for port in _written(of, 1):
        yield from _free(port, "  //")
        dtype, array = port.type.tensor_dtype, _name(port, 1)
        values = f"new {array}({_count(port)}), {_row(port, '[', ']')}"
        yield f"  {_text(port.name)}: new ort.Tensor({_text(dtype)}, {values}),"
    yield from _unwritten(of, 1, "  //")
    yield "});"


def _csharp(of: Target) -> Iterator[str]:
    yield "using Microsoft.ML.OnnxRuntime;"
    yield "using Microsoft.ML.OnnxRuntime.Tensors;"
    yield ""
    yield f"using var session = new InferenceSession({_text(_file(of))});"
    yield "using var outputs = session.Run(new List<NamedOnnxValue> {"
    for port in _written(of, 2):
        yield from _free(port, "    //")
        sizes = _row(port, "new[] { ", " }") if _sizes(port) else "new int[0]"
        tensor = f"new DenseTensor<{_name(port, 2)}>({sizes})"
        yield f"    NamedOnnxValue.CreateFromTensor({_text(port.name)}, {tensor}),"
    yield from _unwritten(of, 2, "    //")
    yield "});"


def _java(of: Target) -> Iterator[str]:
    yield "import ai.onnxruntime.*;"
    yield "import java.nio.*;"
    yield "import java.util.*;"
    yield ""
    yield "var env = OrtEnvironment.getEnvironment();"
    yield f"var session = env.createSession({_text(_file(of))});"
    yield "var inputs = new HashMap<String, OnnxTensor>();"
    for port in _written(of, 3):
        yield from _free(port, "//")
        buffer = f"{_name(port, 3)}.wrap(new {_name(port, 4)}[{_count(port)}])"
        shape = _row(port, "new long[] {", "}")
        yield f"inputs.put({_text(port.name)}, OnnxTensor.createTensor(env, {buffer}, {shape}));"
    yield from _unwritten(of, 3, "//")
    yield "var outputs = session.run(inputs);"


def _curl(of: Target) -> Iterator[str]:
    token = "" if of.is_open else '-H "Authorization: Bearer $HUB_TOKEN" '
    yield from (f"curl -fLO {token}{_shell(of.url(path))}" for path in of.paths)


def _huggingface(of: Target) -> Iterator[str]:
    yield "import os"
    yield ""
    yield f'os.environ["HF_ENDPOINT"] = {of.hub!r}'
    yield "from huggingface_hub import hf_hub_download"
    yield ""
    for at, path in enumerate(of.paths):
        start = "path = " if at == 0 else ""
        yield f'{start}hf_hub_download({of.repository!r}, {path!r}, revision="v{of.number}")'


def _cli(of: Target) -> Iterator[str]:
    yield f"export HUB_URL={of.hub}"
    yield f"hub get {of.ref}"


def _written(of: Target, language: int) -> list[Port]:
    """The inputs that a language can be given as a tensor of zeros."""
    return [port for port in of.inputs[:MOST_INPUTS] if _is_written(port, language)]


def _is_written(port: Port, language: int) -> bool:
    return bool(_name(port, language)) and len(port.name) <= LONGEST_NAME


def _unwritten(of: Target, language: int, mark: str) -> Iterator[str]:
    """A comment for each input that is left to the reader."""
    for port in of.inputs[:MOST_INPUTS]:
        if not _is_written(port, language):
            yield f"{mark} {_plain(port.name)}: {_plain(facts.signature(port))}"
    if len(of.inputs) > MOST_INPUTS:
        yield f"{mark} and {len(of.inputs) - MOST_INPUTS} more inputs"


def _name(port: Port, language: int) -> str:
    return _TYPES.get(port.type.tensor_dtype, ("",) * 5)[language]


def _sizes(port: Port) -> Sequence[int]:
    return [size if isinstance(size, int) else 1 for size in port.type.shape or ()]


def _row(port: Port, start: str, end: str, last: str = "") -> str:
    """The shape; ``last`` ends a row of one size."""
    sizes = _sizes(port)
    return start + ", ".join(map(str, sizes)) + (last if len(sizes) == 1 else "") + end


def _count(port: Port) -> int:
    count = 1
    for size in _sizes(port):
        count *= size
    return count


def _free(port: Port, mark: str) -> Iterator[str]:
    """A comment that gives the declared shape where a size is free."""
    if port.type.shape is None or not all(isinstance(size, int) for size in port.type.shape):
        yield f"{mark} {_plain(facts.signature(port))}"


def _text(words: str) -> str:
    """A string of JavaScript, C# and Java: that of JSON."""
    return json.dumps(words)


def _plain(words: str) -> str:
    """Words that end no comment: without line breaks, and not longer than a line."""
    return "".join(filter(str.isprintable, " ".join(words.split())))[:LONGEST_NAME]


def _shell(url: str) -> str:
    return f"'{url}'" if any(character in url for character in "&()';*?!~$") else url


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _file(of: Target) -> str:
    return _base(of.paths[0])


languages.register(
    "frontend",
    Language("python", "Python", _python),
    Language("onnxruntime", "ONNX Runtime", _onnxruntime),
    Language("javascript", "JavaScript", _javascript),
    Language("csharp", "C#", _csharp),
    Language("java", "Java", _java),
    Language("curl", "curl", _curl),
    Language("huggingface", "huggingface_hub", _huggingface),
    Language("cli", "Command line", _cli),
)
