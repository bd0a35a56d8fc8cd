"""Packages of a few graphs with fixed names: pairs as of CLIP, and transducers."""

from __future__ import annotations

import posixpath
import re

from hub.protocol.packages import Code, Component, Role
from runners.engine.packages import optimum, vocabularies
from runners.engine.packages.folder import Folder
from runners.engine.packages.optimum import input_width

TOKENS = "tokens.txt"
_TRANSDUCER = {"encoder": Role.ENCODER, "decoder": Role.DECODER, "joiner": Role.JOINER}
_TRANSDUCER_NAME = re.compile(rf"({'|'.join(_TRANSDUCER)})\b.*|({'|'.join(_TRANSDUCER)})[-_.].*")


def is_clip(folder: Folder) -> bool:
    """Whether models of texts and of pictures lie side by side, with no other model beside them."""
    stems = {stem[0] for path in folder.graphs if (stem := optimum.stem_of(path))}
    return {"text_model", "vision_model"} <= stems <= {"text_model", "vision_model", "model"}


def check_clip(folder: Folder, parts: list[Component]) -> None:
    """Compare the two embeddings with each other, and the texts with the tokenizer."""
    optimum.check(folder, parts)
    widths: dict[str, int] = {}
    for part in parts:
        graph = folder.graphs.get(part.model)
        for name in ("text_embeds", "image_embeds"):
            width = graph.width(name) if graph and part.role != Role.MODEL else None
            if width is not None:
                widths[part.model] = width
    if len(set(widths.values())) > 1:
        (first, width), *others = widths.items()
        path, other = next(row for row in others if row[1] != width)
        folder.error(
            Code.WIDTH_DIFFERS,
            first,
            "",
            f"The embeddings have {width} numbers, and those of {path} {other}.",
            "Export both models from the same pair.",
        )


def _role_of(path: str) -> Role | None:
    name = posixpath.basename(path)
    match = _TRANSDUCER_NAME.fullmatch(name.removesuffix(".onnx"))
    return _TRANSDUCER[match[1] or match[2]] if match else None


def is_transducer(folder: Folder) -> bool:
    """Whether an encoder, a decoder and a joiner lie beside a list of tokens."""
    return TOKENS in folder.sizes and {_role_of(path) for path in folder.graphs} >= set(
        _TRANSDUCER.values()
    )


def transducer(folder: Folder) -> list[Component]:
    """The three parts, each perhaps in several precisions, and the tokens."""
    roles = list(_TRANSDUCER.values())
    parts = sorted(
        (roles.index(role), len(path), path)
        for path in folder.graphs
        if (role := _role_of(path)) is not None
    )
    models = [
        Component(
            posixpath.basename(path).removesuffix(".onnx"), roles[at], path, folder.files_of(path)
        )
        for at, _, path in parts
    ]
    return [*models, Component("tokenizer", Role.TOKENIZER, "", (TOKENS,))]


def check_transducer(folder: Folder, parts: list[Component]) -> None:
    """Compare the tokens with decoder and joiner, and the joiner's inputs with what they get."""
    vocabulary = vocabularies.of_folder(folder, "")
    joiners = [folder.graphs[row.model] for row in parts if row.role == Role.JOINER]
    for part in parts:
        graph = folder.graphs.get(part.model)
        if graph is None or graph.problem or not graph.outputs:
            continue
        output = graph.outputs[0].name
        scores = output if part.role == Role.JOINER else ""
        vocabularies.compare(folder, graph, declared=None, vocabulary=vocabulary, scores=scores)
        if part.role not in (Role.ENCODER, Role.DECODER):
            continue
        for joiner in joiners:
            expected, width = input_width(joiner, output), graph.width(output)
            if None not in (expected, width) and expected != width:
                folder.error(
                    Code.WIDTH_DIFFERS,
                    joiner.path,
                    output,
                    f"The input has the width {expected}, and the output of {part.model} {width}.",
                    "Export the three parts from the same model.",
                )
