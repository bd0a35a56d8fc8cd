"""The schemas of an OpenAPI document as Python types and frozen dataclasses."""

from __future__ import annotations

import keyword
import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

WIDTH = 100
FEWEST_INHERITED = 3


class Schemas:
    """The schemas of one document.

    `released` has the fields of each schema in the release that first had it. A hub of that
    release leaves out the others, so they have defaults: none in a list, otherwise None.
    """

    def __init__(
        self, schemas: dict[str, Any], released: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self.schemas = schemas
        self.released = released or {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        schema: dict[str, Any] = self.schemas[name]
        return schema

    def is_object(self, name: str) -> bool:
        """Whether a schema has properties, and so becomes a class."""
        return "properties" in self.schemas[name]

    def hint(self, schema: dict[str, Any], *, is_result: bool) -> str:
        """The Python type of a schema: tuples and plain texts in results, choices in arguments."""
        if "$ref" in schema:
            name = name_of(schema)
            target = self.schemas[name]
            if self.is_object(name):
                return short(name) if is_result else "Mapping[str, Any]"
            return self.hint(target, is_result=is_result)
        if "allOf" in schema:
            return self.hint(schema["allOf"][0], is_result=is_result)
        if "oneOf" in schema:
            kinds = [self.hint(kind, is_result=is_result) for kind in schema["oneOf"]]
            if all(kind.startswith("Literal[") for kind in kinds):
                values = ", ".join(kind.removeprefix("Literal[")[:-1] for kind in kinds)
                return f"Literal[{values}]"
            return " | ".join(dict.fromkeys(kinds)) if "Any" not in kinds else "Any"
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        hints = [self._simple(schema, kind, is_result=is_result) for kind in kinds]
        return "Any" if "Any" in hints else " | ".join(hints)

    def _simple(self, schema: dict[str, Any], kind: str | None, *, is_result: bool) -> str:
        if kind == "array":
            item = self.hint(schema["items"], is_result=is_result)
            return f"tuple[{item}, ...]" if is_result else f"Sequence[{item}]"
        if kind == "object":
            inner = schema.get("additionalProperties") or {}
            value = self.hint(inner, is_result=is_result) if inner and inner is not True else "Any"
            return f"dict[str, {value}]" if is_result else f"Mapping[str, {value}]"
        if "enum" in schema and not is_result:
            return "Literal[{}]".format(", ".join(f'"{value}"' for value in schema["enum"]))
        if kind == "string" and schema.get("format") in {"date-time", "date"}:
            exact = {"date-time": "datetime", "date": "date"}[schema["format"]]
            return exact if is_result else f"{exact} | str"
        if "enum" in schema:
            return "str"
        return {
            "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None",
        }.get(kind or "", "Any")  # fmt: skip

    def item(self, name: str) -> str:
        """The items of a page, or the schema itself."""
        if name.endswith("Page"):
            return name_of(self.schemas[name]["properties"]["items"]["items"])
        return name

    def closure(self, name: str) -> set[str]:
        """A schema and those that its fields lead to."""
        pending, names = [name], set()
        while pending:
            current = pending.pop()
            if current in names or not self.is_object(current):
                continue
            names.add(current)
            pending += references(self.schemas[current])
        return names

    def dataclass(self, name: str, base: str | None) -> str:
        """The source of a schema's class."""
        schema = self.schemas[name]
        title = spaced(short(name))
        inherited = self._fields(base) if base else {}
        fields = [text for key, text in self._fields(name).items() if key not in inherited]
        return "\n".join([
            "@dataclass(frozen=True, kw_only=True)",
            f"class {short(name)}({short(base)}):" if base else f"class {short(name)}:",
            *docstring(schema.get("description") or f"{title[0].upper()}{title[1:]}.", "    "),
            "",
            *fields,
        ])  # fmt: skip

    def _fields(self, name: str) -> dict[str, str]:
        """The source of each field of a schema."""
        schema = self.schemas[name]
        required = set(schema.get("required", ()))
        newer = required - set(self.released.get(name, required))
        fields = {}
        for key, value in schema["properties"].items():
            hint, default = self.hint(value, is_result=True), ""
            if key in newer and hint.startswith("tuple[") and not hint.endswith("None"):
                default = " = ()"
            elif key in newer or key not in required:
                hint, default = optional(hint)
            lines = [f"    # {line}" for line in textwrap.wrap(described(value), WIDTH - 6)]
            lines.append(f"    {safe(key)}: {hint}{default}")
            fields[key] = "\n".join(lines)
        return fields

    def base(self, name: str, others: Iterable[str]) -> str | None:
        """The largest of the other schemas, of three fields or more, that this one begins with.

        Fields keep their order, so an answer is printed as the API gives it.
        """
        own = list(self._fields(name).items())
        beginnings = [
            (len(fields), other)
            for other in others
            if other != name
            and (fields := list(self._fields(other).items()))
            and FEWEST_INHERITED <= len(fields) < len(own)
            and own[: len(fields)] == fields
        ]
        return max(beginnings)[1] if beginnings else None

    def ordered(self, classes: dict[str, str], bases: Mapping[str, str | None]) -> dict[str, str]:
        """Classes by name, each after those that it has and the one that it is."""
        ordered: dict[str, str] = {}

        def add(name: str) -> None:
            for other in sorted((self.closure(name) | {bases[name] or name}) - {name}):
                if other in classes and other not in ordered:
                    add(other)
            ordered.setdefault(name, classes[name])

        for name in sorted(classes):
            add(name)
        return ordered


def optional(hint: str) -> tuple[str, str]:
    """The type of a field that may be left out, and its default as source."""
    if hint == "Any" or hint.endswith("None"):
        return hint, " = None"
    return f"{hint} | None", " = None"


def name_of(schema: dict[str, Any]) -> str:
    """The name of the schema that a reference leads to; empty for a schema in place."""
    reference: str = schema.get("$ref", "")
    return reference.rsplit("/", 1)[-1]


def references(schema: Any) -> list[str]:
    """The schemas that a schema names."""
    if isinstance(schema, dict):
        own = [name_of(schema)] if isinstance(schema.get("$ref"), str) else []
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


def docstring(text: str, indent: str) -> list[str]:
    """The lines of a docstring: a first sentence, and the rest."""
    paragraphs = [
        " ".join(paragraph.split()) for paragraph in text.replace("``", "`").split("\n\n")
    ]
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
