#!/usr/bin/env python3
"""The REST API as typed Python: one module of hub/client/rest for each group of operations.

Reads docs/openapi.yaml; with --write it replaces the modules. A test fails when they differ, and
when an operation is neither in a group nor in OMITTED.
"""

from __future__ import annotations

import keyword
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "hub/client/rest"
HAND_WRITTEN = frozenset({"__init__.py", "calls.py", "answers.py"})
# Group -> beginnings of the ids of its operations; what follows one is the method.
GROUPS: dict[str, tuple[str, ...]] = {
    "access": ("access_",),
    "access_requests": ("access_requests_",),
    "benchmarks": ("benchmarks_",),
    "cards": ("card_",),
    "comparisons": ("comparisons_",),
    "conformance": ("conformance_",),
    "dataset_versions": ("dataset_versions_", "dataset_"),
    "datasets": ("datasets_",),
    "devices": ("devices_",),
    "enrolled_workers": ("enrolled_workers_",),
    "environments": ("environments_",),
    "evaluations": ("evaluations_",),
    "files": ("files_", "blobs_"),
    "fleets": ("fleets_",),
    "invites": ("invites_",),
    "jobs": ("jobs_",),
    "members": ("members_",),
    "models": ("models_",),
    "names": ("names_",),
    "namespaces": ("namespaces_",),
    "participants": ("participants_",),
    "refs": ("refs_",),
    "refused_cards": ("refused_cards_",),
    "rounds": ("rounds_",),
    "runtimes": ("runtimes_",),
    "scoreboard": ("scoreboard_",),
    "tokens": ("tokens_",),
    "trainings": ("trainings_",),
    "users": ("users_",),
    "variants": ("variants_",),
    "versions": ("versions_",),
    "workers": ("workers_",),
}
# Operations whose id is not group and method.
PLACES = {
    "aggregates_read": ("rounds", "aggregate"),
    "blobs_read": ("files", "read_blob"),
    "card_import": ("cards", "import_file"),
    "costs_read": ("versions", "costs"),
    "dataset_files_read": ("dataset_versions", "read_file"),
    "resolve": ("versions", "resolve"),
    "scoreboard": ("scoreboard", "list"),
    "shape_report_read": ("versions", "shape_report"),
    "whoami": ("users", "whoami"),
}
# Operations that are one step of a protocol that a verb of the client speaks.
OMITTED = {
    "uploads_create": "hub.push uploads files",
    "uploads_read": "hub.push uploads files",
    "uploads_append": "hub.push uploads files",
    "uploads_delete": "hub.push uploads files",
    "models_preflight": "hub.push asks before it sends",
    "trainings_uploads_create": "hub.training uploads contributions",
    "trainings_uploads_read": "hub.training uploads contributions",
    "trainings_uploads_append": "hub.training uploads contributions",
    "trainings_uploads_delete": "hub.training uploads contributions",
    "participants_join": "hub.training signs with the key of a device",
    "contributions_put": "hub.training signs with the key of a device",
    "contributions_read": "hub.training signs in with the token of a device",
    "contributions_withdraw": "hub.training signs in with the token of a device",
    "trainings_task": "hub.training asks for the task of a device",
}
# What overwrites something sends the ETag of what it overwrites: the path where that is read.
READ_FIRST = {
    "models_edit": "",
    "datasets_edit": "",
    "card_put": "",
    "card_import": "/..",
}
UNSET = "EllipsisType"
WIDTH = 100
LONGEST_HELP = 200


@dataclass
class Module:
    """The source of one group."""

    name: str
    classes: dict[str, str] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)

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
        calls = used("Content", "Group", "explicit", "json_of", "model_path", "part", "tail")
        if calls:
            lines.append(f"from hub.client.rest.calls import {', '.join(calls)}")
        if self.name != "shared" and (shared := used(*SHARED)):
            lines.append(f"from hub.client.rest.shared import {', '.join(sorted(shared))}")
        return lines


SHARED: set[str] = set()


def class_name(group: str) -> str:
    """`access_requests` -> `AccessRequestsGroup`."""
    return "".join(word.capitalize() for word in group.split("_")) + "Group"


class Generator:
    """The modules of one OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas: dict[str, Any] = document["components"]["schemas"]
        self.operations = [
            (operation["operationId"], method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if method in {"get", "post", "put", "patch", "delete"}
        ]

    def modules(self) -> list[Module]:
        """Every module, with the schemas of several groups in `shared`."""
        modules = {name: Module(name) for name in GROUPS}
        users: dict[str, set[str]] = {}
        for identifier, method, path, operation in sorted(self.operations):
            if identifier in OMITTED:
                continue
            group, name = place(identifier)
            modules[group].methods.append(self._method(identifier, name, method, path, operation))
            for schema in self._results(operation):
                for part in self._closure(schema):
                    users.setdefault(part, set()).add(group)
        shared = Module("shared")
        SHARED.clear()
        SHARED.update(short(name) for name, groups in users.items() if len(groups) > 1)
        for name, groups in users.items():
            module = shared if len(groups) > 1 else modules[next(iter(groups))]
            module.classes[name] = self._dataclass(name)
        for module in [*modules.values(), shared]:
            module.classes = self._ordered(module.classes)
        return [
            module for module in [*modules.values(), shared] if module.methods or module.classes
        ]

    def _ordered(self, classes: dict[str, str]) -> dict[str, str]:
        """Classes by name, each after those that it has."""
        ordered: dict[str, str] = {}

        def add(name: str) -> None:
            for other in sorted(self._closure(name) - {name}):
                if other in classes and other not in ordered:
                    add(other)
            ordered.setdefault(name, classes[name])

        for name in sorted(classes):
            add(name)
        return ordered

    def _results(self, operation: dict[str, Any]) -> list[str]:
        schemas = []
        for status, response in operation["responses"].items():
            if status.startswith("2"):
                for media in response.get("content", {}).values():
                    schemas += [self._inner(name) for name in references(media.get("schema", {}))]
        return [name for name in schemas if "properties" in self.schemas[name]]

    def _inner(self, name: str) -> str:
        """The items of a page, or the schema itself."""
        if name.endswith("Page"):
            reference: str = self.schemas[name]["properties"]["items"]["items"]["$ref"]
            return reference.rsplit("/", 1)[-1]
        return name

    def _closure(self, name: str) -> set[str]:
        pending, names = [name], set()
        while pending:
            current = pending.pop()
            if current in names or "properties" not in self.schemas[current]:
                continue
            names.add(current)
            pending += references(self.schemas[current])
        return names

    def _dataclass(self, name: str) -> str:
        schema = self.schemas[name]
        required = set(schema.get("required", ()))
        title = spaced(short(name))
        lines = [
            "@dataclass(frozen=True, kw_only=True)",
            f"class {short(name)}:",
            *docstring(schema.get("description") or f"{title[0].upper()}{title[1:]}.", "    "),
            "",
        ]
        for key, value in schema["properties"].items():
            hint = self.hint(value, result=True)
            if key not in required:
                hint = f"{hint} | None" if not hint.endswith("None") and hint != "Any" else hint
            if text := described(value):
                lines += [f"    # {line}" for line in textwrap.wrap(text, WIDTH - 6)]
            lines.append(f"    {safe(key)}: {hint}" + ("" if key in required else " = None"))
        return "\n".join(lines)

    def hint(self, schema: dict[str, Any], *, result: bool) -> str:
        """The Python type of a schema: tuples and plain texts in results, choices in arguments."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            target = self.schemas[name]
            if "properties" in target:
                return short(name) if result else "Mapping[str, Any]"
            return self.hint(target, result=result)
        if "allOf" in schema:
            return self.hint(schema["allOf"][0], result=result)
        if "oneOf" in schema:
            kinds = [self.hint(one, result=result) for one in schema["oneOf"]]
            if all(kind.startswith("Literal[") for kind in kinds):
                values = ", ".join(kind.removeprefix("Literal[")[:-1] for kind in kinds)
                return f"Literal[{values}]"
            return " | ".join(dict.fromkeys(kinds)) if "Any" not in kinds else "Any"
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        hints = [self._simple(schema, kind, result=result) for kind in kinds]
        return "Any" if "Any" in hints else " | ".join(hints)

    def _simple(self, schema: dict[str, Any], kind: str | None, *, result: bool) -> str:
        if kind == "array":
            item = self.hint(schema["items"], result=result)
            return f"tuple[{item}, ...]" if result else f"Sequence[{item}]"
        if kind == "object":
            inner = schema.get("additionalProperties") or {}
            value = self.hint(inner, result=result) if inner and inner is not True else "Any"
            return f"dict[str, {value}]" if result else f"Mapping[str, {value}]"
        if "enum" in schema and not result:
            return "Literal[{}]".format(", ".join(f'"{value}"' for value in schema["enum"]))
        if kind == "string" and schema.get("format") in {"date-time", "date"}:
            exact = {"date-time": "datetime", "date": "date"}[schema["format"]]
            return exact if result else f"{exact} | str"
        if "enum" in schema:
            return "str"
        return {
            "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None",
        }.get(kind or "", "Any")  # fmt: skip

    def _method(
        self, identifier: str, name: str, method: str, path: str, operation: dict[str, Any]
    ) -> str:
        address, arguments = self._path(path.removeprefix("/api/v1/"))
        options: list[tuple[str, str, str, bool]] = []  # name, hint, description, required
        calls: list[str] = []
        query = {}
        for item in operation.get("parameters", ()):
            if item["in"] == "query" and item["name"] not in {"cursor", "limit", "facets"}:
                query[item["name"]] = safe(item["name"])
                hint = self.hint(item["schema"], result=False)
                options.append(
                    (safe(item["name"]), hint, item.get("description", ""), item.get("required"))
                )
        if query:
            calls.append(f"query={mapping(query)}")
        self._body(operation, options, calls, is_edit=method == "PATCH")
        headers = {
            item["name"] for item in operation.get("parameters", ()) if item["in"] == "header"
        }
        if "Hub-Signature" in headers:
            options.append(("signature", "str", "signature of the record, from `hub bench`", False))
            calls.append('headers={"Hub-Signature": signature}')
        if "Idempotency-Key" in headers:
            calls.append("is_idempotent=True")
        if identifier in READ_FIRST:
            options.append(("etag", "str", "ETag that you read (default: the current one)", False))
            calls.append("etag=etag")
            if READ_FIRST[identifier]:
                calls.append(f'etag_of={address.rsplit("/", 1)[0]}"')
        result, verb, first = self._result(operation, method)
        if verb == "_pages":
            options.append(("limit", "int", "maximum number of results (default: all)", False))
            calls.append("limit=limit")
        if verb == "_file":
            options.append(("to", "Path | str", "file to write", True))
            calls.append("to=to")
        parameters = ["self", *arguments]
        if options:
            parameters.append("*")
            options.sort(key=lambda option: not option[3])
            parameters += [
                self._option(name, hint, text, required=bool(required))
                for name, hint, text, required in options
            ]
        values = [first] if first else []
        if verb in {"_call", "_do"}:
            values.append(f'"{method}"')
        values += [address, *calls]
        back = "" if result == "None" else "return "
        lines = [
            f"    def {name}({', '.join(parameters)}) -> {result}:",
            *docstring(operation.get("description") or operation.get("summary", ""), "        "),
            f"        {back}self.{verb}({', '.join(values)})",
        ]
        return "\n".join(lines)

    def _option(self, name: str, hint: str, text: str, *, required: bool) -> str:
        text = described({"description": text}).replace("`", "")
        if len(text) > LONGEST_HELP:
            text = text.partition(";")[0].partition(". ")[0]
        if not required and "None" not in hint.split(" | ") and UNSET not in hint:
            hint = f"{hint} | None"
        hint = f'Annotated[{hint}, "{text}"]' if text else hint
        return f"{name}: {hint}" + ("" if required else " = ..." if UNSET in hint else " = None")

    def _path(self, path: str) -> tuple[str, list[str]]:
        """The address as an f-string, and the arguments in it; namespace and name are one."""
        arguments = []
        if path.startswith("models/{namespace}/{name}"):
            path = path.replace("{namespace}/{name}", "{model_path(model)}", 1)
            arguments.append("model: str")

        def value(match: re.Match[str]) -> str:
            name = match[1]
            is_number = name in {"number", "round_number", "token_id", "card_id", "id"}
            arguments.append(f"{name}: {'int' if is_number else 'str'}")
            return f"{{{'tail' if name in {'path', 'ref'} else 'part'}({name})}}"

        path = re.sub(r"\{(\w+)\}", value, path)
        return (f'f"{path}"' if "{" in path else f'"{path}"'), arguments

    def _body(
        self,
        operation: dict[str, Any],
        options: list[tuple[str, str, str, bool]],
        calls: list[str],
        *,
        is_edit: bool,
    ) -> None:
        content = operation.get("requestBody", {}).get("content", {})
        if not content:
            return
        media, body = next(iter(content.items()))
        if media != "application/json":
            options.append(("content", "Content", "the content, or the path of a file", True))
            calls.append(f'body=(content, "{media}")')
            return
        schema = body["schema"]
        if "$ref" not in schema:
            options.append(("content", "Mapping[str, Any]", "the JSON document", True))
            calls.append("content=json_of(content)")
            return
        schema = self.schemas[schema["$ref"].rsplit("/", 1)[-1]]
        names = {}
        for key, value in schema["properties"].items():
            required = key in schema.get("required", ())
            hint = self.hint(value, result=False)
            if is_edit and hint.endswith("None"):
                hint = f"{hint.removesuffix(' | None')} | {UNSET} | None"
            options.append((safe(key), hint, value.get("description", ""), required))
            names[key] = f"explicit({key})" if UNSET in hint else safe(key)
        calls.append(f"content=json_of({mapping(names)})")

    def _result(self, operation: dict[str, Any], method: str) -> tuple[str, str, str]:
        """The type of the result, the method of `Group` that gets it, and its first argument."""
        answers = {
            status: response.get("content", {})
            for status, response in operation["responses"].items()
            if status.startswith("2")
        }
        kinds: dict[str, str] = {}
        for status, content in answers.items():
            for media, body in content.items():
                schema = body.get("schema", {})
                if schema.get("format") == "binary":
                    return "Path", "_file", ""
                if media != "application/json":
                    return "str", "_text", ""
                kinds[status] = self.hint(schema, result=True)
        if not kinds:
            return "None", "_do", ""
        schema = next(body for content in answers.values() for body in content.values())["schema"]
        name = schema.get("$ref", "").rsplit("/", 1)[-1]
        if name.endswith("Page"):
            item = short(self._inner(name))
            if method == "GET" and any(
                one["name"] == "limit" for one in operation.get("parameters", ())
            ):
                return f"Iterator[{item}]", "_pages", item
            return f"tuple[{item}, ...]", "_items", f'{item}, "{method}"'
        if schema.get("type") == "array":
            item = short(schema["items"]["$ref"].rsplit("/", 1)[-1])
            return f"tuple[{item}, ...]", "_items", f'{item}, "{method}"'
        kind = " | ".join(dict.fromkeys(kinds.values()))
        if "204" in answers:
            return f"{kind} | None", "_call", kind
        if " | " in kind:
            return kind, "_either", f'({kind.replace(" | ", ", ")}), "{method}"'
        return kind, "_call", kind


def place(identifier: str) -> tuple[str, str]:
    """The group and the method of an operation; a KeyError where it has none."""
    if identifier in PLACES:
        return PLACES[identifier]
    beginnings = sorted(
        ((start, group) for group, starts in GROUPS.items() for start in starts),
        key=lambda pair: -len(pair[0]),
    )
    for start, group in beginnings:
        if identifier.startswith(start):
            return group, identifier.removeprefix(start)
    raise KeyError(f"{identifier} belongs to no group of scripts/rest.py")


def references(schema: Any) -> list[str]:
    """The schemas that a schema names."""
    if isinstance(schema, dict):
        own = [schema["$ref"].rsplit("/", 1)[-1]] if isinstance(schema.get("$ref"), str) else []
        return own + [name for value in schema.values() for name in references(value)]
    if isinstance(schema, list):
        return [name for value in schema for name in references(value)]
    return []


def short(name: str) -> str:
    """`JobDetailOutput` -> `JobDetail`."""
    return name.removesuffix("Output")


def spaced(name: str) -> str:
    """`JobDetail` -> `job detail`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def safe(name: str) -> str:
    """A name that Python allows."""
    return f"{name}_" if keyword.iskeyword(name) else name


def described(schema: dict[str, Any]) -> str:
    """The description of a field, without the list of its values."""
    text = " ".join(str(schema.get("description", "")).partition("\n\n*")[0].split())
    return "" if text.startswith("* ") else text


def mapping(names: dict[str, str]) -> str:
    """A dictionary display."""
    return "{" + ", ".join(f'"{key}": {value}' for key, value in names.items()) + "}"


def docstring(text: str, indent: str) -> list[str]:
    """The lines of a docstring: a first sentence, and the rest."""
    paragraphs = [" ".join(one.split()) for one in text.replace("``", "`").split("\n\n")]
    first, *rest = paragraphs
    head, dot, tail = first.partition(". ")
    if len(first) > WIDTH - len(indent) - 8 and dot:
        first, rest = f"{head}.", [tail, *rest]
    if not first.endswith((".", "!", "?")):
        first += "."
    if len(indent) + 6 + len(first) <= WIDTH and not rest:
        return [f'{indent}"""{first}"""']
    lines = textwrap.wrap(first, WIDTH - len(indent) - 3)
    body = [f'{indent}"""{lines[0]}', *(indent + line for line in lines[1:])]
    for paragraph in rest:
        body += ["", *(indent + line for line in textwrap.wrap(paragraph, WIDTH - len(indent)))]
    return [*body, f'{indent}"""']


def groups_module() -> str:
    """The source of the class that has every group as an attribute."""
    lines = [
        '"""Every group of operations, as an attribute of a hub."""',
        "",
        "# Written by scripts/rest.py.",
        "from __future__ import annotations",
        "",
        "from functools import cached_property",
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
            "    @cached_property",
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


def write(folder: Path) -> None:
    """Write every module into a folder."""
    document = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text(encoding="utf-8"))
    for path in folder.glob("*.py"):
        if path.name not in HAND_WRITTEN:
            path.unlink()
    for module in Generator(document).modules():
        (folder / f"{module.name}.py").write_text(module.source, encoding="utf-8")
    (folder / "groups.py").write_text(groups_module(), encoding="utf-8")
    formatted(folder)


if __name__ == "__main__":
    if "--write" not in sys.argv:
        sys.exit("usage: scripts/rest.py --write")
    write(FOLDER)
