"""The operations of an OpenAPI document as methods of a group."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scripts.rest_schemas import described, docstring, name_of, references, safe, short

if TYPE_CHECKING:
    from scripts.rest_schemas import Schemas

UNSET = "EllipsisType"
LONGEST_HELP = 200
METHODS = frozenset({"get", "post", "put", "patch", "delete"})
PAGING = frozenset({"cursor", "limit", "facets"})
# Parameters of a path that are whole numbers.
NUMBERS = frozenset(
    {"number", "round_number", "token_id", "card_id", "id", "discussion", "comment"}
)
# Two parameters of a path -> the one argument for both, and the beginning of such paths.
NAMES_IN_TWO = (
    ("{namespace}/{name}", "model", "models/"),
    ("{namespace}/{slug}", "collection", "collections/"),
    ("{model_namespace}/{model_name}", "model", "collections/"),
)


@dataclass(frozen=True)
class Option:
    """A keyword argument of a method."""

    name: str
    hint: str
    description: str = ""
    is_required: bool = False

    @property
    def source(self) -> str:
        """The argument as it stands in the list of parameters."""
        hint = self.hint
        text = described({"description": self.description}).replace("`", "")
        if len(text) > LONGEST_HELP:
            text = text.partition(";")[0].partition(". ")[0]
        if not self.is_required and "None" not in hint.split(" | ") and UNSET not in hint:
            hint = f"{hint} | None"
        default = "" if self.is_required else " = ..." if UNSET in hint else " = None"
        return f"{self.name}: " + (f'Annotated[{hint}, "{text}"]' if text else hint) + default


@dataclass
class Arguments:
    """The options of a method, and what it hands to the method of `Group` that calls the API."""

    options: list[Option] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def add(self, call: str, *options: Option) -> None:
        """Options and the argument that carries them."""
        self.options += options
        self.calls.append(call)


@dataclass(frozen=True)
class Result:
    """The type of a result, the method of `Group` that gets it, and its first argument."""

    hint: str
    verb: str
    first: str = ""


@dataclass(frozen=True)
class Operation:
    """One operation of the document."""

    identifier: str
    method: str
    path: str
    details: dict[str, Any]
    schemas: Schemas

    def results(self) -> list[str]:
        """The object schemas of what succeeds; of a page, that of its items."""
        names = [
            self.schemas.item(name)
            for content in self._successes().values()
            for media in content.values()
            for name in references(media.get("schema", {}))
        ]
        return [name for name in names if self.schemas.is_object(name)]

    def source(self, name: str, *, read_first: str | None) -> str:
        """The method.

        `read_first` is None, or for an operation with an ETag how it is read first (rest.toml).
        """
        address, places = self._address()
        arguments = Arguments()
        self._add_query(arguments)
        self._add_body(arguments)
        self._add_headers(arguments)
        if read_first is not None:
            arguments.add(
                "etag=etag", Option("etag", "str", "ETag that you read (default: the current one)")
            )
            if read_first:
                arguments.add(f'etag_of={address.rsplit("/", 1)[0]}"')
        result = self._result()
        if result.verb == "_pages":
            arguments.add(
                "limit=limit", Option("limit", "int", "maximum number of results (default: all)")
            )
        if result.verb == "_file":
            arguments.add("to=to", Option("to", "Path | str", "file to write", is_required=True))
        parameters = ["self", *places]
        if arguments.options:
            options = sorted(arguments.options, key=lambda option: not option.is_required)
            parameters += ["*", *(option.source for option in options)]
        values = [result.first] if result.first else []
        if result.verb in {"_call", "_do"}:
            values.append(f'"{self.method}"')
        values += [address, *arguments.calls]
        back = "" if result.hint == "None" else "return "
        text = self.details.get("description") or self.details.get("summary", "")
        return "\n".join([
            f"    def {name}({', '.join(parameters)}) -> {result.hint}:",
            *docstring(text, "        "),
            f"        {back}self.{result.verb}({', '.join(values)})",
        ])  # fmt: skip

    def _parameters(self, place: str) -> list[dict[str, Any]]:
        return [
            parameter
            for parameter in self.details.get("parameters", ())
            if parameter["in"] == place
        ]

    def _successes(self) -> dict[str, dict[str, Any]]:
        """The content of each answer that is no error, by status."""
        return {
            status: response.get("content", {})
            for status, response in self.details["responses"].items()
            if status.startswith("2")
        }

    def _address(self) -> tuple[str, list[str]]:
        """The address as an f-string, and the arguments in it; namespace and name are one."""
        path = self.path.removeprefix("/api/v1/")
        arguments = []
        for names, argument, prefix in NAMES_IN_TWO:
            if path.startswith(prefix) and names in path:
                path = path.replace(names, f"{{{argument}_path({argument})}}", 1)
                arguments.append(f"{argument}: str")

        def value(match: re.Match[str]) -> str:
            name = match[1]
            is_number = name in NUMBERS
            arguments.append(f"{name}: {'int' if is_number else 'str'}")
            return f"{{{'tail' if name in {'path', 'ref'} else 'part'}({name})}}"

        path = re.sub(r"\{(\w+)\}", value, path)
        return (f'f"{path}"' if "{" in path else f'"{path}"'), arguments

    def _add_query(self, arguments: Arguments) -> None:
        options = {
            parameter["name"]: Option(
                safe(parameter["name"]),
                self.schemas.hint(parameter["schema"], is_result=False),
                parameter.get("description", ""),
                bool(parameter.get("required")),
            )
            for parameter in self._parameters("query")
            if parameter["name"] not in PAGING
        }
        if options:
            names = {key: option.name for key, option in options.items()}
            arguments.add(f"query={mapping(names)}", *options.values())

    def _add_headers(self, arguments: Arguments) -> None:
        headers = {parameter["name"] for parameter in self._parameters("header")}
        if "Hub-Signature" in headers:
            arguments.add(
                'headers={"Hub-Signature": signature}',
                Option("signature", "str", "signature of the record, from `hub bench`"),
            )
        if "Idempotency-Key" in headers:
            arguments.add("is_idempotent=True")

    def _add_body(self, arguments: Arguments) -> None:
        content = self.details.get("requestBody", {}).get("content", {})
        if not content:
            return
        media, body = next(iter(content.items()))
        schema = body["schema"]
        if media != "application/json":
            text = "the content, or the path of a file"
            option = Option("content", "Content", text, is_required=True)
            arguments.add(f'body=(content, "{media}")', option)
        elif "$ref" not in schema:
            option = Option("content", "Mapping[str, Any]", "the JSON document", is_required=True)
            arguments.add("content=json_of(content)", option)
        else:
            self._add_fields(arguments, self.schemas[name_of(schema)])

    def _add_fields(self, arguments: Arguments, schema: dict[str, Any]) -> None:
        names = {}
        for key, value in schema["properties"].items():
            hint = self.schemas.hint(value, is_result=False)
            if self.method == "PATCH" and hint.endswith("None"):
                hint = f"{hint.removesuffix(' | None')} | {UNSET} | None"
            is_required = key in schema.get("required", ())
            arguments.options.append(
                Option(safe(key), hint, value.get("description", ""), is_required)
            )
            names[key] = f"explicit({key})" if UNSET in hint else safe(key)
        arguments.add(f"content=json_of({mapping(names)})")

    def _result(self) -> Result:
        successes = self._successes()
        bodies = [
            (media, body.get("schema", {}))
            for content in successes.values()
            for media, body in content.items()
        ]
        if not bodies:
            return Result("None", "_do")
        for media, schema in bodies:
            if schema.get("format") == "binary":
                return Result("Path", "_file")
            if media != "application/json":
                return Result("str", "_text")
        _, schema = bodies[0]
        if items := self._items(schema):
            return items
        hint = " | ".join(
            dict.fromkeys(self.schemas.hint(body, is_result=True) for _, body in bodies)
        )
        if "204" in successes:
            return Result(f"{hint} | None", "_call", hint)
        verb = "_either" if " | " in hint else "_call"
        first = f'({hint.replace(" | ", ", ")}), "{self.method}"' if " | " in hint else hint
        return Result(hint, verb, first)

    def _items(self, schema: dict[str, Any]) -> Result | None:
        """The result of an operation that lists things; None for others."""
        name = name_of(schema)
        if name.endswith("Page"):
            item = short(self.schemas.item(name))
            if self.method == "GET" and any(
                parameter["name"] == "limit" for parameter in self._parameters("query")
            ):
                return Result(f"Iterator[{item}]", "_pages", item)
        elif schema.get("type") == "array":
            item = short(name_of(schema["items"]))
        else:
            return None
        return Result(f"tuple[{item}, ...]", "_items", f'{item}, "{self.method}"')


def mapping(names: dict[str, str]) -> str:
    """A dictionary display."""
    return "{" + ", ".join(f'"{key}": {value}' for key, value in names.items()) + "}"
