"""Operations of the API, declared in one place each: address, body, service, answer, entity tag.

The handler of an operation takes the fields of its body and returns what its answer shows. Before
the body is read, the view looks up what its address names, so that nothing is said of what the
caller may not see.
"""

from __future__ import annotations

from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import etags, pagination
from registry.api.inputs import parse
from registry.api.parameters import PAGED, asks
from registry.versions import selectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from drf_spectacular.utils import OpenApiParameter
    from rest_framework.request import Request
    from rest_framework.serializers import Serializer

    from registry.models import RegisteredModel, Version

    _Shape = type[Serializer[Any]]

_Handler = TypeVar("_Handler", bound="Callable[..., Any]")


class Stored(NamedTuple):
    """A row that an operation answers with; 201 if it is new, else 200."""

    row: Any
    is_new: bool


class View(APIView):
    """A view of the API; `target` names the property that its address leads to, if any."""

    target: ClassVar[str] = ""

    def resource(self) -> Any:
        """What the address leads to; raises NotFound."""
        return getattr(self, self.target) if self.target else None

    def context(self) -> dict[str, Any]:
        """What the serializers of answers may ask."""
        return {"request": self.request, "view": self}

    def data(self, output: _Shape, row: Any) -> Any:
        """What an answer says of a row."""
        return dict(output(row, context=self.context()).data)


class ModelView(View):
    """At or below the address of a model that the caller sees."""

    target = "model"

    @cached_property
    def model(self) -> RegisteredModel:
        """The model of the address; raises NotFound."""
        return selectors.model(self.request.user, self.kwargs["namespace"], self.kwargs["name"])


class VersionView(View):
    """At or below the address of a version that the caller sees."""

    target = "version"

    @cached_property
    def version(self) -> Version:
        """The version of the address; raises NotFound."""
        address = (self.kwargs[part] for part in ("namespace", "name", "number"))
        return selectors.version(self.request.user, *address)


def operation(
    operation_id: str,
    output: _Shape | None = None,
    *,
    reads: _Shape | None = None,
    body_optional: bool = False,
    status: int = 0,
    tagged: bool = False,
    guarded: bool = False,
    location: Callable[[Any], str] | None = None,
    headers: dict[str, str] | None = None,
    **schema: Any,
) -> Callable[[_Handler], _Handler]:
    """Make a handler an operation, which answers with `output`, or with nothing.

    `reads` is the body; with `body_optional`, none at all is an empty one. A `tagged` answer has an
    ETag; a `guarded` operation needs If-Match of the target's answer, `location` says where what
    was made lies. The rest is for OpenAPI.
    """
    status = status or (200 if output else 204)
    schema = {"request": reads, "responses": {status: output}} | schema

    def declare(handler: _Handler) -> _Handler:
        @extend_schema(operation_id=operation_id, **schema)
        @wraps(handler)
        def answer(view: View, request: Request, **_: Any) -> Response:
            target = view.resource()
            if guarded and output:
                etags.require(request, etags.of(view.data(output, target)))
            body = (request.data or {}) if body_optional else request.data
            row, code = handler(view, **(parse(reads, body) if reads else {})), status
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
    **schema: Any,
) -> Callable[[_Handler], _Handler]:
    """Make a handler the operation of a list, whose rows it returns.

    They come in pages from the highest `by` down, or from the lowest up if `rising`; without `by`
    all at once. A serializer among the parameters is read, and gives the handler its fields.
    """
    query = next((one for one in parameters if isinstance(one, type)), None)

    def declare(handler: _Handler) -> _Handler:
        @extend_schema(operation_id=operation_id, responses=pagination.paged(output), **schema)
        @asks(*parameters, *(PAGED if by else ()))
        @wraps(handler)
        def answer(view: View, request: Request, **_: Any) -> Response:
            view.resource()
            values = parse(query, request.query_params.dict()) if query else {}
            rows = handler(view, **values)
            if not by:
                return pagination.respond(request, output, rows, None)
            order = pagination.lowest_first if rising else pagination.highest_first
            return order(request, output, rows, by, view.context())

        return answer  # type: ignore[no-any-return]

    return declare
