"""The API of models: the list of those that the caller may see, and each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as fields
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import filters
from registry.api import etags, model_lists, pagination, queries, questions
from registry.api import serializers as shapes
from registry.api.addresses import api_url
from registry.api.inputs import parse
from registry.api.operations import ModelView, command, operation
from registry.api.parameters import PAGED, asks
from registry.catalogue import accuracies, search, speeds, summaries, wording
from registry.catalogue import facets as facet_counts
from registry.catalogue.query import Query
from registry.core.permissions import Actor
from registry.models import RegisteredModel
from registry.people import selectors as people_selectors
from registry.versions.services import deprecations, registered_models

MEASURED = ("min", "max")
LISTS = (*filters.CHOICES, *MEASURED, "facets")
SINGLE = ("predicted", *speeds.Setup._fields, *(filters.FILTERS.keys() - filters.CHOICES))


def model_data(actor: Actor, title: str) -> dict[str, Any] | None:
    """A model as the API gives it, from its document; None where there is none for the actor."""
    detail = summaries.read(actor, title)
    return shapes.model_detail(detail) if detail else None


def fresh_model_data(actor: Actor, model: RegisteredModel) -> dict[str, Any]:
    """The same for a model that the actor sees, whether or not lists know it already."""
    data = model_data(actor, model.ref)
    return shapes.model_detail(summaries.compose(actor, model)) if data is None else data


def _facets(actor: Actor, query: Query, groups: list[str]) -> dict[str, Any]:
    """The counts of some groups; nothing where none was asked for."""
    if not groups:
        return {}
    facets = facet_counts.count(actor, query)
    data: dict[str, list[dict[str, Any]]] = {}
    for group in groups:
        data[group] = [{"value": value, "count": count} for value, count in facets[group]]
        if missing := facets.missing_counts.get(group):
            data[group].append({"value": None, "count": missing})
    return {"facets": data, "facets_capped": facets.capped}


def _read(request: Request) -> tuple[Query, list[str], wording.Reading | None]:
    """The query of a list, its facets, and how its text was read where that was asked for."""
    values, reading = request.query_params, None
    lists = {key: values.getlist(key) for key in LISTS}
    single = {key: values[key] for key in ("q", "sort", "understand", *SINGLE) if key in values}
    data = parse(queries.ModelsQuery, single | lists)
    if data["understand"]:
        devices = speeds.names(speeds.offers(request.user))
        reading = wording.read(data["q"], devices=devices)
        if reading.parts:
            merged = reading.beside({key: values.getlist(key) for key in (*lists, *single)})
            fields = {key: row if key in lists else row[0] for key, row in merged.items() if row}
            data = parse(queries.ModelsQuery, fields)
    choices = {key: data[key] for key in SINGLE} | {
        key: tuple(data[key]) for key in filters.CHOICES
    }
    limits = accuracies.limits(*(data[key] for key in MEASURED))
    query = Query.of(text=data["q"], accuracy=limits, **choices)
    return replace(query, sort=data.get("sort") or query.default_sort), data["facets"], reading


def _address(model: RegisteredModel) -> str:
    return api_url("models", model.ref)


class Models(ModelView):
    """Every model the caller may see."""

    def data(self, output: Any, row: RegisteredModel) -> Any:
        """What an answer says of a model, from its document."""
        return fresh_model_data(self.request.user, row)

    @extend_schema(
        operation_id="models_list",
        responses=pagination.paged(
            model_lists.ListedModelOutput,
            setup=model_lists.SetupOutput(
                required=False,
                allow_null=True,
                help_text="the setup in which the speeds were measured",
            ),
            count=fields.IntegerField(),
            count_capped=fields.BooleanField(),
            facets=fields.DictField(
                child=shapes.FacetOutput(many=True),
                required=False,
                help_text="only if requested with `facets`",
            ),
            facets_capped=fields.BooleanField(
                required=False, help_text="whether only the first matches were counted"
            ),
            understood=questions.UnderstoodOutput(
                required=False, help_text="only with `understand`: how `q` was read"
            ),
        ),
    )
    @asks(queries.ModelsQuery, *PAGED)
    def index(self, request: Request) -> Response:
        """Search models: `q` ranks by name, groups narrow, `sort` orders, `cursor` goes on.

        With `sort=fastest`, `max_p50`, `device`, `runtime` or `provider` each model has its
        `speed` in the `setup` that these name. With `fastest` models are ordered by it, each with
        its own input; that is no ranking (see /benchmarks). Models without a result there may have
        a prediction. If constraints are given, `fits` has each model's value for them.
        """
        query, groups, reading = _read(request)
        timed = query.is_timed
        if timed:
            offers = speeds.offers(request.user)
            devices = query[filters.MEASURED_ON]
            setup = speeds.settled(offers, query.setup, devices)
            query = replace(query, **setup._asdict())
        page = search.find(
            request.user,
            query,
            limit=pagination.limit_of(request),
            cursor=request.query_params.get("cursor", ""),
            columns=summaries.COLUMNS,
        )
        return pagination.answer(
            request,
            model_lists.of(page.items, query, is_timed=timed),
            page.next,
            count=page.count,
            count_capped=page.capped,
            **({"setup": query.setup._asdict() if query.device else None} if timed else {}),
            **({"understood": questions.UnderstoodOutput(reading).data} if reading else {}),
            **_facets(request.user, query, groups),
        )

    @operation(
        "models_create",
        shapes.ModelOutput,
        targets=(),
        reads=shapes.ModelInput,
        status=201,
        tagged=True,
        location=_address,
    )
    def create(self, namespace: str, **fields: Any) -> RegisteredModel:
        """Create a model without versions."""
        space = people_selectors.namespace(namespace)
        return registered_models.create(self.request.user, namespace=space, **fields)

    @extend_schema(operation_id="models_read", responses=shapes.ModelOutput)
    def read(self, request: Request, namespace: str, name: str) -> Response:
        """Read a model with its refs and your role."""
        data = model_data(request.user, f"{namespace}/{name}")
        if data is None:  # written in another case, not listed yet, or not there
            data = fresh_model_data(request.user, self.model)
        return etags.respond(request, data)

    edit = command(
        "models_edit",
        registered_models.edit,
        "Change the description of a model; needs If-Match.",
        shapes.ModelOutput,
        reads=shapes.ModelEdit,
        tagged=True,
        guarded=True,
    )

    @asks(queries.DeletionQuery)
    @operation("models_delete")
    def destroy(self) -> None:
        """Delete a model; a name that was once published is never reused."""
        fields = parse(queries.DeletionQuery, self.request.query_params.dict())
        registered_models.delete(self.request.user, model=self.model, **fields)

    @operation("models_deprecate", shapes.ModelOutput, reads=shapes.DeprecationInput, tagged=True)
    def deprecate(self, **fields: str) -> RegisteredModel:
        """Deprecate a model: it still resolves, with a warning that names its successor.

        Deprecating it again replaces message and successor.
        """
        deprecations.deprecate(self.request.user, self.model, **fields)
        return self.model

    @operation("models_undeprecate", shapes.ModelOutput, tagged=True)
    def undeprecate(self) -> RegisteredModel:
        """Undo the deprecation of a model; those of its versions remain."""
        deprecations.undeprecate(self.request.user, self.model)
        return self.model

    @operation(
        "models_move", shapes.ModelOutput, reads=shapes.MoveInput, tagged=True, location=_address
    )
    def move(self, name: str, namespace: str = "") -> RegisteredModel:
        """Rename or move a model; the old name redirects."""
        space = people_selectors.namespace(namespace or self.model.namespace.slug)
        actor = self.request.user
        return registered_models.move(actor, model=self.model, namespace=space, name=name)
