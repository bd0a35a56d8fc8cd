"""The layouts of packages, in one table, and the check of a version's files by it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from hub.protocol.packages import (
    MODEL_ENDING,
    Code,
    Component,
    Layout,
    Package,
    PackageFinding,
    Role,
    Severity,
)
from runners.engine.onnx_files import text
from runners.engine.packages import caches, genai, optimum, pairs, pipelines
from runners.engine.packages.folder import MOST_COMPONENTS, NAME_CHARACTERS, Folder


def _no_check(_folder: Folder, _parts: list[Component]) -> None:
    """Nothing is compared beyond the files that the components name."""


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """A layout: how it is recognised, its components, and what is compared among its files."""

    layout: Layout
    is_one: Callable[[Folder], bool]
    components: Callable[[Folder], list[Component]]
    check: Callable[[Folder, list[Component]], None] = _no_check


_GENERATING = frozenset({Layout.GENAI, Layout.OPTIMUM})
# Roles of what a decoder needs beside tokens.
_ENCODING = frozenset({Role.ENCODER, Role.VISION, Role.SPEECH, Role.EMBEDDING, Role.TEXT})


def _models(folder: Folder) -> list[Component]:
    """Each ONNX file by its path, without a shared ending."""
    names = {path: path.removesuffix(posixpath.splitext(path)[1]) for path in folder.graphs}
    return [
        Component(name, Role.MODEL, path, folder.files_of(path))
        for path, name in sorted(names.items(), key=lambda row: (row[0].count("/"), row[0]))
    ]


# The first that a version is one of counts; configs say more than names of files.
RULES = (
    LayoutRule(
        Layout.GENAI,
        lambda folder: bool(genai.configs(folder)),
        genai.components,
        genai.check,
    ),
    LayoutRule(Layout.ORT_PACKAGE, pipelines.is_ort_package, pipelines.ort_package),
    LayoutRule(
        Layout.DIFFUSERS,
        pipelines.is_diffusers,
        pipelines.diffusers,
        pipelines.check_diffusers,
    ),
    LayoutRule(
        Layout.SENTENCE_TRANSFORMERS,
        pipelines.is_sentence_transformers,
        pipelines.sentence_transformers,
        pipelines.check_sentence_transformers,
    ),
    LayoutRule(Layout.TRANSDUCER, pairs.is_transducer, pairs.transducer, pairs.check_transducer),
    LayoutRule(Layout.CLIP, pairs.is_clip, optimum.components, pairs.check_clip),
    LayoutRule(Layout.OPTIMUM, optimum.is_one, optimum.components, optimum.check),
    LayoutRule(Layout.MODELS, lambda _: True, _models),
)


def package_of(folder: Folder) -> Package:
    """Recognise the files of a version, and check them against each other."""
    rule = next(rule for rule in RULES if rule.is_one(folder))
    parts = rule.components(folder)
    rule.check(folder, parts)
    for graph in folder.graphs.values():
        if graph.problem:
            folder.add(
                Code.GRAPH_UNREADABLE,
                Severity.WARNING,
                graph.path,
                "",
                f"The graph was not compared: {graph.problem}",
                "See the check of this file.",
            )
    used = {path for part in parts for path in (part.model, *part.files)}
    for path in sorted(folder.graphs.keys() - used):
        folder.add(
            Code.FILE_UNUSED,
            Severity.INFO,
            path,
            "",
            "No component of the package is made of this ONNX file.",
            "Remove it, or name it in the config of the package.",
        )
    findings = tuple(sorted(folder.findings, key=_rank))
    components = tuple(_with_own_names(parts[:MOST_COMPONENTS]))
    return Package(rule.layout, components, findings, _decoder(folder, rule.layout, parts))


def _decoder(folder: Folder, layout: Layout, parts: list[Component]) -> str:
    """The first decoder with a cache of a package that generates text from tokens alone.

    None where a finding says that the package cannot be used.
    """
    is_broken = any(row.severity == Severity.ERROR for row in folder.findings)
    if layout not in _GENERATING or is_broken or any(part.role in _ENCODING for part in parts):
        return ""
    for part in parts:
        graph = folder.graphs.get(part.model)
        if part.role not in (Role.DECODER, Role.MODEL) or graph is None:
            continue
        if layout == Layout.GENAI or caches.named(graph.input_shapes):
            return part.model
    return ""


def _with_own_names(parts: list[Component]) -> Iterator[Component]:
    """The components with names that fit and are unique: paths where a name is repeated."""
    names: set[str] = set()
    for part in parts:
        name = part.name if part.name not in names else part.model.removesuffix(MODEL_ENDING)
        name = text.clip(name, NAME_CHARACTERS)
        if name in names or not name:
            name = next(free for n in count(1) if (free := f"{part.role}-{n}") not in names)
        names.add(name)
        yield replace(part, name=name)


def _rank(finding: PackageFinding) -> int:
    return list(Severity).index(finding.severity)
