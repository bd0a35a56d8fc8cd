"""Models one by one and in lists, and whether a token reaches one."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import OuterRef, Subquery
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from hub.protocol.cards import Card
from registry.api.parameters import accepts
from registry.cards import result_files
from registry.catalogue import search, summaries
from registry.catalogue.query import Query
from registry.core.permissions import require
from registry.models import File, RegisteredModel, Version
from registry.people import selectors as people_selectors
from registry.protocols.huggingface import addresses, eval_results, revisions, shapes
from registry.protocols.huggingface.views import HubView
from registry.versions import selectors

LONGEST_LIST = 1_000
# The protocol's word for an order -> ours; all of them begin with the largest. Where the hub counts
# nothing of the kind (likes), the nearest count stands in.
ORDERS = {
    "": "updated",
    "createdAt": "created",
    "lastModified": "modified",
    "downloads": "downloads",
    "likes": "downloads",
    "likes30d": "downloads",
    "trendingScore": "downloads",
    "num_parameters": "most-parameters",
    "mainSize": "largest",
    "id": "name-down",
}
SPELT = {"created_at": "createdAt", "last_modified": "lastModified", "trending_score": "likes"}
# What no model of this hub has: asking for it finds nothing, rather than everything.
NONE_HAS = ("apps", "inference", "inference_provider", "other")
# What huggingface_hub and @huggingface/hub send, and the addresses that `Link` names.
OPTIONS = (
    *("search", "author", "filter", "pipeline_tag", "gated", "sort", "direction", "limit"),
    *("cursor", "expand", "full", "cardData", "config", "fetch_config", "securityStatus"),
    *("num_parameters", "trained_dataset", "tags", "library", "language", "task", *NONE_HAS),
)
ALWAYS = ("_id", "id")
COLUMNS = (*summaries.COLUMNS, "parameters")


class ModelInfo(HubView):
    """A model at a commit."""

    def get(self, request: Request, namespace: str, name: str, rest: str = "main") -> Response:
        """What is known of a model; `expand` narrows it to the named keys."""
        # Clients wait without limit for this, which is their first request of a snapshot.
        wait_seconds = settings.HUB_MIRROR_WAIT_SECONDS
        model = revisions.repo(request.user, namespace, name, wait_seconds=wait_seconds)
        at = revisions.find(request.user, model, rest)
        fields = addresses.words(request, "expand")
        info = shapes.model_info(
            at,
            blobs=addresses.flag(request, "blobs"),
            security=addresses.flag(request, "securityStatus") or "securityRepoStatus" in fields,
        )
        if "usedStorage" in fields:
            info["usedStorage"] = selectors.used_bytes(request.user, model)
        if "evalResults" in fields:
            info["evalResults"] = eval_results.rows(at.version, at.front)
        headers = {}
        if notices := at.notices(request.user):
            info["cardData"] = shapes.deprecated(info["cardData"], model.ref, notices)
            headers["X-HF-Warning"] = at.warning(request.user)
        return Response(_narrowed(info, fields), headers=headers)


class AuthCheck(HubView):
    """Whether the caller reaches a model."""

    def get(self, request: Request, namespace: str, name: str, action: str = "") -> Response:
        """Answers nothing, or the error that reading (or `write`: a commit) would meet."""
        if action == "write":
            require(request.user, "version.draft", self.model)
        selectors.require_files(request.user, self.model)
        return Response({})


class ModelList(HubView):
    """Every model that the caller may see."""

    @accepts(*OPTIONS)
    def get(self, request: Request) -> Response:
        """Search and filter; `Link` names the next page.

        What clients of the protocol send is known, also where no model here has it.
        """
        query = _query(request)
        if query is None:
            return Response([])
        page = search.find(
            request.user,
            query,
            limit=addresses.count(request, "limit", LONGEST_LIST, LONGEST_LIST) or 1,
            cursor=request.query_params.get("cursor", ""),
            columns=COLUMNS,
        )
        fields = addresses.words(request, "expand")
        full = addresses.flag(request, "full") or bool({"sha", "siblings"} & set(fields))
        expanded = {
            "card": addresses.flag(request, "cardData") or "cardData" in fields,
            "config": addresses.flag(request, "config") or "config" in fields,
            "full": full,
        }
        response = Response([_narrowed(row, fields) for row in _model_list(page.items, **expanded)])
        if page.next:
            addresses.link_next(request, response, cursor=page.next)
        return response


def _narrowed(info: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    if not fields:
        return info
    return {key: info[key] for key in (*ALWAYS, *fields) if key in info}


def _query(request: Request) -> Query | None:
    """What is asked for; None where nothing can match."""
    parameters = request.query_params
    if any(parameters.get(name) for name in NONE_HAS):
        return None
    gated = parameters.get("gated", "").lower()
    if "num_parameters" in parameters:
        raise problems.InvalidRequest(
            "This hub cannot filter by num_parameters. Sort by it instead."
        )
    sort = parameters.get("sort", "")
    order = problems.expect(
        ORDERS.get(SPELT.get(sort, sort)),
        problems.InvalidRequest(f"Sort by one of {', '.join(filter(None, ORDERS))}."),
    )
    author = _canonical(parameters.get("author", ""))
    if author is None:
        return None
    task = parameters.get("pipeline_tag", "")
    return Query.of(
        text=parameters.get("search", ""),
        sort=order,
        unpublished=True,
        namespace=(author,) if author else (),
        task=(task,) if task else (),
        tags=(*addresses.words(request, "filter"), *([f"gated:{gated}"] if gated else [])),
    )


def _canonical(author: str) -> str | None:
    """An author as the hub spells it; None where there is none of that name."""
    if not author:
        return ""
    try:
        return people_selectors.namespace(author).slug
    except problems.NotFound:
        return None


def _model_list(
    rows: list[Any],
    *,
    full: bool,
    card: bool,
    config: bool,
) -> list[dict[str, Any]]:
    """The rows of a list, each with its newest published version; the queries do not grow."""
    newest = _newest([row.pk for row in rows])
    files = _files(list(newest.values())) if full or config else {}
    models = []
    for row in rows:
        version = newest.get(row.pk)
        own = files.get(version.pk, []) if version else []
        declared = version.typed_card if version else Card()
        item = {
            "_id": shapes.opaque_id(row.pk),
            "id": row.title,
            "modelId": row.title,
            "author": row.namespace_slug,
            "lastModified": shapes.moment(row.updated_at),
            "createdAt": shapes.moment(row.model__created_at),
            "private": row.model__visibility == "private",
            "gated": shapes.gated(row.model__gate),
            "disabled": False,
            "downloads": row.downloads,
            "downloadsAllTime": row.downloads,
            "likes": 0,
            "tags": shapes.tags_of(
                row.keywords,
                row.model__license,
                row.task,
                declared,
                has_onnx=row.latest is not None,
            ),
            **shapes.described(row.task, declared),
        }
        if full and version:
            item["sha"] = version.commit_id
            item["siblings"] = [shapes.sibling(file, blobs=False) for file in own]
        if card:
            item["cardData"] = result_files.without_files(version.card) if version else {}
        if config:
            item["config"] = shapes.config_of(own)
        models.append(item)
    return models


def _newest(model_ids: list[int]) -> dict[int, Version]:
    """The newest published version of each model: id of the model -> version."""
    own = Version.objects.filter(model=OuterRef("pk"), state=Version.State.PUBLISHED, branch="main")
    newest = RegisteredModel.objects.filter(pk__in=model_ids).values(
        newest=Subquery(own.order_by("-number").values("pk")[:1])
    )
    rows = Version.objects.filter(pk__in=newest).only("model_id", "commit_id", "card")
    return {version.model_id: version for version in rows}


def _files(versions: list[Version]) -> dict[int, list[File]]:
    by_version: dict[int, list[File]] = {version.pk: [] for version in versions}
    rows = File.objects.filter(version__in=list(by_version), derived=False).select_related("blob")
    for file in rows:
        by_version[file.version_id].append(file)
    return by_version
