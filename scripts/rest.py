#!/usr/bin/env python3
"""The REST API as typed Python: one module of hub/client/rest for each group of operations.

Reads docs/openapi.yaml; with --write it replaces the modules. A test fails when they differ, and
when an operation is neither in a group nor omitted in scripts/rest.toml. With --release it adds the
fields of new answers to scripts/released_fields.toml first, as scripts/release does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.rest_operations import METHODS, UNSET, Operation  # noqa: E402 - this checkout
from scripts.rest_schemas import Schemas, short  # noqa: E402 - this checkout

FOLDER = ROOT / "hub/client/rest"
RELEASED = ROOT / "scripts/released_fields.toml"
HAND_WRITTEN = frozenset({"__init__.py", "calls.py", "answers.py"})
OPERATIONS = tomllib.loads((ROOT / "scripts/rest.toml").read_text())
GROUPS: dict[str, list[str]] = OPERATIONS["groups"]
PLACES: dict[str, list[str]] = OPERATIONS["places"]
OMITTED: dict[str, str] = OPERATIONS["omitted"]
READ_FIRST: dict[str, str] = OPERATIONS["read_first"]


@dataclass
class Module:
    """The source of one group."""

    name: str
    classes: dict[str, str] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)
    # The classes of the module `shared`, for the others.
    shared: frozenset[str] = frozenset()

    @property
    def source(self) -> str:
        body = "\n\n\n".join([*self.classes.values(), *([self._group()] if self.methods else [])])
        title = self.name.replace("_", " ")
        head = f'"""The REST operations of {title}, and what they return."""'
        if self.name == "shared":
            head = '"""What the operations of several groups return."""'
        imports = "\n".join(self._imports(body))
        return (
            f"{head}\n\n# Written by scripts/rest.py from docs/openapi.yaml.\n"
            f"from __future__ import annotations\n\n{imports}\n\n\n{body}\n"
        )

    def _group(self) -> str:
        name = class_name(self.name)
        title = self.name.replace("_", " ")
        return f'class {name}(Group):\n    """The operations of {title}."""\n\n' + "\n\n".join(
            self.methods
        )

    def _imports(self, body: str) -> list[str]:
        def used(*names: str) -> list[str]:
            return [name for name in names if re.search(rf"(?<![\w.\"]){name}\b", body)]

        # The types are read at run time, from the annotations.
        lines = []
        if abc := used("Iterator", "Mapping", "Sequence"):
            lines.append(f"from collections.abc import {', '.join(abc)}")
        if "@dataclass" in body:
            lines.append("from dataclasses import dataclass")
        if dates := used("date", "datetime"):
            lines.append(f"from datetime import {', '.join(dates)}")
        if used("Path"):
            lines.append("from pathlib import Path")
        if used(UNSET):
            lines.append(f"from types import {UNSET}")
        if hints := used("Annotated", "Any", "Literal"):
            lines.append(f"from typing import {', '.join(hints)}")
        lines.append("")
        calls = used(
            "Content", "Group", "collection_path", "explicit", "json_of", "model_path", "part",
            "tail",
        )  # fmt: skip
        if calls:
            lines.append(f"from hub.client.rest.calls import {', '.join(calls)}")
        if shared := used(*self.shared):
            lines.append(f"from hub.client.rest.shared import {', '.join(sorted(shared))}")
        return lines


def class_name(group: str) -> str:
    """`access_requests` -> `AccessRequestsGroup`."""
    return "".join(word.capitalize() for word in group.split("_")) + "Group"


def modules(document: dict[str, Any]) -> list[Module]:
    """Every module of an OpenAPI document, with the schemas of several groups in `shared`."""
    released = tomllib.loads(RELEASED.read_text(encoding="utf-8"))
    schemas = Schemas(document["components"]["schemas"], released)
    of_groups = {name: Module(name) for name in GROUPS}
    users: dict[str, set[str]] = {}
    for operation in operations(document, schemas):
        if operation.identifier in OMITTED:
            continue
        group, name = place(operation.identifier)
        read_first = READ_FIRST.get(operation.identifier)
        of_groups[group].methods.append(operation.source(name, read_first=read_first))
        for result in operation.results():
            for schema in schemas.closure(result):
                users.setdefault(schema, set()).add(group)
    bases = {name: schemas.base(name, users) for name in users}
    for name, base in bases.items():
        if base:
            users[base] |= users[name]
    shared = Module("shared")
    names = frozenset(short(name) for name, groups in users.items() if len(groups) > 1)
    for name, groups in users.items():
        module = shared if len(groups) > 1 else of_groups[next(iter(groups))]
        module.classes[name] = schemas.dataclass(name, bases[name])
    for module in of_groups.values():
        module.shared = names
    every = [*of_groups.values(), shared]
    for module in every:
        module.classes = schemas.ordered(module.classes, bases)
    return [module for module in every if module.methods or module.classes]


def operations(document: dict[str, Any], schemas: Schemas) -> list[Operation]:
    """The operations of an OpenAPI document, by identifier."""
    return sorted(
        (
            Operation(details["operationId"], method.upper(), path, details, schemas)
            for path, methods in document["paths"].items()
            for method, details in methods.items()
            if method in METHODS
        ),
        key=lambda operation: operation.identifier,
    )


def place(identifier: str) -> tuple[str, str]:
    """The group and the method of an operation; a KeyError where it has none."""
    if identifier in PLACES:
        group, method = PLACES[identifier]
        return group, method
    beginnings = sorted(
        ((start, group) for group, starts in GROUPS.items() for start in starts),
        key=lambda pair: -len(pair[0]),
    )
    for start, group in beginnings:
        if identifier.startswith(start):
            return group, identifier.removeprefix(start)
    raise KeyError(f"{identifier} belongs to no group of scripts/rest.py")


def groups_module() -> str:
    """The source of the class that has every group as an attribute."""
    lines = [
        '"""Every group of operations, as an attribute of a hub."""',
        "",
        "# Written by scripts/rest.py.",
        "from __future__ import annotations",
        "",
        "from importlib import import_module",
        "from typing import TYPE_CHECKING, Any, Final",
        "",
        "if TYPE_CHECKING:",
        *(f"    from hub.client.rest.{name} import {class_name(name)}" for name in GROUPS),
        "",
        f"GROUPS: Final = ({', '.join(f'{chr(34)}{name}{chr(34)}' for name in GROUPS)})",
        "",
        "",
        "def group_class(name: str) -> Any:",
        '    """The class of a group, such as `JobsGroup`; imports its module alone."""',
        '    class_name = "".join(word.capitalize() for word in name.split("_")) + "Group"',
        '    return getattr(import_module(f"hub.client.rest.{name}"), class_name)',
        "",
        "",
        "class Groups:",
        '    """The groups of a hub; each module is imported at its first use."""',
    ]
    for name in GROUPS:
        lines += [
            "",
            "    @property",
            f"    def {name}(self) -> {class_name(name)}:",
            f'        """Operations on {name.replace("_", " ")}."""',
            f'        group: {class_name(name)} = group_class("{name}")(self)',
            "        return group",
        ]
    return "\n".join(lines) + "\n"


def formatted(folder: Path) -> None:
    """Format the modules of a folder as the rest of the code is."""
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    config = ["--config", str(ROOT / "pyproject.toml")]
    # Imports that a group does not need are removed.
    fixes = ["check", "-q", "--fix", "--select", "F401,I001"]
    for arguments in (fixes, ["format", "-q"]):
        subprocess.run([ruff, *arguments, *config, str(folder)], cwd=ROOT, check=True)


def read_document() -> dict[str, Any]:
    """The OpenAPI document of this checkout."""
    text = (ROOT / "docs/openapi.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def release_fields(document: dict[str, Any]) -> str:
    """The file of released fields with the answers that no release has had."""
    text = RELEASED.read_text(encoding="utf-8")
    released: dict[str, list[str]] = tomllib.loads(text)
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Output") and "properties" in schema:
            released.setdefault(name, sorted(schema["properties"]))
    rows = []
    for name, fields in sorted(released.items()):
        names = textwrap.fill(", ".join(f'"{each}"' for each in fields), 96)
        rows.append(f"{name} = [\n{textwrap.indent(names, '  ')}\n]\n")
    return text[: text.index("\n\n") + 2] + "".join(rows)


def write(folder: Path) -> None:
    """Write every module into a folder."""
    document = read_document()
    for path in folder.glob("*.py"):
        if path.name not in HAND_WRITTEN:
            path.unlink()
    for module in modules(document):
        (folder / f"{module.name}.py").write_text(module.source, encoding="utf-8")
    (folder / "groups.py").write_text(groups_module(), encoding="utf-8")
    formatted(folder)


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--release"]):
        sys.exit("usage: scripts/rest.py --write | --release")
    if "--release" in sys.argv:
        RELEASED.write_text(release_fields(read_document()), encoding="utf-8")
    write(FOLDER)
