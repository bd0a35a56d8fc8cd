"""The documents that lists and searches may show an actor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from registry.core.permissions import Actor
from registry.models import RegisteredModel, SearchDocument, User
from registry.models.registered_models import shared_with
from registry.models.search import EVERYBODY
from registry.models.tokens import Reach
from registry.people import selectors as people


def documents(actor: Actor) -> QuerySet[SearchDocument]:
    """What lists may show the actor: what is public, of their namespaces, or shared with them."""
    return union(documents_apart(actor)).select_related("model")


def union(parts: Sequence[QuerySet[SearchDocument]]) -> QuerySet[SearchDocument]:
    """The documents of parts as one queryset."""
    return reduce(or_, parts)


def documents_apart(actor: Actor, *, unpublished: bool = False) -> list[QuerySet[SearchDocument]]:
    """What ``documents`` gives, the public part first, then what is not public.

    Each part walks an index that begins with the audience or has few rows, so what others keep
    costs nothing. With ``unpublished`` come public repositories that never had a published version.
    """
    public = SearchDocument.objects.filter(audience=EVERYBODY)
    if actor.is_authenticated and actor.is_admin:
        return [public, SearchDocument.objects.filter(audience__gt=EVERYBODY)]
    mine, shared = [], []
    parts = [public]
    if actor.is_authenticated:
        mine = [space.pk for space, _ in people.namespaces_of(actor)]
        shared = list(shared_with(actor))
        if actor.reach and actor.reach.models:
            shared += _reached_models(actor, actor.reach)
    if mine:
        parts.append(SearchDocument.objects.filter(audience__in=mine))
    if shared:
        rows = SearchDocument.objects.filter(pk__in=shared)
        parts.append(rows.exclude(audience__in=[EVERYBODY, *mine]))
    if unpublished:
        keys = RegisteredModel.objects.filter(
            visibility=RegisteredModel.Visibility.PUBLIC,
            opened_at__isnull=False,
            first_published_at=None,
            deleted_at=None,
        )
        rows = SearchDocument.objects.filter(pk__in=keys.order_by().values("pk"))
        parts.append(rows.exclude(Q(audience__in=[EVERYBODY, *mine]) | Q(pk__in=shared)))
    return parts


def _reached_models(actor: User, reach: Reach) -> Iterable[int]:
    """The models that a limited token reaches one by one, of namespaces of its user."""
    rows = RegisteredModel.objects.filter(
        pk__in=reach.models, namespace__in=actor.memberships.values("namespace_id")
    )
    return rows.order_by().values_list("pk", flat=True)
