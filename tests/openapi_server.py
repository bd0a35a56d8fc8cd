"""A server on loopback that speaks exactly docs/openapi.yaml: it checks requests, and answers.

A request that the document does not describe (address, parameter, body) is answered with 400.
"""

from __future__ import annotations

import json
import re
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parents[1]
UUID = "0a1b2c3d-0000-4000-8000-000000000001"
METHODS = ("get", "post", "put", "patch", "delete")


@cache
def document():
    """The API's document; read once and by the loader in C, as every process of tests does it."""
    return yaml.load((ROOT / "docs/openapi.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)


def operations():
    """Every operation as (id, method, path, its description)."""
    return [
        (one["operationId"], method.upper(), path, one)
        for path, methods in document()["paths"].items()
        for method, one in methods.items()
        if method in METHODS
    ]


def sample(schema, name="", released=None):
    """A value that a schema allows, with every property.

    With `released`, the fields of released answers by schema: as a hub of that release answers.
    """
    if "$ref" in schema:
        kind = schema["$ref"].rsplit("/", 1)[-1]
        target = document()["components"]["schemas"][kind]
        if released and kind in released:
            properties = target["properties"]
            kept = {key: properties[key] for key in properties.keys() & released[kind]}
            target = target | {"properties": kept}
        return sample(target, name, released)
    for key in ("allOf", "oneOf"):
        if key in schema:
            return sample(schema[key][0], name, released)
    if "enum" in schema:
        return schema["enum"][-1]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        inner = schema.get("additionalProperties")
        properties = schema.get("properties", {})
        content = {key: sample(value, key, released) for key, value in properties.items()}
        return content or ({"a": sample(inner, "", released)} if inner else {})
    if kind == "array":
        return [sample(schema["items"], "", released)] * schema.get("minItems", 1)
    formats = {"date-time": "2026-01-31T12:00:00.5Z", "date": "2026-01-31", "uuid": UUID}
    if kind == "string":
        # The next page of a list of one page.
        return formats.get(schema.get("format"), "text") if name != "next" else None
    return {"integer": 3, "number": 0.5, "boolean": True}.get(kind, {})


class OpenApiServer:
    """The server; `requests` are the ids of the operations that were called, in order."""

    def __init__(self):
        self.requests = []
        self.faults = []
        self.patterns = [
            (re.compile(re.sub(r"\{\w+\}", "([^/]+)", re.sub(r"\{(path|ref)\}", "(.+)", path))),
             method, one)
            for _, method, path, one in operations()
        ]  # fmt: skip
        # A path without variables goes first.
        self.patterns.sort(key=lambda pattern: pattern[0].pattern.count("("))
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def __getattr__(self, name):
                if name.startswith("do_"):
                    return lambda: owner.answer(self)
                raise AttributeError(name)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler):
        parts = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path = unquote(parts.path)
        if path == "/sparql":
            result = {"head": {"vars": ["a"]}, "results": {"bindings": []}}
            return self.send(handler, 200, "application/sparql-results+json", json.dumps(result))
        one = next(
            (one for pattern, method, one in self.patterns
             if method == handler.command and pattern.fullmatch(path)),
            None,
        )  # fmt: skip
        fault = self.fault(handler, one, parse_qs(parts.query, keep_blank_values=True), body)
        if fault:
            self.faults.append(f"{handler.command} {handler.path}: {fault}")
            problem = json.dumps({"type": "/problems/invalid-request", "detail": fault})
            return self.send(handler, 400, "application/problem+json", problem)
        self.requests.append(one["operationId"])
        status, response = next(
            (status, response) for status, response in one["responses"].items() if status[0] == "2"
        )
        for media, content in response.get("content", {}).items():
            schema = content.get("schema", {})
            value = sample(schema)
            is_text = media != "application/json" or schema.get("format") == "binary"
            return self.send(handler, int(status), media, "text" if is_text else json.dumps(value))
        return self.send(handler, int(status), "text/plain", "")

    def fault(self, handler, one, query, body):
        """What a request has that the document does not allow."""
        if one is None:
            return "no operation"
        parameters = {
            item["name"]: item for item in one.get("parameters", ()) if item["in"] == "query"
        }
        if unknown := query.keys() - parameters.keys():
            return f"unknown parameters {sorted(unknown)}"
        if missing := {n for n, item in parameters.items() if item.get("required")} - query.keys():
            return f"missing parameters {sorted(missing)}"
        for name, values in query.items():
            schema = parameters[name]["schema"]
            schema = schema["items"] if schema.get("type") == "array" else schema
            if "enum" in schema and not set(values) <= set(schema["enum"]):
                return f"{name} is {values}"
        content = one.get("requestBody", {}).get("content", {})
        media = (handler.headers.get("Content-Type") or "").partition(";")[0]
        if not content:
            return "a body" if body else None
        if body and media not in content:
            return f"a body of {media}, not {sorted(content)}"
        if media == "application/json":
            schema = {**content[media]["schema"], "components": document()["components"]}
            error = jsonschema.exceptions.best_match(
                jsonschema.Draft202012Validator(schema).iter_errors(json.loads(body))
            )
            if error:
                return f"{error.json_path}: {error.message}"
            known = (
                document()["components"]["schemas"]
                .get(content[media]["schema"].get("$ref", "").rsplit("/", 1)[-1], {})
                .get("properties")
            )
            if known is not None and json.loads(body).keys() - known.keys():
                return f"unknown fields {sorted(json.loads(body).keys() - known.keys())}"
        return None

    @staticmethod
    def send(handler, status, media, text):
        body = text.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", media)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("ETag", '"1"')
        handler.end_headers()
        handler.wfile.write(body)
