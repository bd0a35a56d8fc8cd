"""What discussions, collections, saved comparisons, likes and watches add to pages of the core."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.template import Context

from frontend.pages.community.digests import send_due
from frontend.pages.site.crawlers import Sitemap, sitemaps
from frontend.presenters.page_parts import PagePart, Place, page_parts
from frontend.presenters.version_head import Tab, tabs
from registry.community import interest
from registry.community.collections import selectors as collections
from registry.community.discussions import selectors as discussions
from registry.core.periodic import HourlyTask, hourly_tasks
from registry.core.routes import Route, routes
from registry.models import Collection
from registry.models.saved_comparisons import LONGEST_TITLE
from registry.versions import evidence

# https://www.sitemaps.org/protocol.html allows 50,000 addresses in a sitemap.
IN_SITEMAP = 10_000
OF_NAMESPACE = 10
_CLOSED = ("/collections?", "/collections/new", "/collections/*/edit", "/compare/", "/watching/")


def register(package: str) -> None:
    """Plug into the ports of the pages."""
    routes.register(package, Route("frontend.pages.community.urls", closed=_CLOSED))
    hourly_tasks.register(package, HourlyTask("digests", "Digests sent by mail", send_due))
    sitemaps.register(package, Sitemap(_sitemap_names, _sitemap_pages))
    tabs.register(
        package,
        Tab(
            "discussions",
            "Discussions",
            "discussions",
            order=70,
            is_of_model=True,
            count=lambda actor, version: discussions.open_count(actor, version.model),
        ),
    )
    page_parts.register(
        package,
        PagePart(Place.TAGS, "community/tags.html", _tags),
        PagePart(Place.OWN, "community/buttons.html", _buttons),
        PagePart(Place.FACTS, "discussions/fact.html", _fact),
        PagePart(Place.RESULT, "discussions/discussed.html", _discussed),
        PagePart(Place.ACCURACY, "discussions/accuracy.html", _accuracy),
        PagePart(Place.NAMESPACE, "collections/namespace.html", _namespace),
        PagePart(Place.ACCOUNT, "community/account.html"),
        PagePart(Place.COMPARISON, "comparisons/save.html", _comparison),
        PagePart(Place.FOOTER, "community/footer.html"),
    )


def _tags(context: Context) -> dict[str, Any]:
    """How many collections have the model, and what guests see of likes, which others press."""
    actor, model = context["request"].user, context["model"]
    return {
        "collections": collections.count_of(actor, model),
        "likes": 0 if actor.is_authenticated else interest.of_model(actor, model).likes,
    }


def _buttons(context: Context) -> dict[str, Any]:
    actor, model = context["request"].user, context["model"]
    return {
        "interest": interest.of_model(actor, model),
        "own_collections": collections.offered(actor, model),
    }


def _fact(context: Context) -> dict[str, Any]:
    version = context["version"]
    actor = context["request"].user
    return {"discussing": discussions.open_count(actor, version.model, version)}


def _discussed(context: Context) -> dict[str, Any]:
    """The discussions about the result of a page, and the address of the form for another."""
    version, result = context["version"], context["result_of"]
    rows = discussions.about(context["request"].user, version, result.kind, [result.key])
    anchor = evidence.anchor(version, result.kind, result.key, result.node)
    return {"discussed": rows.get(result.key, []), "anchor": anchor}


def _accuracy(context: Context) -> dict[str, Any]:
    """The discussions about each measured accuracy of a version."""
    keys = [line.row.pk for line in context["accuracy"]["lines"]]
    actor = context["request"].user
    return {"discussed": discussions.about(actor, context["version"], "evaluation", keys)}


def _namespace(context: Context) -> dict[str, Any]:
    rows = collections.collections(context["request"].user, namespace=context["namespace"].slug)
    return {"collections": rows[:OF_NAMESPACE]}


def _comparison(context: Context) -> dict[str, Any]:
    """What the form that saves a comparison sends; its title can be changed before."""
    refs = context["kept"]
    names = ", ".join(ref.partition("/")[2] for ref in refs)
    return {"refs": refs, "title": names[:LONGEST_TITLE]}


def _sitemap_names() -> list[str]:
    return ["collections"] if Collection.objects.visible_to(AnonymousUser()).exists() else []


def _sitemap_pages(name: str) -> Iterator[tuple[str, datetime]]:
    """The public collections, the newest of them."""
    if name == "collections":
        rows = Collection.objects.visible_to(AnonymousUser()).select_related("namespace")
        for row in rows.order_by("-pk")[:IN_SITEMAP]:
            yield f"/collections/{row.ref}", row.updated_at
