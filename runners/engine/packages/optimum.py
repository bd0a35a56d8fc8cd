"""Packages of Optimum and transformers.js: files with fixed names beside a `config.json`."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from hub.protocol.packages import VOCABULARIES, Code, Component, Role
from hub.protocol.stored import mapping, text, texts
from runners.engine.packages import caches, vocabularies
from runners.engine.packages.caches import Cache, Declared, number_of
from runners.engine.packages.folder import Folder
from runners.engine.packages.graph_facts import Graph

CONFIG = "config.json"
FOLDERS = ("", "onnx")
# The names without their precision, those to be preferred first.
STEMS = {
    "model": Role.MODEL,
    "encoder_model": Role.ENCODER,
    "decoder_model_merged": Role.DECODER,
    "decoder_model": Role.DECODER,
    "decoder_with_past_model": Role.DECODER_WITH_PAST,
    "embed_tokens": Role.EMBEDDING,
    "vision_encoder": Role.VISION,
    "vision_model": Role.VISION,
    "audio_encoder": Role.SPEECH,
    "text_encoder": Role.TEXT,
    "text_model": Role.TEXT,
    "prompt_encoder_mask_decoder": Role.DECODER,
}
_NAME = re.compile(
    rf"({'|'.join(sorted(STEMS, key=len, reverse=True))})"
    r"(_(?:fp16|fp32|bf16|int8|uint8|q8|q4|q4f16|q2|q2f16|q1|q1f16|bnb4|quantized|optimized))?"
)
# Names that no single model has.
_OF_SEVERAL = frozenset(STEMS) - {"model"}
# Ends of names of classes whose `logits` are scores of tokens.
_SCORES_TOKENS = (
    "ForCausalLM", "ForCTC", "ForConditionalGeneration", "ForMaskedLM", "ForSpeechSeq2Seq",
    "LMHeadModel",
)  # fmt: skip
# Keys of models in which heads have several sizes, and the kinds of layers that have a cache.
_OTHER_SIZES = frozenset({"kv_lora_rank", "global_head_dim"})
_CACHED = frozenset({"full_attention", "sliding_attention", "chunked_attention"})
_TOKENIZERS = (*VOCABULARIES, "tokenizer_config.json", "special_tokens_map.json")


def stem_of(path: str) -> tuple[str, str] | None:
    """The fixed name of a file and its precision; None for files with other names."""
    folder, name = posixpath.split(path)
    match = _NAME.fullmatch(name.removesuffix(".onnx")) if name.endswith(".onnx") else None
    return (match[1], match[2] or "") if match and folder in FOLDERS else None


def is_one(folder: Folder) -> bool:
    """Whether the version has models in `onnx`, several parts, or the config of a model."""
    stems = {path: stem for path in folder.graphs if (stem := stem_of(path))}
    if any(stem in _OF_SEVERAL for stem, _ in stems.values()):
        return True
    has_config = bool(text(folder.config(CONFIG).get("model_type")))
    return bool(stems) and (has_config or any(path.startswith("onnx/") for path in stems))


def components(folder: Folder) -> list[Component]:
    """Each file with a fixed name, in the order of `STEMS`, and the tokenizer."""
    order = list(STEMS)
    parts = [
        (order.index(stem[0]), stem[1], path, STEMS[stem[0]])
        for path in folder.graphs
        if (stem := stem_of(path))
    ]
    models = [
        Component(posixpath.basename(path).removesuffix(".onnx"), role, path, folder.files_of(path))
        for _, _, path, role in sorted(parts)
    ]
    return [*models, *tokenizer(folder)]


def tokenizer(folder: Folder, place: str = "") -> list[Component]:
    """The tokenizer in a folder, if there is one."""
    paths = (posixpath.join(place, name) for name in _TOKENIZERS)
    files = tuple(path for path in paths if path in folder.sizes)
    return [Component("tokenizer", Role.TOKENIZER, "", files)] if files else []


def check(folder: Folder, parts: list[Component]) -> None:
    """Compare `config.json` and the tokenizer with the graphs, and the graphs with each other."""
    config = folder.config(CONFIG)
    config = {**config, **mapping(config.get("text_config"))}
    models = {row.role: row for row in reversed(parts) if row.model}
    if config.get("is_encoder_decoder") is True and Role.MODEL not in models:
        for role, name in ((Role.ENCODER, "encoder_model"), (Role.DECODER, "decoder_model")):
            if role not in models:
                folder.error(
                    Code.FILE_MISSING,
                    CONFIG,
                    "is_encoder_decoder",
                    f"The model is an encoder with a decoder, and there is no {name}.onnx.",
                    f"Export the model again, and push {name}.onnx with the other files.",
                )
    vocabulary = vocabularies.of_folder(folder, *FOLDERS)
    declared = number_of(config, "vocab_size")
    size = vocabularies.Declared(CONFIG, declared.field, declared.value) if declared.value else None
    scores_tokens = any(
        name.endswith(_SCORES_TOKENS) for name in texts(config.get("architectures"))
    )
    for part in parts:
        graph = folder.graphs.get(part.model)
        if graph is None or graph.problem:
            continue
        decodes = part.role in (Role.DECODER, Role.DECODER_WITH_PAST)
        scores = "logits" if decodes or scores_tokens else ""
        vocabularies.compare(folder, graph, declared=size, vocabulary=vocabulary, scores=scores)
        caches.compare(folder, graph, _cache(config), caches.named(graph.input_shapes))
    _compare_states(folder, parts)


def _cache(config: dict[str, Any]) -> Cache:
    """The attention of the decoder, by the keys that the families of models use."""
    heads = number_of(
        config, "decoder_attention_heads", "num_attention_heads", "num_heads", "n_head"
    )
    size = number_of(config, "head_dim", "d_kv")
    hidden = number_of(config, "d_model", "hidden_size", "n_embd").value
    if size.value is None and heads.value and hidden and hidden % heads.value == 0:
        size = Declared(f"hidden size / {heads.field}", hidden // heads.value)
    if config.keys() & _OTHER_SIZES:
        size = Declared()
    pairs = number_of(config, "num_key_value_heads")
    if pairs.value is None and config.get("multi_query") is not True:
        pairs = heads
    layers = number_of(
        config, "decoder_layers", "num_decoder_layers", "num_hidden_layers", "num_layers", "n_layer"
    )
    kinds = set(texts(config.get("layer_types")))
    if number_of(config, "num_kv_shared_layers").value or not kinds <= _CACHED:
        layers = Declared()
    return Cache(CONFIG, heads, pairs, size, layers)


def _compare_states(folder: Folder, parts: list[Component]) -> None:
    """The width of the encoder's output against that of each decoder's input of it."""
    encoders = [folder.graphs[row.model] for row in parts if row.role == Role.ENCODER and row.model]
    widths = {graph.path: graph.width("last_hidden_state") for graph in encoders}
    for part in parts:
        graph = folder.graphs.get(part.model)
        expected = input_width(graph, "encoder_hidden_states") if graph else None
        for path, width in widths.items():
            if None not in (width, expected) and width != expected:
                folder.error(
                    Code.WIDTH_DIFFERS,
                    part.model,
                    "encoder_hidden_states",
                    f"The input has the width {expected}, and the output of {path} {width}.",
                    "Export encoder and decoder from the same model.",
                )


def input_width(graph: Graph, name: str) -> int | None:
    """The last dimension of an input; None where it is dynamic or there is none."""
    shape = graph.input_shapes.get(name)
    return shape[-1] if shape else None
