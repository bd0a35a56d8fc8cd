"""What the groups of operations have in common: one request, its arguments, and its answer."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast
from urllib.parse import quote

from hub.client.rest import answers
from hub.protocol import problems, refs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hub.client.answers import Answer
    from hub.client.transport import Transport

# A body: bytes, a text, or the path of a file.
Content: TypeAlias = bytes | str | Path


class Connection(Protocol):
    """What the groups need of a `Hub`."""

    transport: Transport


PAGE = 100
API = "/api/v1/"
_T = TypeVar("_T")
_U = TypeVar("_U")


class Group:
    """Operations on one kind of thing, of one hub.

    A model is `namespace/name`, or the name alone of a model of the zoo. Lists are iterators that
    fetch their pages as they are read. All raise the problems of docs/api.md, as `hub.errors`.
    """

    def __init__(self, hub: Connection) -> None:
        self._hub = hub

    def _send(
        self,
        method: str,
        address: str,
        *,
        query: Mapping[str, Any] | None = None,
        content: Mapping[str, Any] | None = None,
        body: tuple[Content, str] | None = None,
        headers: Mapping[str, str | None] | None = None,
        etag: str | None = None,
        is_idempotent: bool = False,
    ) -> Answer:
        self._hub.transport.config.require_network(address, "hub." + type(self).__name__.lower())
        sent = {name: value for name, value in (headers or {}).items() if value is not None}
        if is_idempotent:
            sent["Idempotency-Key"] = str(uuid.uuid4())
        if etag:
            sent["If-Match"] = etag
        data = None
        if body is not None:
            data, sent["Content-Type"] = _bytes(body[0]), body[1]
        return self._hub.transport.request(
            method,
            API + address,
            query=query,
            content=content,
            body=data,
            headers=sent,
            repeatable=True if is_idempotent else None,
        )

    def _call(
        self, kind: type[_T], method: str, address: str, *, etag_of: str = "", **options: Any
    ) -> _T:
        """Send a request and read its answer; without one, as with 204, it is None.

        With `etag` among the options, None stands for the present state: its ETag is read first.
        """
        if "etag" in options and options["etag"] is None:
            options["etag"] = self._etag(etag_of or address)
        answer = self._send(method, address, **options)
        if answer.status == 204:
            return cast("_T", None)
        return answers.read(kind, answer.json())

    def _either(
        self, kinds: tuple[type[_T], type[_U]], method: str, address: str, **options: Any
    ) -> _T | _U:
        """The answer as the first of two types that it fits."""
        value = self._send(method, address, **options).json()
        try:
            return answers.read(kinds[0], value)
        except problems.Unreachable:
            return answers.read(kinds[1], value)

    def _do(self, method: str, address: str, **options: Any) -> None:
        self._send(method, address, **options)

    def _text(self, address: str, **options: Any) -> str:
        headers = {"Accept": "*/*"}
        return self._send("GET", address, headers=headers, **options).body.decode("utf-8")

    def _items(self, kind: type[_T], method: str, address: str, **options: Any) -> tuple[_T, ...]:
        """A short list, in one answer."""
        value = self._send(method, address, **options).json()
        items = value.get("items") if isinstance(value, dict) else value
        if not isinstance(items, list):
            raise problems.Unreachable("The hub's response is no list.", is_transient=False)
        return tuple(answers.read(kind, item) for item in items)

    def _pages(
        self,
        kind: type[_T],
        address: str,
        *,
        limit: int | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Iterator[_T]:
        """Iterate over a list, at most `limit` items, page by page."""

        def every() -> Iterator[_T]:
            fields = {**(query or {}), "limit": min(PAGE, limit or PAGE)}
            page = self._send("GET", address, query=fields).json()
            yield from (answers.read(kind, item) for item in page["items"])
            while page.get("next"):
                page = self._hub.transport.get(page["next"])
                yield from (answers.read(kind, item) for item in page["items"])

        return itertools.islice(every(), limit)

    def _file(
        self, address: str, *, to: Path | str, query: Mapping[str, Any] | None = None
    ) -> Path:
        """Write a body to a file, block by block; the file appears when it is whole."""
        target = Path(to)
        part_file = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            with (
                self._hub.transport.stream(API + address, query=query) as stream,
                part_file.open("wb") as writer,
            ):
                while block := stream.read():
                    writer.write(block)
                writer.flush()
                os.fsync(writer.fileno())
            part_file.replace(target)
        finally:
            part_file.unlink(missing_ok=True)
        return target

    def _etag(self, address: str) -> str | None:
        """The ETag of what lies at an address now, or None where there is nothing yet."""
        try:
            answer = self._hub.transport.request("GET", API + address, headers={"Accept": "*/*"})
        except problems.NotFound:
            return None
        return answer.headers.get("ETag")


def model_path(model: str) -> str:
    """`namespace/name` of a model, in an address; raises InvalidReference."""
    parsed = refs.parse(model)
    return f"{part(parsed.namespace)}/{part(parsed.model)}"


def collection_path(collection: str) -> str:
    """`namespace/name` of a collection, in an address; raises InvalidReference."""
    namespace, slash, slug = collection.partition("/")
    if not (namespace and slash and slug) or "/" in slug:
        raise problems.InvalidReference(
            f"{collection[:120]!r} is not a collection. Write namespace/name, for example "
            "zoo/small-classifiers."
        )
    return f"{part(namespace)}/{part(slug)}"


def part(value: str | int) -> str:
    """A value as one part of an address."""
    return quote(_safe(str(value)), safe="@:")


def tail(value: str) -> str:
    """A path as the end of an address."""
    return quote(_safe(value), safe="/@:")


def _safe(value: str) -> str:
    # Clients and servers resolve these, so that the address would be another.
    if not value or any(one in {".", ".."} for one in value.split("/")):
        raise problems.InvalidRequest(f"{value!r} is not a valid name or path.")
    return value


def explicit(value: object) -> object:
    """An optional field in which None means null, and `...` means no change."""
    return _NULL if value is None else None if value is ... else value


def json_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that have a value."""
    return {name: _json(value) for name, value in fields.items() if value is not None}


_NULL = object()


def _json(value: object) -> object:
    if value is _NULL:
        return None
    if isinstance(value, datetime | date):
        return answers.plain(value)
    if isinstance(value, Mapping):
        return {key: _json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    return value


def _bytes(content: Content) -> bytes:
    if isinstance(content, Path):
        return content.read_bytes()
    return content.encode() if isinstance(content, str) else content
