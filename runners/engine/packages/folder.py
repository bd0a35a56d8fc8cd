"""The files of a version beside its graphs, read with bounds, and the findings about them.

A name in a file leads to nothing but a path of the same version: what it names is compared with the
list of paths, and only files that were laid out for the check are opened.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hub import counting
from hub.protocol.packages import VOCABULARIES, Code, PackageFinding, Severity
from hub.protocol.stored import mapping
from runners.engine.onnx_files import file_types, text
from runners.engine.packages.graph_facts import Graph

MOST_CONFIG_BYTES = 4 << 20
# Tokenizers of large vocabularies have up to 35 MB.
MOST_VOCABULARY_BYTES = 48 << 20
MOST_FINDINGS = 200
MOST_COMPONENTS = 500
NAME_CHARACTERS = 120
_MESSAGE_CHARACTERS = 600
_POINTER_BYTES = 1024


def limit_of(path: str) -> int:
    """How many bytes of a file are read at most; 0 for files that the check does not read."""
    name = posixpath.basename(path)
    if name in VOCABULARIES:
        return MOST_VOCABULARY_BYTES
    return MOST_CONFIG_BYTES if name.endswith(".json") else 0


def quoted(name: object) -> str:
    """A name of a file for a message."""
    return repr(text.clip(str(name), NAME_CHARACTERS))


@dataclass(slots=True)
class Folder:
    """A version's files: ``sizes`` of all, ``graphs`` by path, and the findings so far."""

    root: Path
    sizes: Mapping[str, int]
    graphs: Mapping[str, Graph]
    findings: list[PackageFinding] = field(default_factory=list)
    _documents: dict[str, Any] = field(default_factory=dict)

    def add(
        self, code: Code, severity: Severity, file: str, key: str, message: str, cure: str
    ) -> None:
        """Note a finding, once."""
        finding = PackageFinding(
            code,
            severity,
            file,
            text.clip(key, NAME_CHARACTERS),
            text.clip(message, _MESSAGE_CHARACTERS),
            cure,
        )
        if finding not in self.findings and len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)

    def error(self, code: Code, file: str, key: str, message: str, cure: str) -> None:
        """Note what makes the package unusable."""
        self.add(code, Severity.ERROR, file, key, message, cure)

    def content(self, path: str) -> bytes | None:
        """The bytes of a file that is read; None without one, or with one that is too large."""
        limit = limit_of(path)
        if path not in self.sizes or not limit:
            return None
        if self.sizes[path] > limit:
            self.add(
                Code.CONFIG_TOO_LARGE,
                Severity.WARNING,
                path,
                "",
                f"The file has {counting.size(self.sizes[path])}, so it was not read; "
                f"at most {counting.size(limit)} are.",
                "Remove what its tool does not need, and push again.",
            )
            return None
        place = self.root.joinpath(*path.split("/"))
        if not place.exists():
            words = "The files before it have used up what is read of a package."
            self.add(
                Code.CONFIG_TOO_LARGE, Severity.WARNING, path, "", words, "Push fewer JSON files."
            )
            return None
        return place.read_bytes()

    def document(self, path: str) -> Any:
        """The JSON of a file; None without one that can be read, which is noted."""
        if posixpath.basename(path) in VOCABULARIES:
            return self._parsed(path)  # too large to be kept
        if path not in self._documents:
            self._documents[path] = self._parsed(path)
        return self._documents[path]

    def config(self, path: str) -> dict[str, Any]:
        """The JSON object of a file; empty without one."""
        return mapping(self.document(path))

    def _parsed(self, path: str) -> Any:
        content = self.content(path)
        if content is None:
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            problem, cure = str(error), "Export or download the file again."
            if isinstance(error, RecursionError):
                problem = "it is nested too deeply"
            elif file_types.is_pointer(content[:_POINTER_BYTES]):
                problem = "it is a Git LFS pointer"
                cure = "Run `git lfs pull`, and push again."
            words = f"The file is no readable JSON: {text.clip(problem, 200)}."
            self.error(Code.CONFIG_UNREADABLE, path, "", words, cure)
            return None

    def named(self, config: str, key: str, name: str, *, base: str | None = None) -> str:
        """The path that a config names, relative to its own folder or to ``base``.

        Empty, and noted, where the version has no such file or the name leads out of it.
        """
        path = self.resolved(config, key, name, base=base)
        if path and path not in self.sizes:
            self.error(
                Code.FILE_MISSING,
                config,
                key,
                f"The file {quoted(path)} does not exist in this version.",
                f"Add {quoted(path)}, or correct {key} in {config}.",
            )
            return ""
        return path

    def resolved(self, config: str, key: str, name: str, *, base: str | None = None) -> str:
        """The path that a name means, whether or not it exists; empty, and noted, outside."""
        start = posixpath.dirname(config) if base is None else base
        path = posixpath.normpath(posixpath.join(start, name))
        if "\0" in name or "\\" in name or path.startswith(("/", "../")) or path in {".", ".."}:
            self.error(
                Code.PATH_OUTSIDE,
                config,
                key,
                f"The name {quoted(name)} leads out of the package.",
                f"Name a file of this version in {key}, relative to {config}.",
            )
            return ""
        return path

    def files_of(self, model: str, *others: str) -> tuple[str, ...]:
        """The files of a component: its model with the weights beside it, and others."""
        graph = self.graphs.get(model)
        external = graph.external if graph else ()
        paths = (model, *external, *others)
        return tuple(dict.fromkeys(path for path in paths if path in self.sizes))

    def inside(self, folder: str) -> tuple[str, ...]:
        """The paths directly or further below a folder of the version, sorted."""
        prefix = f"{folder}/" if folder else ""
        return tuple(sorted(path for path in self.sizes if path.startswith(prefix)))
