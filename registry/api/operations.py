"""Operations of the API, declared in one place each: address, body, service, answer, entity tag.

The handler of an operation takes the fields of its body and returns what its answer shows. Before
the body is read, the view looks up what its address names, so that nothing is said of what the
caller may not see.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from registry.api import etags, pagination
from registry.api.inputs import parse
from registry.api.outputs import answers_of
from registry.api.parameters import PAGED, asks
from registry.versions import selectors

_Shape = type[Serializer[Any]]

_Handler = TypeVar("_Handler", bound="Callable[..., Any]")
_T = TypeVar("_T")


class Stored(NamedTuple):
    """A row that an operation answers with; 201 if it is new, else 200."""

    row: Any
    is_new: bool


def resource(
    selector: Callable[..., _T], *parts: str, needs_actor: bool = True
) -> cached_property[_T]:
    """A property that a selector finds for the caller by parts of the address; raises NotFound."""

    def find(view: View) -> _T:
        actor = (view.request.user,) if needs_actor else ()
        values = (view.kwargs[part] if part in view.kwargs else view.part(part) for part in parts)
        return selector(*actor, *values)

    return cached_property(find)


class View(ViewSetMixin, APIView):
    """Operations at addresses of the API; `targets` name what these lead to, if anything."""

    targets: ClassVar[tuple[str, ...]] = ()

    def part(self, name: str) -> Any:
        """What a part of the address leads to, for which there is a property, or its text."""
        is_resource = isinstance(getattr(type(self), name, None), cached_property)
        return getattr(self, name) if is_resource else self.kwargs[name]

    def resources(self, targets: tuple[str, ...] | None = None) -> list[Any]:
        """What the address leads to; raises NotFound."""
        return [self.part(name) for name in (self.targets if targets is None else targets)]

    def context(self) -> dict[str, Any]:
        """What the serializers of answers may ask."""
        return {"request": self.request, "view": self}

    def data(self, output: _Shape, row: Any) -> Any:
        """What an answer says of a row."""
        return dict(output(row, context=self.context()).data)


class ModelView(View):
    """At or below the address of a model that the caller sees."""

    targets = ("model",)
    model = resource(selectors.model, "namespace", "name")


class VersionView(View):
    """At or below the address of a version that the caller sees."""

    targets = ("version",)
    version = resource(selectors.version, "namespace", "name", "number")


def operation(
    operation_id: str,
    output: _Shape | None = None,
    *,
    targets: tuple[str, ...] | None = None,
    reads: _Shape | None = None,
    body_optional: bool = False,
    status: int = 0,
    tagged: bool = False,
    guarded: bool = False,
    location: Callable[[Any], str] | None = None,
    headers: dict[str, str] | None = None,
    **schema: Any,
) -> Callable[[_Handler], _Handler]:
    """Make a handler an operation, which answers with `output`, with nothing, or as it says.

    It looks up ``targets``, or else those of its view. ``reads`` is the body; with
    ``body_optional``, none at all is an empty one. A ``tagged`` answer has an ETag; a ``guarded``
    operation needs If-Match of the target's answer, ``location`` says where what was made lies. The
    rest is for OpenAPI.
    """
    status = status or (200 if output else 204)
    schema = {"request": reads, "responses": {status: output}} | schema

    def declare(handler: _Handler) -> _Handler:
        @extend_schema(operation_id=operation_id, **schema)
        @wraps(handler)
        def answer(view: View, request: Request, **_: Any) -> HttpResponseBase:
            rows = view.resources(targets)
            if guarded and output:
                etags.require(request, etags.of(view.data(output, rows[-1])))
            body = (request.data or {}) if body_optional else request.data
            row, code = handler(view, **(parse(reads, body) if reads else {})), status
            if isinstance(row, HttpResponseBase):
                return row
            if isinstance(row, Stored):
                row, code = row.row, 201 if row.is_new else 200
            if output is None:
                return Response(status=code, headers=headers)
            data = view.data(output, row)
            if tagged:
                response = etags.respond(request, data, status=code)
            else:
                response = Response(data, status=code, headers=headers)
            if location:
                response["Location"] = location(row)
            return response

        return answer  # type: ignore[return-value]

    return declare


def listing(
    operation_id: str,
    output: _Shape,
    *parameters: OpenApiParameter | _Shape,
    by: str = "",
    rising: bool = False,
    targets: tuple[str, ...] | None = None,
    **schema: Any,
) -> Callable[[_Handler], _Handler]:
    """Make a handler the operation of a list, whose rows it returns.

    They come in pages from the highest `by` down, or from the lowest up if `rising`; without `by`
    all at once. A serializer among the parameters is read, and gives the handler its fields.
    """
    query = next((shape for shape in parameters if isinstance(shape, type)), None)

    def declare(handler: _Handler) -> _Handler:
        @extend_schema(operation_id=operation_id, responses=pagination.paged(output), **schema)
        @asks(*parameters, *(PAGED if by else ()))
        @wraps(handler)
        def answer(view: View, request: Request, **_: Any) -> Response:
            view.resources(targets)
            values = parse(query, request.query_params.dict()) if query else {}
            rows = handler(view, **values)
            if not by:
                return pagination.respond(request, output, rows, None)
            page, cursor = pagination.by_number(request, rows, by, rising=rising)
            return pagination.answer(request, answers_of(output, page, view.context()), cursor)

        return answer  # type: ignore[no-any-return]

    return declare


def detail(
    operation_id: str,
    output: _Shape,
    description: str,
    *,
    targets: tuple[str, ...] | None = None,
    **options: Any,
) -> Any:
    """The operation that shows the last of its targets."""

    def handler(view: View) -> Any:
        return view.resources(targets)[-1]

    declare = operation(operation_id, output, targets=targets, description=description, **options)
    return declare(handler)


def command(
    operation_id: str,
    service: Callable[..., Any],
    description: str,
    output: _Shape | None = None,
    *,
    targets: tuple[str, ...] | None = None,
    **options: Any,
) -> Any:
    """The operation that calls a service for the caller, with its targets and the body's fields."""

    def handler(view: View, **fields: Any) -> Any:
        names = view.targets if targets is None else targets
        rows = zip(names, view.resources(names), strict=True)
        return service(view.request.user, **dict(rows), **fields)

    declare = operation(operation_id, output, targets=targets, description=description, **options)
    return declare(handler)


def rows(
    operation_id: str,
    selector: Callable[..., Any],
    description: str,
    output: _Shape,
    *parameters: OpenApiParameter | _Shape,
    targets: tuple[str, ...] | None = None,
    **options: Any,
) -> Any:
    """The operation that lists what a selector gives the caller of its targets."""

    def handler(view: View, **query: Any) -> Any:
        return selector(view.request.user, *view.resources(targets), **query)

    options |= {"targets": targets, "description": description}
    return listing(operation_id, output, *parameters, **options)(handler)
