"""Packages of ONNX Runtime GenAI: a `genai_config.json` beside its files, in one folder or more."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import islice
from typing import Any

from hub.protocol.packages import GENAI_CONFIG, VOCABULARIES, Code, Component, Role, Severity
from hub.protocol.stored import mapping, rows, text
from runners.engine.packages import caches, vocabularies
from runners.engine.packages.caches import Cache, number_of
from runners.engine.packages.folder import Folder, quoted
from runners.engine.packages.graph_facts import Graph

_ROLES = {
    "decoder": Role.DECODER,
    "encoder": Role.ENCODER,
    "embedding": Role.EMBEDDING,
    "vision": Role.VISION,
    "speech": Role.SPEECH,
}
# Keys of files beside the graph of a part.
_FILES = ("config_filename", "adapter_filename")
# Inputs that the runtime feeds only where the graph has them.
_OPTIONAL = frozenset({"attention_mask", "position_ids"})
_LAYER, _MOST_LAYERS, _EXAMPLES = "%d", 1000, 3
# Roles of inputs that are looked at; no config has as many.
_MOST_PORTS = 64
_TOKENIZERS = (*VOCABULARIES, "tokenizer_config.json", "chat_template.jinja")


def configs(folder: Folder) -> list[str]:
    """The paths of all configs."""
    return sorted(path for path in folder.sizes if posixpath.basename(path) == GENAI_CONFIG)


def components(folder: Folder) -> list[Component]:
    """The parts that the configs name, the decoders first; folders precede names where several."""
    paths = configs(folder)
    parts: list[Component] = []
    for config in paths:
        place = posixpath.dirname(config)
        prefix = f"{place}/" if len(paths) > 1 and place else ""
        model = mapping(folder.config(config).get("model"))
        for name in sorted(model, key=lambda name: (name not in _ROLES, name)):
            parts += _components(folder, config, prefix, name, mapping(model[name]))
        places = (posixpath.join(place, name) for name in _TOKENIZERS)
        files = tuple(path for path in places if path in folder.sizes)
        if files:
            parts.append(Component(f"{prefix}tokenizer", Role.TOKENIZER, "", files))
    return parts


def _components(
    folder: Folder, config: str, prefix: str, name: str, part: dict[str, Any]
) -> Iterator[Component]:
    key = f"model.{name}"
    others = [
        folder.named(config, f"{key}.{file}", part[file])
        for file in _FILES
        if isinstance(part.get(file), str)
    ]
    if file := text(part.get("filename")):
        path = folder.named(config, f"{key}.filename", file)
        files = folder.files_of(path, *others)
        yield Component(f"{prefix}{name}", _ROLES.get(name, Role.OTHER), path, files)
    for number, stage in enumerate(rows(part.get("pipeline"))):
        for label, step in stage.items():
            file = text(mapping(step).get("filename"))
            if file:
                path = folder.named(config, f"{key}.pipeline[{number}].{label}.filename", file)
                yield Component(
                    f"{prefix}{name}/{label}", Role.PIPELINE, path, folder.files_of(path)
                )


def check(folder: Folder, _: list[Component]) -> None:
    """Compare each config with its graphs and its tokenizer."""
    for path in configs(folder):
        model = mapping(folder.config(path).get("model"))
        for name in _ROLES:
            part = mapping(model.get(name))
            file = text(part.get("filename"))
            graph = (
                folder.graphs.get(folder.resolved(path, f"model.{name}.filename", file))
                if file
                else None
            )
            if graph is None or graph.problem:
                graph = Graph(path)  # what the config says is still held against the tokenizer
            else:
                _check_ports(folder, path, f"model.{name}", part, graph)
            if name == "decoder":
                _check_decoder(folder, path, model, part, graph)


def _check_ports(folder: Folder, config: str, key: str, part: dict[str, Any], graph: Graph) -> None:
    layers = number_of(part, "num_hidden_layers").value or 0
    for kind, code, ports in (
        ("input", Code.INPUT_MISSING, graph.input_shapes),
        ("output", Code.OUTPUT_MISSING, graph.output_shapes),
    ):
        for role, pattern in islice(mapping(part.get(f"{kind}s")).items(), _MOST_PORTS):
            names = expanded(text(pattern), layers)
            missing = [name for name in names if name not in ports]
            if not missing:
                continue
            more = f" and {len(missing) - _EXAMPLES} more" if len(missing) > _EXAMPLES else ""
            words = ", ".join(map(quoted, missing[:_EXAMPLES]))
            others = ", ".join(map(quoted, list(ports)[:_EXAMPLES])) or "none"
            folder.add(
                code,
                # Layers without attention have no cache.
                Severity.WARNING
                if role in _OPTIONAL or len(missing) < len(names)
                else Severity.ERROR,
                config,
                f"{key}.{kind}s.{role}",
                f"{graph.path} has no {kind} {words}{more}.",
                f"Name the graph's own {kind}s, which begin with {others}.",
            )


def expanded(pattern: str, layers: int) -> list[str]:
    """The names that a pattern stands for: one for each layer, where it has `%d`."""
    if not pattern:
        return []
    if _LAYER not in pattern:
        return [pattern]
    return [pattern.replace(_LAYER, str(layer)) for layer in range(min(layers, _MOST_LAYERS))]


def _check_decoder(
    folder: Folder, config: str, model: dict[str, Any], part: dict[str, Any], graph: Graph
) -> None:
    place, key = posixpath.dirname(config), "model.decoder."
    inputs, outputs = mapping(part.get("inputs")), mapping(part.get("outputs"))
    cache = Cache(
        config,
        number_of(part, "num_attention_heads", prefix=key),
        number_of(part, "num_key_value_heads", prefix=key),
        number_of(part, "head_size", prefix=key),
        number_of(part, "num_hidden_layers", prefix=key),
    )
    names = caches.named(graph.input_shapes)
    layers = cache.layers.value or 0
    for role in ("past_key_names", "past_value_names", "past_names"):
        past = expanded(text(inputs.get(role)), layers)
        names |= {name: layer for layer, name in enumerate(past)}
    caches.compare(folder, graph, cache, names)
    declared = number_of(model, "vocab_size", prefix="model.")
    vocabularies.compare(
        folder,
        graph,
        declared=vocabularies.Declared(config, declared.field, declared.value)
        if declared.value
        else None,
        vocabulary=vocabularies.of_folder(folder, place),
        scores=text(outputs.get("logits")) or "logits",
    )
