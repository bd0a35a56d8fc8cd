"""The REST API over models, versions, files and refs: parse, call one service, render."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db.models import Prefetch
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers as fields
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems, refs
from registry import conditions, documents, search, selectors, speeds, summaries
from registry import facets as facet_counts
from registry.api import downloads, etags, pagination, queries
from registry.api import serializers as shapes
from registry.models import File, Variant, Version
from registry.services import files, registered_models, versions
from registry.services import refs as ref_services

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rest_framework.request import Request

    from registry.models import RegisteredModel
    from registry.permissions import Actor

LISTS = ("namespace", "license", "task", "keyword", "precision", "domain", *conditions.FACTS)
PLAIN = (
    "sort", "opset_max", "max_bytes", "max_parameters", "contains", *speeds.Setup._fields,
)  # fmt: skip


def parse(shape: type[fields.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validated input; raises InvalidRequest naming each field."""
    return dict(_reader(shape).run_validation(data))


@cache
def _reader(shape: type[fields.Serializer[Any]]) -> fields.Serializer[Any]:
    """One serializer for all requests: reading leaves nothing in it, and making one is slow."""
    return shape()


def model_data(actor: Actor, title: str) -> dict[str, Any] | None:
    """A model as the API gives it, from its document; None where there is none for the actor."""
    detail = summaries.read(actor, title)
    return shapes.model_detail(detail) if detail else None


def fresh_model_data(actor: Actor, model: RegisteredModel) -> dict[str, Any]:
    """The same for a model that is there, whose document is made at once where it is missing."""
    data = model_data(actor, model.ref)
    if data is None:
        documents.refresh(model.pk)
        data = model_data(actor, model.ref)
    if data is None:  # deleted, or hidden from the actor, since it was found
        raise problems.NotFound(f"{model.ref} is gone.")
    return data


def version_data(version: Version) -> dict[str, Any]:
    """A version as the API gives it, in a fixed number of queries."""
    full = (
        Version.objects.select_related("model__namespace", "created_by", "parent")
        .prefetch_related(
            Prefetch("files", File.objects.select_related("blob")),
            Prefetch("variants", Variant.objects.select_related("entry", "derived_from")),
            "checks",
            "jobs",
        )
        .get(pk=version.pk)
    )
    return dict(shapes.VersionOutput(full).data)


def _facets(actor: Actor, query: search.Query, groups: list[str]) -> dict[str, Any]:
    """The counts of some groups; nothing where none was asked for."""
    if not groups:
        return {}
    found = facet_counts.count(actor, query)
    told = {
        group: [
            *({"value": value, "count": count} for value, count in found[group]),
            *([{"value": None, "count": found.untold[group]}] if found.untold.get(group) else []),
        ]
        for group in groups
    }
    return {"facets": told, "facets_capped": found.capped}


def _listed(rows: Sequence[summaries.Summary], setup: speeds.Setup | None) -> list[dict[str, Any]]:
    """Models as a list gives them, with their speeds where a setup was asked for."""
    items = [shapes.model_summary(row) for row in rows]
    if setup is not None:
        known = speeds.of_documents([row.pk for row in rows], setup)
        for row, item in zip(rows, items, strict=True):
            item["speed"] = shapes.speed(known[row.pk], row) if row.pk in known else None
    return items


class ModelList(APIView):
    """Every model the caller may see."""

    @extend_schema(
        operation_id="models_list",
        parameters=[queries.ModelsQuery],
        responses=pagination.paged(
            shapes.ListedModelOutput,
            setup=shapes.SetupOutput(
                required=False, allow_null=True, help_text="what the speeds were measured on"
            ),
            count=fields.IntegerField(),
            count_capped=fields.BooleanField(),
            facets=fields.DictField(
                child=shapes.FacetOutput(many=True), required=False, help_text="where asked for"
            ),
            facets_capped=fields.BooleanField(
                required=False, help_text="whether only the first matches were counted"
            ),
        ),
    )
    def get(self, request: Request) -> Response:
        """Search models: `q` ranks by name, groups narrow, `sort` orders, `cursor` goes on.

        With `sort=fastest`, `device`, `runtime` or `provider` each model has its `speed` in the
        `setup` that these name: models are ordered by it, each with its own input; that is no
        ranking (see /benchmarks).
        """
        given = {key: request.query_params.getlist(key) for key in (*LISTS, "facets")}
        plain = {
            key: request.query_params[key] for key in ("q", *PLAIN) if key in request.query_params
        }
        asked = parse(queries.ModelsQuery, plain | given)
        chosen: dict[str, Any] = {key: asked[key] for key in PLAIN}
        chosen |= {key: tuple(asked[key]) for key in LISTS}
        query = search.Query(text=asked["q"], **chosen)
        timed = query.sort == search.FASTEST or any(query.setup)
        if timed:
            offers = speeds.offers(request.user)
            setup = speeds.settled(offers, query.setup, query.measured_on)
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
            _listed(page.items, query.setup if timed else None),
            page.next,
            count=page.count,
            count_capped=page.capped,
            **({"setup": query.setup._asdict() if query.device else None} if timed else {}),
            **_facets(request.user, query, asked["facets"]),
        )

    @extend_schema(
        operation_id="models_create", request=shapes.ModelInput, responses={201: shapes.ModelOutput}
    )
    def post(self, request: Request) -> Response:
        """Make a model without versions."""
        given = parse(shapes.ModelInput, request.data)
        namespace = selectors.namespace(given.pop("namespace"))
        model = registered_models.create(request.user, namespace=namespace, **given)
        data = fresh_model_data(request.user, model)
        response = etags.respond(request, data, status=201)
        response["Location"] = shapes.api_url("models", model.ref)
        return response


class ModelDetail(APIView):
    """One model."""

    @extend_schema(operation_id="models_read", responses=shapes.ModelOutput)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Read a model with its refs and the caller's role."""
        data = model_data(request.user, f"{namespace}/{name}")
        if data is None:  # written in another case, not listed yet, or not there
            model = selectors.model(request.user, namespace, name)
            data = fresh_model_data(request.user, model)
        return etags.respond(request, data)

    @extend_schema(
        operation_id="models_edit", request=shapes.ModelEdit, responses=shapes.ModelOutput
    )
    def patch(self, request: Request, namespace: str, name: str) -> Response:
        """Change what is said of a model; needs If-Match."""
        model = selectors.model(request.user, namespace, name)
        etags.require(request, etags.of(fresh_model_data(request.user, model)))
        model = registered_models.edit(
            request.user, model=model, **parse(shapes.ModelEdit, request.data)
        )
        return etags.respond(request, fresh_model_data(request.user, model))

    @extend_schema(operation_id="models_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Delete a model; a name that was ever published is never given again."""
        model = selectors.model(request.user, namespace, name)
        registered_models.delete(request.user, model=model)
        return Response(status=204)


class VersionList(APIView):
    """The versions of a model."""

    @extend_schema(
        operation_id="versions_list", responses=pagination.paged(shapes.VersionSummaryOutput)
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List versions, newest first."""
        model = selectors.model(request.user, namespace, name)
        rows, cursor = pagination.by_number(
            request,
            selectors.versions(request.user, model),
            "number",
            pagination.limit_of(request),
        )
        return pagination.respond(request, shapes.VersionSummaryOutput, rows, cursor)

    @extend_schema(
        operation_id="versions_create",
        request=shapes.VersionInput,
        responses={201: shapes.VersionOutput},
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Open a draft under the next number."""
        model = selectors.model(request.user, namespace, name)
        version = versions.draft(
            request.user, model=model, **parse(shapes.VersionInput, request.data)
        )
        response = etags.respond(request, version_data(version), status=201)
        response["Location"] = shapes.api_url("models", model.ref, "versions", str(version.number))
        return response


class VersionDetail(APIView):
    """One version."""

    @extend_schema(operation_id="versions_read", responses=shapes.VersionOutput)
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Read a version with its files, variants, checks and jobs."""
        version = selectors.version(request.user, namespace, name, number)
        return etags.respond(request, version_data(version))

    @extend_schema(operation_id="versions_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Delete a draft."""
        version = selectors.version(request.user, namespace, name, number)
        versions.delete_draft(request.user, version=version)
        return Response(status=204)


class VersionAction(APIView):
    """Moves a version to another state."""

    shape: type[fields.Serializer[Any]] = shapes.Input
    service: Callable[..., Version]

    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Do it; the answer is the version in its new state."""
        version = selectors.version(request.user, namespace, name, number)
        given = parse(self.shape, request.data or {})
        version = type(self).service(request.user, version=version, **given)
        return etags.respond(request, version_data(version))


def action(
    name: str, shape: type[fields.Serializer[Any]], service: Callable[..., Version]
) -> type[VersionAction]:
    """A view of one verb."""
    made = type(
        f"Version{name.title()}",
        (VersionAction,),
        {"shape": shape, "service": staticmethod(service)},
    )
    told = extend_schema(
        operation_id=f"versions_{name}",
        request=shape,
        responses=shapes.VersionOutput,
        description=service.__doc__,
    )
    return extend_schema_view(post=told)(made)


ACTIONS = {
    name: action(name, shape, service)
    for name, shape, service in (
        ("submit", shapes.SubmitInput, versions.submit),
        ("publish", shapes.Input, versions.publish),
        ("yank", shapes.ReasonInput, versions.yank),
        ("restore", shapes.Input, versions.restore),
        ("withdraw", shapes.ReasonInput, versions.withdraw),
    )
}


class FileDetail(APIView):
    """One file of a version."""

    @extend_schema(operation_id="files_read", responses={(200, "application/octet-stream"): bytes})
    def get(
        self, request: Request, namespace: str, name: str, number: int, path: str
    ) -> HttpResponseBase:
        """The file's bytes; ranges and conditional requests are understood."""
        found = summaries.public_file(namespace, name, number, path)
        if found is None:
            version = selectors.version(request.user, namespace, name, number)
            selectors.require_files(request.user, version.model)
            found = selectors.file(version, path).blob, version.model_id
            model = version.model
            is_public = model.is_public and not (version.is_draft or model.is_gated)
        else:
            is_public = True
        blob, model_id = found
        answer = downloads.send(request._request, blob, path, immutable=is_public)  # noqa: SLF001
        if path.endswith(".onnx") and downloads.wants_beginning(request._request):  # noqa: SLF001
            search.count_download(model_id)
        return answer

    head = get

    @extend_schema(
        operation_id="files_put", request=shapes.FileInput, responses={201: shapes.FileOutput}
    )
    def put(self, request: Request, namespace: str, name: str, number: int, path: str) -> Response:
        """Point a path of a draft at a blob."""
        version = selectors.version(request.user, namespace, name, number)
        given = parse(shapes.FileInput, request.data)
        file, created = files.put(request.user, version=version, path=path, digest=given["blob"])
        file.version = version
        return Response(shapes.FileOutput(file).data, status=201 if created else 200)

    @extend_schema(operation_id="files_delete", responses={204: None})
    def delete(
        self, request: Request, namespace: str, name: str, number: int, path: str
    ) -> Response:
        """Take a file out of a draft."""
        version = selectors.version(request.user, namespace, name, number)
        files.remove(request.user, version=version, path=path)
        return Response(status=204)


class MarkdownParser(BaseParser):
    """Takes Markdown as text."""

    media_type = "text/markdown"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        content: bytes = stream.read()
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise problems.CardInvalid("The card is not UTF-8 text; save it as UTF-8.") from error


class CardDetail(APIView):
    """The card of a version: README.md with YAML front matter."""

    parser_classes = [MarkdownParser]

    @extend_schema(operation_id="card_read", responses={(200, "text/markdown"): OpenApiTypes.STR})
    def get(self, request: Request, namespace: str, name: str, number: int) -> HttpResponse:
        """The card as Markdown."""
        version = selectors.version(request.user, namespace, name, number)
        response = HttpResponse(version.readme, content_type="text/markdown; charset=utf-8")
        response["ETag"] = etags.of(version.readme)
        return response

    @extend_schema(
        operation_id="card_put",
        request={"text/markdown": OpenApiTypes.STR},
        responses=shapes.VersionOutput,
    )
    def put(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Write the card of a draft; needs If-Match where there is one already."""
        version = selectors.version(request.user, namespace, name, number)
        if version.readme:
            etags.require(request, etags.of(version.readme))
        version = files.write_card(request.user, version=version, text=str(request.data))
        response = Response(version_data(version))
        response["ETag"] = etags.of(version.readme)
        return response


class RefDetail(APIView):
    """A tag or an alias of a model."""

    @extend_schema(operation_id="refs_put", request=shapes.RefInput, responses=shapes.RefOutput)
    def put(self, request: Request, namespace: str, name: str, ref: str) -> Response:
        """Make a tag or alias, or move an alias."""
        model = selectors.model(request.user, namespace, name)
        given = parse(shapes.RefInput, request.data)
        row, created = ref_services.put(
            request.user, model=model, name=ref, kind=given["kind"], number=given["version"]
        )
        return Response(shapes.RefOutput(row).data, status=201 if created else 200)

    @extend_schema(operation_id="refs_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str, ref: str) -> Response:
        """Delete a tag or alias."""
        model = selectors.model(request.user, namespace, name)
        ref_services.delete(request.user, model=model, name=ref)
        return Response(status=204)


class Resolve(APIView):
    """A reference as files and digests."""

    @extend_schema(
        operation_id="resolve",
        parameters=[queries.ResolveQuery],
        responses=shapes.ResolutionOutput,
    )
    def get(self, request: Request) -> Response:
        """Find the version and variant that a reference names."""
        given = parse(queries.ResolveQuery, request.query_params)
        ref = refs.parse(given["ref"])
        model = selectors.model(request.user, ref.namespace, ref.model)
        version = selectors.find_version(request.user, model, ref)
        variant = selectors.variant(
            version, given["variant"] or ref.variant, given["opset"], given["precision"]
        )
        files_ = selectors.files_for(variant)
        for file in files_:
            file.version = version
        warning = (
            f"{version.ref} was yanked: {version.reason}" if version.state == "yanked" else None
        )
        data = shapes.ResolutionOutput(
            {
                "ref": version.ref,
                "namespace": model.namespace.slug,
                "model": model.name,
                "number": version.number,
                "label": version.label,
                "commit_id": version.commit_id,
                "manifest_sha256": version.manifest_sha256,
                "state": version.state,
                "variant": variant,
                "files": files_,
                "warning": warning,
            }
        ).data
        response = etags.respond(request, dict(data))
        if warning:
            response["Warning"] = f'299 - "{warning[:200]}"'.encode("latin-1", "replace").decode(
                "latin-1"
            )
        return response


class BlobDetail(APIView):
    """Bytes by their digest, for whoever may read a version that holds them."""

    @extend_schema(operation_id="blobs_read", responses={(200, "application/octet-stream"): bytes})
    def get(self, request: Request, sha256: str) -> HttpResponseBase:
        """The bytes; ranges and conditional requests are understood."""
        blob = selectors.readable_blob(request.user, sha256)
        return downloads.send(request._request, blob, sha256, immutable=False)  # noqa: SLF001

    head = get
