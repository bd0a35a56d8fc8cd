"""Packages of each layout are recognised, whole ones pass, and each break is a finding."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hub.protocol import problems
from hub.protocol.generation import CheckKind
from hub.protocol.packages import Code, Layout, Package, Severity, model_of
from tests import decoders, packaged

pytestmark = pytest.mark.capability("packages")


@pytest.fixture
def package(run):
    """The package of some files, as the engine finds it."""

    def check(files):
        entry = min(path for path in files if path.endswith(".onnx"))
        report = run("package", files, entry=entry)
        assert report.outcome == "passed", report.findings
        return Package.read(report.facts["package"])

    return check


def rows(found):
    return [(row.code, row.severity, row.file, row.field) for row in found.findings]


def parts(found):
    return {row.name: (row.role, row.model) for row in found.components}


WHOLE = {
    Layout.GENAI: (
        packaged.genai,
        {"decoder": ("decoder", "model.onnx"), "tokenizer": ("tokenizer", "")},
    ),
    Layout.OPTIMUM: (
        packaged.optimum,
        {
            "encoder_model": ("encoder", "onnx/encoder_model.onnx"),
            "decoder_model_merged": ("decoder", "onnx/decoder_model_merged.onnx"),
            "decoder_model": ("decoder", "onnx/decoder_model.onnx"),
            "decoder_with_past_model": (
                "decoder-with-past",
                "onnx/decoder_with_past_model.onnx",
            ),
            "tokenizer": ("tokenizer", ""),
        },
    ),
    Layout.DIFFUSERS: (
        packaged.diffusers,
        {
            "unet": ("denoiser", "unet/model.onnx"),
            "vae_decoder": ("vae-decoder", "vae_decoder/model.onnx"),
            "text_encoder": ("text", "text_encoder/model.onnx"),
            "tokenizer": ("tokenizer", ""),
            "scheduler": ("scheduler", ""),
        },
    ),
    Layout.SENTENCE_TRANSFORMERS: (
        packaged.sentence_transformers,
        {
            "model": ("model", "onnx/model.onnx"),
            "tokenizer": ("tokenizer", ""),
            "1_Pooling": ("pooling", ""),
        },
    ),
    Layout.CLIP: (
        packaged.clip,
        {
            "vision_model": ("vision", "onnx/vision_model.onnx"),
            "text_model": ("text", "onnx/text_model.onnx"),
        },
    ),
    Layout.TRANSDUCER: (
        packaged.transducer,
        {
            "encoder-epoch-9": ("encoder", "encoder-epoch-9.onnx"),
            "decoder-epoch-9": ("decoder", "decoder-epoch-9.onnx"),
            "joiner-epoch-9": ("joiner", "joiner-epoch-9.onnx"),
            "tokenizer": ("tokenizer", ""),
        },
    ),
    Layout.ORT_PACKAGE: (
        packaged.ort_package,
        {
            "decoder/cpu": ("decoder", "decoder/cpu/model.onnx"),
            "decoder/gpu": ("decoder", "decoder/gpu/model.onnx"),
            "encoder": ("encoder", "parts/encoder/any/encoder.onnx"),
        },
    ),
    Layout.MODELS: (
        packaged.models,
        {"a": ("model", "a.onnx"), "parts/b": ("model", "parts/b.onnx")},
    ),
}


@pytest.mark.parametrize("layout", Layout)
def test_a_whole_package_of_each_layout_has_its_components_and_no_finding(layout, package):
    files, components = WHOLE[layout]
    found = package(files())
    assert (found.layout, parts(found), rows(found)) == (layout, components, [])
    assert all(path in files() for part in found.components for path in part.files)


def test_speech_with_one_file_is_whole(package):
    found = package(packaged.speech())
    assert (found.layout, rows(found)) == (Layout.OPTIMUM, [])
    assert rows(package(packaged.speech(vocab_size=6))) == [
        (Code.VOCABULARY_DIFFERS, Severity.ERROR, "config.json", "vocab_size")
    ]


def test_a_genai_package_with_a_wrong_config_names_every_field(package):
    inputs = {"input_ids": "input_ids", "past_key_names": "past.%d.k"}
    files = packaged.genai(vocab_size=32000, num_key_value_heads=8, inputs=inputs)
    found = package(files)
    key = "model.decoder"
    assert rows(found) == [
        (Code.INPUT_MISSING, "error", "genai_config.json", f"{key}.inputs.past_key_names"),
        (Code.KEY_VALUE_HEADS_DIFFER, "error", "genai_config.json", f"{key}.num_key_value_heads"),
        (Code.VOCABULARY_DIFFERS, "error", "genai_config.json", "model.vocab_size"),
    ]
    vocabulary = found.findings[-1]
    assert vocabulary.message == (
        "model.vocab_size is 32 000, and the output logits of model.onnx has the size 32."
    )
    assert vocabulary.cure == (
        "Set model.vocab_size to 32, or add the model that belongs to this file."
    )


def test_a_genai_package_with_a_missing_file_and_a_tokenizer_of_one_word(package):
    files = packaged.genai(filename="decoder.onnx") | {"tokenizer.json": packaged.tokenizer(1)}
    assert rows(package(files)) == [
        (Code.FILE_MISSING, "error", "genai_config.json", "model.decoder.filename"),
        (Code.VOCABULARY_SMALL, "warning", "tokenizer.json", ""),
        (Code.FILE_UNUSED, "info", "model.onnx", ""),
    ]


CONFIG = "genai_config.json"
BREAKS = {
    "output": (
        packaged.genai(outputs={"logits": "scores"}),
        (Code.OUTPUT_MISSING, "error", CONFIG, "model.decoder.outputs.logits"),
    ),
    "optional input": (
        packaged.genai(inputs={"input_ids": "input_ids", "position_ids": "positions"}),
        (Code.INPUT_MISSING, "warning", CONFIG, "model.decoder.inputs.position_ids"),
    ),
    "head size": (
        packaged.genai(head_size=3),
        (Code.HEAD_SIZE_DIFFERS, "error", CONFIG, "model.decoder.head_size"),
    ),
    "fewer layers": (
        packaged.genai(num_hidden_layers=1),
        (Code.LAYERS_DIFFER, "error", CONFIG, "model.decoder.num_hidden_layers"),
    ),
    "heads": (
        packaged.genai() | {"model.onnx": packaged.decoder(attention=(2, 2), head=None)},
        (Code.HEADS_DIFFER, "error", CONFIG, "model.decoder.num_attention_heads"),
    ),
    "pairs": (
        packaged.genai() | {"model.onnx": packaged.decoder(attention=(4, 1), head=None)},
        (Code.KEY_VALUE_HEADS_DIFFER, "error", CONFIG, "model.decoder.num_key_value_heads"),
    ),
    "dynamic scores": (
        packaged.genai(vocab_size=40) | {"model.onnx": packaged.decoder(symbol=True)},
        (Code.VOCABULARY_DIFFERS, "error", CONFIG, "model.vocab_size"),
    ),
    "added tokens": (
        packaged.genai() | {"tokenizer.json": packaged.tokenizer(added=[32])},
        (Code.VOCABULARY_DIFFERS, "error", "tokenizer.json", ""),
    ),
    "rows": (
        packaged.optimum() | {"onnx/encoder_model.onnx": packaged.encoder(vocabulary=31)},
        (Code.VOCABULARY_DIFFERS, "error", "config.json", "vocab_size"),
    ),
    "unused": (
        packaged.genai() | {"old/model.onnx": packaged.decoder()},
        (Code.FILE_UNUSED, "info", "old/model.onnx", ""),
    ),
    "a graph that is none": (
        packaged.genai() | {"model.onnx": b"\x08\x0a"},
        (Code.GRAPH_UNREADABLE, "warning", "model.onnx", ""),
    ),
    "no decoder": (
        {name: text for name, text in packaged.optimum().items() if "decoder" not in name},
        (Code.FILE_MISSING, "error", "config.json", "is_encoder_decoder"),
    ),
    "states": (
        packaged.optimum() | {"onnx/decoder_model.onnx": packaged.decoder(cache=False, states=9)},
        (Code.WIDTH_DIFFERS, "error", "onnx/decoder_model.onnx", "encoder_hidden_states"),
    ),
    "pooling": (
        packaged.sentence_transformers(width=9),
        (Code.WIDTH_DIFFERS, "error", "1_Pooling/config.json", "word_embedding_dimension"),
    ),
    "no pooling": (
        {
            name: text
            for name, text in packaged.sentence_transformers().items()
            if not name.startswith("1_")
        },
        (Code.FILE_MISSING, "error", "modules.json", "path"),
    ),
    "pair": (
        packaged.clip(width=9),
        (Code.WIDTH_DIFFERS, "error", "onnx/vision_model.onnx", ""),
    ),
    "joiner": (
        packaged.transducer(width=9),
        (Code.WIDTH_DIFFERS, "error", "joiner-epoch-9.onnx", "encoder_out"),
    ),
    "tokens": (
        packaged.transducer(tokens=33),
        (Code.VOCABULARY_DIFFERS, "error", "tokens.txt", ""),
    ),
    "pipeline": (
        packaged.diffusers(image_encoder=["a", "b"], text_encoder_2=["a", "b"]),
        (Code.FILE_MISSING, "error", "model_index.json", "text_encoder_2"),
    ),
    "texts": (
        packaged.diffusers() | {"text_encoder/model.onnx": packaged.encoder(vocabulary=31)},
        (Code.VOCABULARY_DIFFERS, "error", "tokenizer/vocab.json", ""),
    ),
    "variant": (
        packaged.ort_package(file="other.onnx"),
        (
            Code.FILE_MISSING,
            "error",
            "manifest.json",
            "components.decoder.variants.cpu.executor_info.ort.model_file",
        ),
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_break_is_a_finding(name, package):
    files, finding = BREAKS[name]
    found = package(files)
    assert finding in rows(found)
    assert all(row.message and row.cure for row in found.findings)


def test_symbols_and_layers_without_a_cache_are_no_contradictions(package):
    hybrid = packaged.genai(num_hidden_layers=6) | {
        "model.onnx": packaged.decoder(head=None, past="past_key_values.{}5.{}")
    }
    found = package(packaged.genai() | {"model.onnx": packaged.decoder(head=None)})
    assert rows(found) == []
    assert Code.LAYERS_DIFFER not in [row.code for row in package(hybrid).findings]


def test_a_classifier_is_not_held_against_its_tokenizer(package):
    config = {"architectures": ["BertForSequenceClassification"], "vocab_size": 32}
    files = {
        "config.json": packaged.written(config | {"model_type": "bert"}),
        "tokenizer.json": packaged.tokenizer(),
        "model.onnx": packaged.decoder(vocabulary=3, rows=32, cache=False),
    }
    assert rows(package(files)) == []


HOSTILE = {
    "nested": b"[" * 100_000 + b"]" * 100_000,
    "cut": b'{"model": ',
    "binary": bytes(range(256)),
    "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "long number": b'{"model": ' + b"9" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_config_is_a_finding(name, package):
    found = package(packaged.genai() | {"genai_config.json": HOSTILE[name]})
    assert (Code.CONFIG_UNREADABLE, "error", CONFIG, "") in rows(found)
    assert found.layout == Layout.GENAI


@pytest.mark.parametrize(
    "content", [b"[]", b"7", b'{"model": [1]}', b'{"model": {"decoder": {"filename": {}}}}']
)
def test_a_config_of_another_shape_has_no_components(content, package):
    found = package(packaged.genai() | {"genai_config.json": content})
    assert [row.name for row in found.components] == ["tokenizer"]


def test_a_config_of_100_megabytes_is_not_read(package):
    found = package(packaged.genai() | {"genai_config.json": b" " * 100_000_000})
    assert (Code.CONFIG_TOO_LARGE, "warning", CONFIG, "") in rows(found)


@pytest.mark.parametrize(
    "name", ["../model.onnx", "/etc/passwd", "a/../../model.onnx", "..", "C:\\model.onnx", "a\0b"]
)
def test_a_name_that_leads_out_of_the_package_is_an_error(name, package):
    found = package(packaged.genai(filename=name))
    assert (Code.PATH_OUTSIDE, "error", CONFIG, "model.decoder.filename") in rows(found)
    assert found.components[0].files == ()


def test_numbers_that_are_none_are_left_out(package):
    found = package(packaged.genai(num_key_value_heads=-1, head_size="8", num_hidden_layers=10**12))
    assert {row.code for row in found.findings} <= {Code.LAYERS_DIFFER, Code.INPUT_MISSING,
                                                   Code.OUTPUT_MISSING}  # fmt: skip
    vocabulary = {"model": {"vocab": {"a": -1, "b": 10**30, "c": True, "d": 1.5, "e": None}}}
    assert rows(package(packaged.genai() | {"tokenizer.json": packaged.written(vocabulary)})) == []


def test_many_findings_are_bounded(package):
    index = {f"part{number}": ["a", "b"] for number in range(5000)}
    found = package(packaged.diffusers(**index))
    assert len(found.findings) == 200


def test_names_of_components_are_unique_and_fit(package):
    files = {"config.json": packaged.written({"model_type": "bert"})}
    files |= dict.fromkeys(("model.onnx", "onnx/model.onnx"), packaged.encoder())
    assert [row.name for row in package(files).components] == ["model", "onnx/model"]
    long = {"model": {"decoder": {"filename": "model.onnx"}, "\0" + "x" * 999: {"filename": "a"}}}
    found = package(packaged.genai() | {"genai_config.json": packaged.written(long)})
    assert all(len(row.name) <= 121 and "\0" not in row.name for row in found.components)
    steps = [{"step": {"filename": "model.onnx"}}] * 2000
    files = packaged.genai(filename="", pipeline=steps)
    names = [row.name for row in package(files).components]
    assert len(names) == len(set(names)) == 500


def test_a_config_of_many_ports_costs_little(package):
    inputs = {f"role{number}": "past.%d" for number in range(50_000)}
    found = package(packaged.genai(inputs=inputs, num_hidden_layers=10**9))
    assert len(found.findings) <= 200


def test_two_configs_have_components_of_their_folders(package):
    files = {
        f"{place}/{name}": text
        for place in ("cpu", "gpu")
        for name, text in packaged.genai().items()
    }
    found = package(files)
    assert [row.name for row in found.components if row.model] == ["cpu/decoder", "gpu/decoder"]
    assert model_of(found.components, "decoder") == "cpu/model.onnx"
    assert rows(found) == []


def test_a_component_is_found_by_its_name_or_its_role(package):
    found = package(packaged.optimum())
    assert model_of(found.components, "decoder") == "onnx/decoder_model_merged.onnx"
    assert model_of(found.components, "decoder_model") == "onnx/decoder_model.onnx"
    with pytest.raises(
        problems.ComponentMissing, match=r"no component 'unet' .* It has encoder_model, "
    ):
        model_of(found.components, "unet")


def test_sentencepiece_and_unigram_vocabularies_are_counted(package):
    pieces = b"".join(b"\x0a\x03\x0a\x01a" for _ in range(33))
    files = packaged.genai() | {"tokenizer.model": pieces}
    del files["tokenizer.json"]
    assert (Code.VOCABULARY_DIFFERS, "error", "tokenizer.model", "") in rows(package(files))
    unigram = {"model": {"type": "Unigram", "vocab": [["a", 0.0]] * 33}}
    files = packaged.genai() | {"tokenizer.json": json.dumps(unigram).encode()}
    assert (Code.VOCABULARY_DIFFERS, "error", "tokenizer.json", "") in rows(package(files))


def test_every_code_layout_and_comparison_is_on_the_page():
    page = (Path(__file__).parents[3] / "docs/packages.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == {
        *Code,
        *Layout,
        *CheckKind,
    }


@pytest.mark.parametrize(
    ("files", "decoder"),
    [
        (decoders.genai(), "model.onnx"),
        (decoders.optimum(), "onnx/model.onnx"),
        (packaged.optimum(), ""),
        (packaged.speech(), ""),
        (packaged.genai(vocab_size=7), ""),
    ],
    ids=["genai", "optimum", "encoder-decoder", "speech", "broken"],
)
def test_the_decoder_of_a_package_that_generates_is_named(package, files, decoder):
    assert package(files).decoder == decoder
