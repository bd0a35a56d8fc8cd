"""Packages whose config lists folders: Diffusers, Sentence Transformers, and ONNX Runtime's own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import islice
from typing import Any

from hub.protocol.packages import Code, Component, Role
from hub.protocol.stored import mapping, rows, text, whole
from runners.engine.packages import optimum, vocabularies
from runners.engine.packages.folder import MOST_COMPONENTS, Folder, quoted

DIFFUSERS, MODULES, MANIFEST = "model_index.json", "modules.json", "manifest.json"
COMPONENT = "component.json"
_MODEL = "model.onnx"
_ROLES = {
    "unet": Role.DENOISER,
    "transformer": Role.DENOISER,
    "vae_decoder": Role.VAE_DECODER,
    "vae_encoder": Role.VAE_ENCODER,
    "text_encoder": Role.TEXT,
    "tokenizer": Role.TOKENIZER,
    "scheduler": Role.SCHEDULER,
    "encoder": Role.ENCODER,
    "decoder": Role.DECODER,
    "vision": Role.VISION,
    "embedding": Role.EMBEDDING,
}
# What a pipeline can do without.
_CHECKERS = frozenset({"safety_checker", "feature_extractor", "image_encoder", "watermarker"})


def _role(name: str) -> Role:
    """The role of a component by its name, such as text_encoder_2."""
    return _ROLES.get(name.rstrip("0123456789").rstrip("_"), Role.OTHER)


def is_diffusers(folder: Folder) -> bool:
    """Whether there is an index of a pipeline."""
    return DIFFUSERS in folder.sizes


def diffusers(folder: Folder) -> list[Component]:
    """The components of the index that have files, in its order."""
    return [
        Component(name, _role(name), _model_in(folder, name), files)
        for name in _indexed(folder)
        if (files := folder.inside(name))
    ]


def check_diffusers(folder: Folder, parts: list[Component]) -> None:
    """Look for each component of the index, and compare the encoders of texts with tokenizers."""
    names = {part.name for part in parts}
    for name in _indexed(folder):
        if name in names or name in _CHECKERS:
            continue
        if name == "vae" and {"vae_decoder", "vae_encoder"} & _folders(folder):
            continue  # the export splits it
        folder.error(
            Code.FILE_MISSING,
            DIFFUSERS,
            name,
            f"The folder {quoted(name)} does not exist in this version.",
            f"Push the folder {quoted(name)}, or set {name} to [null, null] in {DIFFUSERS}.",
        )
    for part in parts:
        if part.role == Role.TEXT and (graph := folder.graphs.get(part.model)):
            tokenizer = part.name.replace("text_encoder", "tokenizer")
            vocabulary = vocabularies.of_folder(folder, tokenizer)
            vocabularies.compare(folder, graph, declared=None, vocabulary=vocabulary)


def _indexed(folder: Folder) -> list[str]:
    """Names of the components that a pipeline has; a safe one is a name of a folder."""
    index = folder.config(DIFFUSERS)
    names = [
        name
        for name, value in islice(index.items(), MOST_COMPONENTS)
        if isinstance(value, list) and any(value) and not name.startswith("_")
    ]
    safe = [name for name in names if folder.resolved(DIFFUSERS, name, name) == name]
    split = [name for name in ("vae_decoder", "vae_encoder") if name in _folders(folder)]
    return list(dict.fromkeys([*safe, *split]))


def _folders(folder: Folder) -> set[str]:
    return {path.split("/")[0] for path in folder.graphs if "/" in path}


def _model_in(folder: Folder, place: str) -> str:
    """The ONNX file in a folder: its `model.onnx`, or else its first one."""
    usual = posixpath.join(place, _MODEL)
    paths = [path for path in folder.graphs if path.startswith(f"{place}/")]
    return usual if usual in paths else min(paths, default="")


def is_sentence_transformers(folder: Folder) -> bool:
    """Whether a list of modules stands beside a model."""
    return isinstance(folder.document(MODULES), list) and bool(folder.graphs)


def sentence_transformers(folder: Folder) -> list[Component]:
    """The models, the tokenizer, and the folders of the further modules."""
    modules = [
        Component(place, Role.POOLING if "pooling" in kind.lower() else Role.OTHER, "", files)
        for place, kind in _modules(folder)
        if place and (files := folder.inside(place))
    ]
    return [*optimum.components(folder), *modules]


def check_sentence_transformers(folder: Folder, parts: list[Component]) -> None:
    """Look for the folder of each module, and compare the pooling with the model's output."""
    optimum.check(folder, parts)
    for place, kind in _modules(folder):
        config = posixpath.join(place, "config.json")
        if "pooling" not in kind.lower():
            continue
        if config not in folder.sizes:
            folder.error(
                Code.FILE_MISSING,
                MODULES,
                "path",
                f"The file {quoted(config)} does not exist in this version.",
                f"Push the folder {quoted(place)} of the model.",
            )
            continue
        declared = whole(folder.config(config).get("word_embedding_dimension"))
        for part in parts:
            graph = folder.graphs.get(part.model)
            width = graph.width("last_hidden_state") if graph else None
            if None not in (declared, width) and declared != width:
                folder.error(
                    Code.WIDTH_DIFFERS,
                    config,
                    "word_embedding_dimension",
                    f"word_embedding_dimension is {declared}, and last_hidden_state of "
                    f"{part.model} has the width {width}.",
                    f"Set word_embedding_dimension to {width}, or add the model that belongs to "
                    "this file.",
                )


def _modules(folder: Folder) -> list[tuple[str, str]]:
    """Folder and class of each module."""
    modules = []
    for number, row in enumerate(rows(folder.document(MODULES))[:MOST_COMPONENTS]):
        name = text(row.get("path"))
        place = folder.resolved(MODULES, f"[{number}].path", name) if name else ""
        if place or not name:
            modules.append((place, text(row.get("type"))))
    return modules


def is_ort_package(folder: Folder) -> bool:
    """Whether the manifest is one of ONNX Runtime; other tools write files of this name."""
    manifest = folder.config(MANIFEST)
    return isinstance(manifest.get("schema_version"), str) and isinstance(
        manifest.get("components"), dict
    )


def ort_package(folder: Folder) -> list[Component]:
    """Each variant of each component; those of several variants have both names."""
    parts: list[Component] = []
    for name, value in mapping(folder.config(MANIFEST).get("components")).items():
        key, config, component = f"components.{name}", MANIFEST, mapping(value)
        if isinstance(value, str):
            place = folder.resolved(MANIFEST, key, value)
            config = folder.named(MANIFEST, key, posixpath.join(value, COMPONENT)) if place else ""
            component, key = folder.config(config) if config else {}, ""
        variants = mapping(component.get("variants"))
        for variant, row in islice(variants.items(), MOST_COMPONENTS - len(parts)):
            title = name if len(variants) == 1 else f"{name}/{variant}"
            place = posixpath.join(posixpath.dirname(config) or name, variant)
            parts += _variant(folder, config, f"{key}.variants.{variant}".lstrip("."), place, row)
            parts[-1:] = [
                Component(title, _role(name), part.model, part.files) for part in parts[-1:]
            ]
    return parts


def _variant(folder: Folder, config: str, key: str, place: str, value: Any) -> Iterator[Component]:
    """The component of a variant, whose name and role the caller knows."""
    row = mapping(value)
    directory = text(row.get("variant_directory"))
    if directory:
        place = folder.resolved(config, f"{key}.variant_directory", directory)
    executor = mapping(row.get("executor_info")).get("ort")
    if isinstance(executor, str):
        path = folder.named(config, f"{key}.executor_info.ort", executor, base=place)
        config, key, executor = path or config, "", folder.config(path) if path else {}
    file = text(mapping(executor).get("model_file"))
    where = f"{key}.executor_info.ort.model_file" if key else "model_file"
    model = folder.named(config, where, file, base=place) if file else ""
    yield Component("", Role.OTHER, model, folder.files_of(model) or folder.inside(place))
