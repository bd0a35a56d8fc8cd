"""A text classifier small enough to be made in code, with every file that a pipeline asks for.

The graph is a BERT of one layer and one head: embeddings, masked attention, a layer norm, and a
linear head on the first token. Its numbers are random and fixed.
"""

from __future__ import annotations

import json

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

WIDTH = 32
LABELS = ("bad", "good", "unsure")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "fine", "small", "model", "##s", "hub")
TEXT = "a fine small models hub"
IDS = [2, 5, 6, 7, 8, 9, 10, 3]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def onnx_file() -> bytes:
    """The graph: int64 ids, mask and types of (batch, sequence) to float32 logits (batch, 3)."""
    numbers = np.random.default_rng(7)

    def weights(name, *shape):
        held = (numbers.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        return numpy_helper.from_array(held, name)

    def constant(name, held):
        return numpy_helper.from_array(held, name)

    steps = [
        ("Gather", ["words", "input_ids"], "word"),
        ("Gather", ["types", "token_type_ids"], "type"),
        ("Add", ["word", "type"], "embedded"),
        *[("MatMul", ["embedded", name], f"{name}_of") for name in ("query", "key", "value")],
        ("Transpose", ["key_of"], "keys", {"perm": [0, 2, 1]}),
        ("MatMul", ["query_of", "keys"], "raw"),
        ("Mul", ["raw", "scale"], "scores"),
        ("Cast", ["attention_mask"], "mask", {"to": TensorProto.FLOAT}),
        ("Sub", ["one", "mask"], "hidden"),
        ("Mul", ["hidden", "far"], "penalty"),
        ("Unsqueeze", ["penalty", "axis"], "penalties"),
        ("Add", ["scores", "penalties"], "masked"),
        ("Softmax", ["masked"], "shares", {"axis": -1}),
        ("MatMul", ["shares", "value_of"], "context"),
        ("Add", ["context", "embedded"], "sum"),
        ("LayerNormalization", ["sum", "gain", "shift"], "normed", {"axis": -1}),
        ("Gather", ["normed", "first"], "pooled", {"axis": 1}),
        ("MatMul", ["pooled", "head"], "headed"),
        ("Add", ["headed", "bias"], "logits"),
    ]
    nodes = [
        helper.make_node(kind, inputs, [output], name=output, **(more[0] if more else {}))
        for kind, inputs, output, *more in steps
    ]
    held = [
        weights("words", len(WORDS), WIDTH),
        weights("types", 2, WIDTH),
        *[weights(name, WIDTH, WIDTH) for name in ("query", "key", "value")],
        weights("head", WIDTH, len(LABELS)),
        weights("bias", len(LABELS)),
        constant("gain", np.ones(WIDTH, np.float32)),
        constant("shift", np.zeros(WIDTH, np.float32)),
        constant("scale", np.array(WIDTH**-0.5, np.float32)),
        constant("one", np.array(1, np.float32)),
        constant("far", np.array(-1e4, np.float32)),
        constant("axis", np.array([1], np.int64)),
        constant("first", np.array(0, np.int64)),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny-bert",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in INPUTS],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", len(LABELS)])],
        held,
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=8, opset_imports=opset).SerializeToString()


def files() -> dict[str, bytes]:
    """What lies beside the graph: configuration, and a WordPiece tokenizer in both its forms."""
    config = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "vocab_size": len(WORDS),
        "hidden_size": WIDTH,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": WIDTH,
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
        "pad_token_id": 0,
        "id2label": {str(number): label for number, label in enumerate(LABELS)},
        "label2id": {label: number for number, label in enumerate(LABELS)},
    }
    return {
        "config.json": _json(config),
        "tokenizer.json": _json(_tokenizer()),
        "tokenizer_config.json": _json(
            {
                "tokenizer_class": "BertTokenizer",
                "do_lower_case": True,
                "model_max_length": 64,
                **{f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "SEP", "PAD", "CLS")},
                "mask_token": "[MASK]",
            }
        ),
        "vocab.txt": "".join(f"{word}\n" for word in WORDS).encode(),
    }


def _tokenizer() -> dict:
    special = [
        {
            "id": number,
            "content": WORDS[number],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number in range(5)
    ]
    around = [{"SpecialToken": {"id": word, "type_id": 0}} for word in ("[CLS]", "[SEP]")]
    first = {"Sequence": {"id": "A", "type_id": 0}}
    second = {"Sequence": {"id": "B", "type_id": 1}}
    end = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [around[0], first, around[1]],
            "pair": [around[0], first, around[1], second, end],
            "special_tokens": {
                word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]}
                for word in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: number for number, word in enumerate(WORDS)},
        },
    }


def logits(content: bytes) -> list[float]:
    """What ONNX Runtime makes of `TEXT` with the bytes of a graph."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    ids = np.array([IDS], np.int64)
    fed = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
    return [float(number) for number in session.run(["logits"], fed)[0][0]]


def _json(content) -> bytes:
    return json.dumps(content, indent=1).encode()
