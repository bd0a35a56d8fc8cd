"""Small packages of each layout, as files by their paths: graphs of a few nodes, configs, tokens.

Each is whole; a test breaks one thing of it.
"""

from __future__ import annotations

import json
import string

from onnx import TensorProto, helper

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
VOCABULARY, HIDDEN, HEADS, PAIRS, HEAD, LAYERS = 32, 8, 4, 2, 2, 2
SPECIAL = ("<s>", "</s>", "<pad>")


def graph(nodes, inputs, outputs, weights=()):
    """The bytes of a model: ports are (name, type, shape), weights (name, shape) of noughts."""
    made = helper.make_graph(
        nodes,
        "part",
        [helper.make_tensor_value_info(*row) for row in inputs],
        [helper.make_tensor_value_info(*row) for row in outputs],
        [_noughts(*row) for row in weights],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=sets, ir_version=10).SerializeToString()


def _noughts(name, shape):
    count = 1
    for size in shape:
        count *= size
    return helper.make_tensor(name, FLOAT, shape, [0.0] * count)


def decoder(
    *, vocabulary=VOCABULARY, pairs=PAIRS, layers=LAYERS, rows=None, head=HEAD, cache=True,
    states=None, past="past_key_values.{}.{}", present="present.{}.{}", symbol=False,
    attention=None,
):  # fmt: skip
    """A decoder: tokens are looked up, and scores are a product; its cache is handed through."""
    rows = rows or vocabulary
    inputs = [("input_ids", INT, ["batch", "length"])]
    outputs = [("logits", FLOAT, ["batch", "length", "scores" if symbol else vocabulary])]
    nodes = [
        helper.make_node("Gather", ["embedding", "input_ids"], ["states"]),
        helper.make_node("MatMul", ["states", "head"], ["logits"]),
    ]
    if states:
        inputs.append(("encoder_hidden_states", FLOAT, ["batch", "source", states]))
    for layer in range(layers if cache else 0):
        for part in ("key", "value"):
            shape = ["batch", pairs, "past", head or "kv_cache_dim"]
            inputs.append((past.format(layer, part), FLOAT, shape))
            outputs.append((present.format(layer, part), FLOAT, shape))
            nodes.append(helper.make_node("Identity", [inputs[-1][0]], [outputs[-1][0]]))
    if attention:
        heads, kv_heads = attention
        names = ["states", "states", "states", "", "", "lengths", "total"]
        inputs += [("lengths", TensorProto.INT32, ["batch"]), ("total", TensorProto.INT32, [1])]
        nodes.append(
            helper.make_node(
                "GroupQueryAttention",
                names,
                ["mixed", "", ""],
                domain="com.microsoft",
                num_heads=heads,
                kv_num_heads=kv_heads,
            )
        )
    weights = [("embedding", [rows, HIDDEN]), ("head", [HIDDEN, vocabulary])]
    return graph(nodes, inputs, outputs, weights)


def encoder(*, vocabulary=VOCABULARY, hidden=HIDDEN, output="last_hidden_state"):
    """An encoder of tokens."""
    return graph(
        [helper.make_node("Gather", ["embedding", "input_ids"], [output])],
        [("input_ids", INT, ["batch", "length"])],
        [(output, FLOAT, ["batch", "length", hidden])],
        [("embedding", [vocabulary, hidden])],
    )


def passing(name, result, shape):
    """A graph that gives what it gets."""
    node = helper.make_node("Identity", [name], [result])
    return graph([node], [(name, FLOAT, shape)], [(result, FLOAT, shape)])


def tokenizer(size=VOCABULARY, added=()):
    """A `tokenizer.json` of words."""
    words = {f"w{number}": number for number in range(size)}
    document = {
        "model": {"type": "WordLevel", "vocab": words},
        "added_tokens": [{"id": number, "content": f"<{number}>"} for number in added],
    }
    return json.dumps(document).encode()


def tokenizer_of_characters(size):
    """The files of a tokenizer of letters and blanks, as GPT-2 has it but without merges."""
    tokens = [*SPECIAL, *string.ascii_lowercase, "O", "Ġ"]
    tokens += [f"<{number}>" for number in range(len(tokens), size)]
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document = {
        "added_tokens": [
            {"id": number, "content": token, "special": True, **flags}
            for number, token in enumerate(SPECIAL)
        ],
        "pre_tokenizer": bytes_,
        "decoder": bytes_,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [],
        },
    }
    config = {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>", "eos_token": "</s>"}
    return {"tokenizer.json": written(document), "tokenizer_config.json": written(config)}


def written(document):
    """A document as JSON."""
    return json.dumps(document).encode()


def genai_config(**changes):
    """A `genai_config.json`; ``changes`` are keys of the decoder, and vocab_size."""
    part = {
        "filename": "model.onnx",
        "head_size": HEAD,
        "hidden_size": HIDDEN,
        "inputs": {
            "input_ids": "input_ids",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": PAIRS,
    }
    size = changes.pop("vocab_size", VOCABULARY)
    model = {"type": "llama", "vocab_size": size, "decoder": {**part, **changes}}
    return written({"model": model})


def genai(**changes):
    """A package of onnxruntime-genai."""
    return {
        "genai_config.json": genai_config(**changes),
        "model.onnx": decoder(),
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": b"{}",
    }


T5 = {
    "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "is_encoder_decoder": True,
    "vocab_size": VOCABULARY, "d_model": HIDDEN, "num_heads": PAIRS, "d_kv": HEAD,
    "num_decoder_layers": LAYERS, "num_layers": 5,
}  # fmt: skip


def optimum(**changes):
    """An encoder-decoder as Optimum exports it."""
    past = "past_key_values.{}.decoder.{}"
    return {
        "config.json": written(T5 | changes),
        "tokenizer.json": tokenizer(),
        "onnx/encoder_model.onnx": encoder(),
        "onnx/decoder_model.onnx": decoder(cache=False, states=HIDDEN),
        "onnx/decoder_model_merged.onnx": decoder(past=past, states=HIDDEN),
        "onnx/decoder_with_past_model.onnx": decoder(past=past),
    }


def speech(**changes):
    """A CTC model as transformers.js reads it: one file, and no tokenizer."""
    config = {"architectures": ["Wav2Vec2ForCTC"], "model_type": "wav2vec2", "vocab_size": 5}
    product = helper.make_node("MatMul", ["input_values", "head"], ["logits"])
    inputs = [("input_values", FLOAT, ["batch", "samples", HIDDEN])]
    outputs = [("logits", FLOAT, ["batch", "frames", 5])]
    return {
        "config.json": written(config | changes),
        "onnx/model.onnx": graph([product], inputs, outputs, [("head", [HIDDEN, 5])]),
    }


def diffusers(**changes):
    """A pipeline of Diffusers."""
    index = {
        "_class_name": "OnnxStableDiffusionPipeline",
        "unet": ["diffusers", "OnnxRuntimeModel"],
        "vae_decoder": ["diffusers", "OnnxRuntimeModel"],
        "text_encoder": ["diffusers", "OnnxRuntimeModel"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "scheduler": ["diffusers", "PNDMScheduler"],
        "safety_checker": [None, None],
    }
    words = {f"w{number}": number for number in range(VOCABULARY)}
    return {
        "model_index.json": written(index | changes),
        "unet/model.onnx": passing("sample", "out_sample", ["batch", 4, 8, 8]),
        "vae_decoder/model.onnx": passing("latent", "picture", ["batch", 4, 8, 8]),
        "text_encoder/model.onnx": encoder(),
        "tokenizer/vocab.json": written(words),
        "scheduler/scheduler_config.json": b"{}",
    }


def sentence_transformers(width=HIDDEN):
    """A model of Sentence Transformers with its pooling."""
    modules = [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    return {
        "modules.json": written(modules),
        "config.json": written({"model_type": "bert", "vocab_size": VOCABULARY}),
        "1_Pooling/config.json": written({"word_embedding_dimension": width}),
        "vocab.txt": "\n".join(f"w{number}" for number in range(VOCABULARY)).encode() + b"\n",
        "onnx/model.onnx": encoder(),
    }


def clip(width=HIDDEN):
    """A pair of models for texts and pictures."""
    return {
        "config.json": written({"model_type": "clip"}),
        "onnx/text_model.onnx": encoder(output="text_embeds"),
        "onnx/vision_model.onnx": passing("pixels", "image_embeds", ["batch", width]),
    }


def transducer(width=HIDDEN, tokens=VOCABULARY):
    """An encoder, a decoder and a joiner as sherpa-onnx reads them."""
    joiner = graph(
        [
            helper.make_node("Add", ["encoder_out", "decoder_out"], ["sum"]),
            helper.make_node("MatMul", ["sum", "head"], ["logit"]),
        ],
        [("encoder_out", FLOAT, ["N", width]), ("decoder_out", FLOAT, ["N", width])],
        [("logit", FLOAT, ["N", "scores"])],
        [("head", [width, VOCABULARY])],
    )
    lookup = helper.make_node("Gather", ["table", "y"], ["decoder_out"])
    rows = "".join(f"w{number} {number}\n" for number in range(tokens))
    return {
        "encoder-epoch-9.onnx": passing("x", "encoder_out", ["N", HIDDEN]),
        "decoder-epoch-9.onnx": graph(
            [lookup],
            [("y", INT, ["N", 2])],
            [("decoder_out", FLOAT, ["N", 2, HIDDEN])],
            [("table", [VOCABULARY, HIDDEN])],
        ),
        "joiner-epoch-9.onnx": joiner,
        "tokens.txt": rows.encode(),
    }


def ort_package(file="model.onnx"):
    """A model package of ONNX Runtime: one component in the manifest, one in a file of its own."""
    info = {"executor_info": {"ort": {"model_file": file}}}
    return {
        "manifest.json": written(
            {
                "schema_version": "1.0",
                "components": {
                    "decoder": {
                        "variants": {
                            "cpu": {"variant_directory": "decoder/cpu", **info},
                            "gpu": {"variant_directory": "decoder/gpu", **info},
                        }
                    },
                    "encoder": "parts/encoder",
                },
            }
        ),
        "parts/encoder/component.json": written(
            {"variants": {"any": {"executor_info": {"ort": "settings.json"}}}}
        ),
        "parts/encoder/any/settings.json": written({"model_file": "encoder.onnx"}),
        "parts/encoder/any/encoder.onnx": encoder(),
        "decoder/cpu/model.onnx": decoder(),
        "decoder/gpu/model.onnx": decoder(),
    }


def models():
    """Files that nothing says anything about."""
    return {"a.onnx": passing("x", "y", [1]), "parts/b.onnx": passing("x", "y", [1])}
