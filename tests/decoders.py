"""Small decoders that generate, made from sizes and a seed, and the packages around them.

`attentive` has the nodes of the ONNX standard and Optimum's names, `grouped` those that the builder
of onnxruntime-genai writes: GroupQueryAttention with lengths from the mask.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests import packaged

FLOAT, INT, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder of one layer; the head is as GroupQueryAttention rotates it."""

    vocabulary: int = 48
    heads: int = 4
    pairs: int = 2
    head: int = 16
    context: int = 64

    @property
    def hidden(self):
        return self.heads * self.head


class _Weights:
    """Initializers of seeded numbers, of about the same size after a product."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self.tensors = []

    def add(self, name, *shape, scale=None):
        values = self._random.standard_normal(shape) * (scale or shape[0] ** -0.5)
        return self.constant(name, values.astype(np.float32))

    def constant(self, name, values):
        self.tensors.append(numpy_helper.from_array(np.asarray(values), name))
        return name


def _model(nodes, inputs, outputs, weights, opset):
    graph = helper.make_graph(
        nodes,
        "decoder",
        [helper.make_tensor_value_info(*row) for row in inputs],
        [helper.make_tensor_value_info(*row) for row in outputs],
        weights.tensors,
    )
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10).SerializeToString()


def _cache(pairs, past, size):
    names = ("past_key_values.0.key", "past_key_values.0.value")
    inputs = [(name, FLOAT, ["batch", pairs, past, size]) for name in names]
    outputs = [
        (f"present.0.{part}", FLOAT, ["batch", pairs, "total", size]) for part in ("key", "value")
    ]
    return inputs, outputs


def grouped(sizes=Sizes(), seed=1, *, symbol=True):
    """A decoder as onnxruntime-genai builds it; with ``symbol`` the head's size is no number."""
    weights = _Weights(seed)
    angles = np.outer(np.arange(sizes.context), 1e4 ** -(np.arange(0, sizes.head, 2) / sizes.head))
    wide = sizes.pairs * sizes.head
    nodes = [
        helper.make_node(
            "Gather", [weights.add("table", sizes.vocabulary, sizes.hidden, scale=1), "input_ids"],
            ["states"],
        ),
        *(
            helper.make_node(
                "MatMul", ["states", weights.add(f"to_{part}", sizes.hidden, width)], [part]
            )
            for part, width in (("query", sizes.hidden), ("key", wide), ("value", wide))
        ),
        helper.make_node(
            "ReduceSum", ["attention_mask", weights.constant("axis", np.int64([1]))], ["counts"],
            keepdims=0,
        ),
        helper.make_node("Sub", ["counts", weights.constant("unit", np.int64(1))], ["last"]),
        helper.make_node("Cast", ["last"], ["lengths"], to=INT32),
        helper.make_node("Shape", ["attention_mask"], ["extent"]),
        helper.make_node("Gather", ["extent", "unit"], ["longest"]),
        helper.make_node("Cast", ["longest"], ["total"], to=INT32),
        helper.make_node(
            "GroupQueryAttention",
            ["query", "key", "value", "past_key_values.0.key", "past_key_values.0.value",
             "lengths", "total", weights.constant("cosines", np.cos(angles).astype(np.float32)),
             weights.constant("sines", np.sin(angles).astype(np.float32))],
            ["mixed", "present.0.key", "present.0.value"],
            domain="com.microsoft", num_heads=sizes.heads, kv_num_heads=sizes.pairs, do_rotary=1,
        ),
        helper.make_node(
            "MatMul", ["mixed", weights.add("from_heads", sizes.hidden, sizes.hidden)], ["more"]
        ),
        helper.make_node("Add", ["states", "more"], ["sum"]),
        helper.make_node(
            "MatMul", ["sum", weights.add("to_scores", sizes.hidden, sizes.vocabulary)], ["logits"]
        ),
    ]  # fmt: skip
    past, present = _cache(sizes.pairs, "past_length", "kv_cache_dim" if symbol else sizes.head)
    inputs = [
        ("input_ids", INT, ["batch", "length"]),
        ("attention_mask", INT, ["batch", "total_length"]),
        *past,
    ]
    outputs = [("logits", FLOAT, ["batch", "length", sizes.vocabulary]), *present]
    return _model(nodes, inputs, outputs, weights, 21)


def attentive(sizes=Sizes(), seed=1, *, fault=""):
    """A decoder of standard nodes that, with a ``fault``, forgets its cache, mixes rows, or wraps.

    Keys after a query are hidden by their positions, and those of padding by the mask.
    """
    weights, pairs = _Weights(seed), sizes.heads
    split = weights.constant("split", np.int64([0, 0, pairs, sizes.head]))
    joined = weights.constant("joined", np.int64([0, 0, sizes.hidden]))
    zero, one = (
        weights.constant(name, np.int64(value)) for name, value in (("zero", 0), ("one", 1))
    )
    nodes = [
        helper.make_node(
            "Gather", [weights.add("table", sizes.vocabulary, sizes.hidden, scale=1), "input_ids"],
            ["words"],
        ),
        helper.make_node(
            "Mod", ["position_ids", weights.constant("context", np.int64(sizes.context))],
            ["wrapped"],
        ),
        helper.make_node(
            "Gather",
            [weights.add("places", sizes.context, sizes.hidden, scale=1),
             "wrapped" if fault == "wraps" else "position_ids"],
            ["place"],
        ),
        helper.make_node("Add", ["words", "place"], ["embedded"]),
        helper.make_node(
            "ReduceMean", ["embedded", weights.constant("rows", np.int64([0]))], ["mean"]
        ),
        helper.make_node("Add", ["embedded", "mean"], ["mixed_rows"]),
        helper.make_node(
            "Identity", ["mixed_rows" if fault == "mixes" else "embedded"], ["states"]
        ),
    ]  # fmt: skip
    for part in ("query", "key", "value"):
        matrix = weights.add(f"to_{part}", sizes.hidden, sizes.hidden)
        nodes += [
            helper.make_node("MatMul", ["states", matrix], [f"{part}_flat"]),
            helper.make_node("Reshape", [f"{part}_flat", split], [f"{part}_split"]),
            helper.make_node("Transpose", [f"{part}_split"], [part], perm=[0, 2, 1, 3]),
        ]
    for part in ("key", "value"):
        present = f"present.0.{part}"
        past = [f"past_key_values.0.{part}", part]
        nodes.append(helper.make_node("Concat", past, [present], axis=2))
    if fault == "forgets":  # what lies in the cache is noughts
        nodes += [
            helper.make_node("Mul", [f"past_key_values.0.{part}", weights.constant(
                f"nought_{part}", np.float32(0))], [f"nought_past_{part}"])
            for part in ("key", "value")
        ]  # fmt: skip
        nodes += [
            helper.make_node("Concat", [f"nought_past_{part}", part], [f"all_{part}"], axis=2)
            for part in ("key", "value")
        ]
    else:
        nodes += [
            helper.make_node("Identity", [f"present.0.{part}"], [f"all_{part}"])
            for part in ("key", "value")
        ]
    nodes += [
        helper.make_node("Transpose", ["all_key"], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["query", "turned"], ["products"]),
        helper.make_node(
            "Mul", ["products", weights.constant("scale", np.float32(sizes.head**-0.5))], ["scores"]
        ),
        helper.make_node("Shape", ["attention_mask"], ["extent"]),
        helper.make_node("Gather", ["extent", one], ["total"]),
        helper.make_node("Range", [zero, "total", one], ["keys"]),
        helper.make_node(
            "Unsqueeze", ["position_ids", weights.constant("ends", np.int64([1, 3]))], ["queries"]
        ),
        helper.make_node("LessOrEqual", ["keys", "queries"], ["earlier"]),
        helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.BOOL),
        helper.make_node(
            "Unsqueeze", ["kept", weights.constant("middle", np.int64([1, 2]))], ["kept_keys"]
        ),
        helper.make_node("And", ["earlier", "kept_keys"], ["allowed"]),
        helper.make_node(
            "Where", ["allowed", "scores", weights.constant("hidden", np.float32(-1e9))], ["open"]
        ),
        helper.make_node("Softmax", ["open"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "all_value"], ["gathered"]),
        helper.make_node("Transpose", ["gathered"], ["turned_back"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned_back", joined], ["flat"]),
        helper.make_node(
            "MatMul", ["flat", weights.add("from_heads", sizes.hidden, sizes.hidden)], ["more"]
        ),
        helper.make_node("Add", ["states", "more"], ["sum"]),
        helper.make_node(
            "MatMul", ["sum", weights.add("to_scores", sizes.hidden, sizes.vocabulary)], ["logits"]
        ),
    ]
    past, present = _cache(pairs, "past_length", sizes.head)
    inputs = [
        ("input_ids", INT, ["batch", "length"]),
        ("attention_mask", INT, ["batch", "total_length"]),
        ("position_ids", INT, ["batch", "length"]),
        *past,
    ]
    outputs = [("logits", FLOAT, ["batch", "length", sizes.vocabulary]), *present]
    return _model(nodes, inputs, outputs, weights, 18)


def genai(sizes=Sizes(), seed=1, **changes):
    """A package of onnxruntime-genai whose decoder generates; ``changes`` are keys of the model."""
    part = {
        "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
        "filename": "model.onnx",
        "head_size": sizes.head,
        "hidden_size": sizes.hidden,
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": 1,
        "num_key_value_heads": sizes.pairs,
    }
    model = {
        "type": "llama",
        "vocab_size": sizes.vocabulary,
        "context_length": sizes.context,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        "decoder": part,
    }
    search = {"max_length": sizes.context, "do_sample": False, "past_present_share_buffer": True}
    return {
        "genai_config.json": packaged.written({"model": {**model, **changes}, "search": search}),
        "model.onnx": grouped(sizes, seed),
        **packaged.tokenizer_of_characters(sizes.vocabulary),
    }


def optimum(sizes=Sizes(), seed=1, *, fault="", **changes):
    """A decoder as Optimum exports it; ``changes`` are keys of its config."""
    config = {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": sizes.vocabulary,
        "n_positions": sizes.context, "n_embd": sizes.hidden, "n_head": sizes.heads, "n_layer": 1,
        "eos_token_id": 2,
    }  # fmt: skip
    return {
        "config.json": packaged.written(config | changes),
        "tokenizer.json": packaged.tokenizer(sizes.vocabulary),
        "onnx/model.onnx": attentive(sizes, seed, fault=fault),
    }
