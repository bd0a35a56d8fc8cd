"""Texts that are slow to read, and every request of the API's description that takes text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from itertools import count, cycle, islice
from pathlib import Path
from urllib.parse import quote, urlencode

import yaml

DESCRIPTION = Path(__file__).parents[2] / "docs" / "openapi.yaml"
BODY_BYTES = 1_000_000
# The versions of the model that is asked about.
PUBLISHED, DRAFT = 1, 2
# What an address may have is limited by the server: 8,190 bytes for the whole line.
ADDRESS_CHARACTERS = 7_000

# Each unit is repeated; each has cost some parser the square of its length.
UNITS = {
    "brackets": "[",
    "round brackets": "(",
    "emphasis": "*_",
    "tags": "<a ",
    "pipes": "|",
    "quotes": "> ",
    "angles": ">",
    "word": "a",
    "combining marks": "a\u0301\u0302",
    "backticks": "`",
    "pictures": "![",
    "comments": "<!--",
    "ampersands": "&",
    "links": "[a](",
    "underscores": "a_",
    "spaces": " ",
    "lines": "\n",
    "lines of spaces": " \n",
    "table": "|a|b|\n|-|-|\n",
    "references": "[a]: b\n\n",
    "headings": "# a\n",
    "fences": "---\n",
    "braces": "{",
    "backslashes": "\\",
    "quotation marks": '"',
    "colons": "a: ",
    "commas": "a,",
    "slashes": "a/",
    "dots": "a.",
    "dashes": "a-",
    "digits": "1",
    "sentences": "x y. ",
}


def nested_lists(size):
    lines, length = [], 0
    for depth in count():
        lines.append(f"{'  ' * depth}- a\n")
        length += len(lines[-1])
        if length > size:
            break
    return "".join(lines)[:size]


def code_spans(size):
    return "".join(f"{'`' * (1 + at % 300)}a " for at in range(size // 150))[:size]


def code(size):
    return f"```c\n{text('lines', 19_000)}```\n" * (size // 19_100)


def aliases(_size):
    levels = "".join(f"a{at}: &a{at} [{f'*a{at - 1},' * 9}]\n" for at in range(1, 30))
    return f"---\na0: &a0 x\n{levels}<<: [*a1, *a2]\n---\n"


# Front matter is read up to 200,000 characters.
SPECIAL = {
    "nested lists": nested_lists,
    "code spans": code_spans,
    "code": code,
    "aliases": aliases,
    "deep yaml": lambda _: f"---\na: {'[' * 150_000}\n---\n",
    "wide yaml": lambda _: f"---\ntags: [{'a,' * 95_000}]\n---\n",
    "many values": lambda _: f"---\nlicense: [{'a,' * 19_000}]\n---\n",
    "sexagesimal": lambda _: f"---\na: {'1:' * 95_000}1\n---\n",
    "broken yaml": lambda _: "---\n" + 'a: "\n' * 39_000 + "---\n",
}


def text(family, size):
    """``size`` bytes of a family, at most."""
    if family in SPECIAL:
        return SPECIAL[family](size)
    unit = UNITS[family]
    return unit * (size // len(unit.encode()))


FAMILIES = [*UNITS, "nested lists", "code spans"]
CARD_FAMILIES = [*UNITS, *SPECIAL]


@cache
def mixed(size):
    """Every family one after another."""
    return "".join(text(family, size // len(FAMILIES)) for family in FAMILIES)


def cards():
    """Cards with their families: front matter of its own each, the other families by eight."""
    for family in SPECIAL:
        yield family, text(family, BODY_BYTES)
    units = list(UNITS)
    for group in (units[start : start + 8] for start in range(0, len(units), 8)):
        parts = [text(family, BODY_BYTES // len(group) - 2) for family in group]
        yield " and ".join(group), "\n\n".join(parts)


def short(encoded):
    """As much of a percent-encoded text as an address may have."""
    if len(encoded) <= ADDRESS_CHARACTERS:
        return encoded
    cut = encoded[:ADDRESS_CHARACTERS]
    return cut[: cut.rfind("%")] if "%" in cut[-3:] else cut


def _shapes():
    """Bodies of JSON that no endpoint should read to their end."""
    fields = (f'"a{at}":1' for at in range(BODY_BYTES // 11))
    return {
        "deep lists": b"[" * BODY_BYTES,
        "deep objects": b'{"a":' * (BODY_BYTES // 5),
        "closed deep lists": b"[" * (BODY_BYTES // 2) + b"]" * (BODY_BYTES // 2),
        "a depth of 900": b'{"a":' * 900 + b"1" + b"}" * 900,
        "list": b"[" + b"1," * (BODY_BYTES // 2 - 2) + b"1]",
        "fields": f"{{{','.join(fields)}}}".encode(),
        "digits": b"1" * BODY_BYTES,
        "quotation marks": b'{"' + b'\\"' * (BODY_BYTES // 2),
    }


SHAPES = cycle(_shapes().items())


def json_bodies(values):
    """Bodies of JSON that are costly, the shapes in turn.

    ``values`` gives the known fields, each with a text.
    """
    yield "texts", json.dumps(values, ensure_ascii=False).encode()
    if values:
        lists = dict.fromkeys(values, [1] * (4_900 // len(values)))
        yield "lists in fields", json.dumps(lists, separators=(",", ":")).encode()
    unknown = {f"a{at}": 1 for at in range(4_900)}
    yield "unknown fields", json.dumps(unknown).encode()
    yield from islice(SHAPES, 2)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, and words for it in a failure."""

    what: str
    method: str
    address: str
    body: bytes | None = None
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    # The status that it has to have; None is any but a fault of the hub's.
    expected: int | None = None


class Description:
    """The API as `docs/openapi.yaml` describes it."""

    def __init__(self, places):
        self._document = yaml.load(DESCRIPTION.read_text(), Loader=yaml.CSafeLoader)
        self._places = places
        self._families = cycle(FAMILIES)

    def asks(self):
        """For each operation: hostile bodies, and a hostile value for each parameter of text."""
        for path, item in self._document["paths"].items():
            for method, operation in item.items():
                if method in ("get", "post", "put", "patch", "delete"):
                    yield from self._of(path, method.upper(), operation)

    def _of(self, path, method, operation):
        parameters = operation.get("parameters", [])
        address = self._address(path, parameters)
        name = operation["operationId"]
        for parameter in parameters:
            kinds = self._resolved(parameter.get("schema", {})).get("type")
            if parameter["in"] == "query" and kinds != "boolean" and method == "GET":
                family = next(self._families)
                query = short(urlencode({parameter["name"]: text(family, ADDRESS_CHARACTERS)}))
                yield Ask(f"{name} {parameter['name']} {family}", method, f"{address}?{query}")
            if parameter["in"] == "path" and kinds == "string":
                family = next(self._families)
                value = short(quote(text(family, ADDRESS_CHARACTERS), safe="/"))
                at = self._address(path, parameters, {parameter["name"]: value})
                yield Ask(f"{name} {parameter['name']} {family}", method, at)
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            yield from self._bodies(name, method, address, kind, content["schema"])

    def _bodies(self, name, method, address, kind, schema):
        headers = {"If-Match": "*", "Upload-Offset": "0", "Tus-Resumable": "1.0.0"}
        if kind == "application/json":
            for what, body in json_bodies(self._values(schema)):
                yield Ask(f"{name} {what}", method, address, body, kind, headers)
            return
        if name == "card_check":
            texts = [(family, text(family, BODY_BYTES)) for family in CARD_FAMILIES]
        elif name.startswith("card_"):
            texts = cards()
        else:  # bytes that no parser of texts sees
            texts = [("word", text("word", BODY_BYTES)), ("every family", mixed(BODY_BYTES))]
        for families, content in texts:
            yield Ask(f"{name} {families}", method, address, content.encode(), kind, headers)

    def _values(self, schema):
        """Each property of text with its part of a hostile text; others as they should be."""
        properties = self._resolved(schema).get("properties", {})
        share = BODY_BYTES // max(1, len(properties))
        return {name: self._value(part, share) for name, part in properties.items()}

    def _value(self, schema, size):
        schema = self._resolved(schema)
        kinds = schema.get("type")
        kind = kinds[0] if isinstance(kinds, list) else kinds
        if "enum" in schema:
            return schema["enum"][0]
        if kind == "array":
            return [self._value(schema.get("items", {}), size)]
        if kind in ("integer", "number", "boolean"):
            return 1
        if kind == "object":
            return {"a": mixed(size)}
        return mixed(size)

    def _resolved(self, schema):
        while "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        for part in schema.get("allOf", schema.get("oneOf", []))[:1]:
            return self._resolved(part)
        return schema

    def _address(self, path, parameters, given=None):
        values = self._places | (given or {})
        path = path.replace("/versions/{number}", f"/versions/{DRAFT}")
        for parameter in parameters:
            if parameter["in"] == "path":
                name = parameter["name"]
                path = path.replace(f"{{{name}}}", str(values.get(name, "1")))
        return path


def hub_protocol(model):
    """Requests of the Hub protocol, git and LFS included, which the description leaves out."""
    api = f"/api/models/{model}"
    for families, card in cards():
        content = as_json({"content": card})
        yield Ask(f"validate {families}", "POST", "/api/validate-yaml", content)
        yield Ask(f"commit {families}", "POST", f"{api}/commit/main", commit("README.md", card))
    lines = mixed(BODY_BYTES)
    yield Ask("commit path", "POST", f"{api}/commit/main", commit(lines, "x"))
    yield Ask("commit key", "POST", f"{api}/commit/main", as_json({"key": lines, "value": {}}))
    places = [
        f"{api}/preupload/main",
        f"{api}/paths-info/main",
        f"/{model}.git/info/lfs/objects/batch",
        f"{api}/user-access-request/grant",
        f"{api}/branch/x",
        f"{api}/tag/x",
        f"{api}/commit/main",
        "/api/repos/create",
        "/api/repos/move",
    ]
    names = ["files", "paths", "objects", "oid", "user", "name", "tag", "fromRepo", "startingPoint"]
    for place in places:
        for what, body in json_bodies({name: mixed(BODY_BYTES // len(names)) for name in names}):
            yield Ask(f"{place} {what}", "POST", place, body)
    form = "application/x-www-form-urlencoded"
    yield Ask("paths form", "POST", f"{api}/paths-info/main", b"paths=a&" * 125_000, form)
    packs = [b"0" * BODY_BYTES, b"0009done\n" * 100_000, b"0032want " + b"1" * BODY_BYTES]
    packs += [b"0032want %040d\n" % at * 18_000 for at in (0, 1)]
    for body in packs:
        kind = "application/x-git-upload-pack-request"
        headers = {"Git-Protocol": "version=2"}
        yield Ask("git", "POST", f"/{model}.git/git-upload-pack", body, kind)
        yield Ask("git 2", "POST", f"/{model}.git/git-upload-pack", body, kind, headers)
    for family in FAMILIES:
        rest = short(quote(text(family, ADDRESS_CHARACTERS)))
        yield Ask(f"tree {family}", "GET", f"{api}/tree/{rest}")
        yield Ask(f"resolve {family}", "GET", f"/{model}/resolve/main/{rest}")


def headers(places):
    """Hostile headers for addresses that read them."""
    names = [
        "Range",
        "Accept",
        "If-None-Match",
        "If-Match",
        "If-Range",
        "Cookie",
        "Accept-Encoding",
    ]
    names += ["Accept-Language", "Authorization", "X-Request-Id", "Content-Type", "Prefer"]
    for place in places:
        for name, family in zip(names * 2, FAMILIES, strict=False):
            value = text(family, ADDRESS_CHARACTERS).replace("\n", " ").strip() or "x"
            value = value.encode().decode("latin-1")
            if name == "Range":
                value = f"bytes={value}"
            yield Ask(f"{name} {family} {place}", "GET", place, headers={name: value})
        yield Ask(f"Range {place}", "GET", place, headers={"Range": f"bytes={'1' * 7_000}-"})


# Units that a query can have many of; it is read no further than the first error.
QUERIED = [
    "brackets", "round brackets", "braces", "tags", "angles", "word", "quotation marks", "digits",
    "colons", "dots", "slashes", "backslashes", "combining marks", "spaces", "lines",
]  # fmt: skip


def sparql():
    """Queries, guarded and not."""
    starts = ["SELECT * { ?s ?p ", "SELECT * { FILTER(", ""]
    for family, start in zip(QUERIED, starts * 5, strict=False):
        body = (start + text(family, 99_000)).encode()[:100_000]
        yield Ask(f"query {start}{family}", "POST", "/sparql", body, "application/sparql-query")
    for family in FAMILIES[:3]:
        body = urlencode({"query": text(family, BODY_BYTES)}).encode()
        form = "application/x-www-form-urlencoded"
        yield Ask(f"form {family}", "POST", "/sparql", body, form)


PAGES = [
    "/", "/models", "/models/suggest", "/compare", "/compare.csv", "/health", "/benchmarks", "/ns",
    "/catalog", "/trainings", "/datasets", "/query", "/query/result.csv", "/scoreboard", "/jobs",
    "/login", "/models/{model}", "/models/{model}/versions", "/models/{model}/v/1",
    "/models/{model}/v/1/files", "/models/{model}/v/1/view/README.md",
    "/models/{model}/v/1/provenance", "/models/{model}/v/1/carbon", "/models/{model}/v/1/lineage",
    "/models/{model}/v/1/benchmarks", "/models/{model}/v/1/try", "/models/{model}/v/1/graph",
    "/models/{model}/v/1/conformance", "/models/{model}/v/1/variants",
    "/models/{model}/v/1/graph/diff/1",
]  # fmt: skip
PARAMETERS = [
    "q", "contains", "cursor", "page", "license", "sort", "variant", "device", "runtime", "query",
    "m", "ref", "namespace", "keyword", "operator", "opset_max", "provider", "next", "node", "at",
]  # fmt: skip


def pages(model):
    """Pages of people with hostile parameters."""
    families, parameters = cycle(FAMILIES), cycle(PARAMETERS)
    for page in PAGES:
        for name in ["q", *islice(parameters, 4)]:
            query = short(urlencode({name: text(next(families), ADDRESS_CHARACTERS)}))
            kind = "text/html"
            address = f"{page.format(model=model)}?{query}"
            yield Ask(f"{page} {name}", "GET", address, headers={"Accept": kind})
    starts = cycle(["models", "datasets", "operators", "devices", "problems", "runtimes", "zoo"])
    for family in FAMILIES:
        rest = short(quote(text(family, ADDRESS_CHARACTERS)))
        for start in islice(starts, 2):
            yield Ask(f"/{start} {family}", "GET", f"/{start}/{rest}")


def as_json(value):
    return json.dumps(value, ensure_ascii=False).encode()


def commit(path, content):
    """The lines of a commit that adds one file."""
    header = {"key": "header", "value": {"summary": "x"}}
    file = {"key": "file", "value": {"path": path, "content": content, "encoding": "utf-8"}}
    return as_json(header) + b"\n" + as_json(file) + b"\n"


FORMS = [
    "/login", "/account/tokens", "/account/namespaces/new", "/datasets/new", "/datasets/set/edit",
    "/upload", "/compare", "/query", "/theme", "/scoreboard/start",
    "/models/{model}/settings", "/models/{model}/upload", "/models/{model}/access/grant",
    "/models/{model}/trainings/1/invite", "/models/{model}/v/1/try/ask",
    "/models/{model}/v/1/try/contribute", "/models/{model}/v/1/variants/annotate",
    "/models/{model}/v/2/draft/card", "/models/{model}/v/2/draft/remove",
]  # fmt: skip
FIELDS = [
    "name", "title", "slug", "summary", "description", "iri", "path", "told", "browser", "query",
    "keywords", "license", "namespace", "username", "scopes", "note", "email", "text", "next",
    "card", "base", "tags", "f/summary", "f/tags", "f/hyperparameters", "categories", "reason",
]  # fmt: skip


def forms(model):
    """Forms of people with every field hostile, and cards in the editor."""
    kind = "application/x-www-form-urlencoded"
    fields = dict.fromkeys(FIELDS, mixed(BODY_BYTES // len(FIELDS)))
    many = [*fields.items(), *(("keyword", "a") for _ in range(900))]
    for place in FORMS:
        body = urlencode(many).encode()
        yield Ask(f"form {place}", "POST", place.format(model=model), body, kind)
    deep = urlencode({"told": "[" * 60_000}).encode()
    yield Ask("told", "POST", f"/models/{model}/v/1/try/contribute", deep, kind)
    place = f"/models/{model}/v/2/draft/card"
    modes = cycle([("text", "card"), ("form", "base")])
    for family, (mode, name) in zip(EDITED, modes, strict=False):
        card = text(family, BODY_BYTES // 2)
        body = urlencode({"mode": mode, name: card, "do": "form"}).encode()
        yield Ask(f"editor {mode} {family}", "POST", place, body, kind)
    for family in ("wide yaml", "brackets"):
        card = text(family, BODY_BYTES // 2)
        mapping = urlencode({"mode": "form", "base": "---\na: b\n---\n", "do": "form",
                             "hyperparameters": card}).encode()  # fmt: skip
        yield Ask(f"editor field {family}", "POST", place, mapping, kind)


# What a card's front matter, and what its page, take longest for.
EDITED = [*(one for one in SPECIAL if one not in FAMILIES), "brackets", "sentences"]
SHOWN = [
    "brackets", "pictures", "table", "nested lists", "code", "many values",
]  # fmt: skip


def shown_cards(model):
    """Cards that are stored, and then every page that shows or reads them."""
    for family in SHOWN:
        card = text(family, 900_000).encode()
        place = f"/api/v1/models/{model}/versions/{DRAFT}/card"
        yield Ask(f"store {family}", "PUT", place, card, "text/markdown", {"If-Match": "*"}, 200)
        for page in ("", "/view/README.md", "/view/README.md?source", "/draft"):
            place = f"/models/{model}/v/{DRAFT}{page}"
            yield Ask(
                f"{page or '/'} of {family}", "GET", place, headers={"Accept": "text/html"},
                expected=200,
            )  # fmt: skip
