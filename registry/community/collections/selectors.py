"""Finding collections and their models. A model that the actor does not see is nowhere in them.

Lists, counts and places leave out such models. Whoever can change a collection also learns how many
of its entries they do not see, since those count towards its size, and nothing else of them.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet, Value

from hub.protocol import problems
from registry.core.permissions import ROLES, Actor, can, has_scope
from registry.core.prepared_queries import Prepared
from registry.models import Collection, CollectionEntry, Membership, RegisteredModel
from registry.people import selectors as people

# How many of an actor's collections a page offers.
OFFERED = 20


def collections(
    actor: Actor, *, namespace: str = "", model: RegisteredModel | None = None
) -> QuerySet[Collection]:
    """The collections the actor sees, newest first, each with the ``model_count`` that they see.

    ``model``, itself seen by the actor, leaves those that contain it. A namespace without any that
    the actor sees is like one that is not there.
    """
    rows = Collection.objects.visible_to(actor).select_related("namespace")
    if namespace:
        rows = rows.filter(namespace__in=people.by_slug(namespace))
    if model is not None:
        rows = rows.filter(pk__in=CollectionEntry.objects.filter(model=model).values("collection"))
    visible = RegisteredModel.objects.visible_to(actor).order_by().values("pk")
    model_count = Count("entries", filter=Q(entries__model__in=visible))
    return rows.annotate(model_count=model_count).order_by("-pk")


def count_of(actor: Actor, model: RegisteredModel) -> int:
    """How many collections that the actor sees contain a model, itself seen by the actor."""
    rows = _with(actor, model.pk) if actor.is_authenticated else _GUESTS_WITH.rows(model.pk)
    return sum(n for (n,) in rows)


def _with(actor: Actor, model_id: int) -> QuerySet[Any, Any]:
    rows = Collection.objects.visible_to(actor).order_by()
    entries = CollectionEntry.objects.filter(model=model_id).values("collection")
    counts = rows.filter(pk__in=entries).annotate(every=Value(1)).values("every")
    return counts.annotate(n=Count("pk")).values_list("n")


_GUESTS_WITH = Prepared(lambda model_id: _with(AnonymousUser(), model_id))


def offered(actor: Actor, model: RegisteredModel) -> list[Collection]:
    """The collections to which the actor may add a model that they see, the latest changed."""
    if not has_scope(actor, "write"):
        return []
    containing = CollectionEntry.objects.filter(model=model).order_by().values("collection")
    writing = Membership.objects.filter(user=actor.pk, role__in=ROLES[ROLES.index("writer") :])
    own = Collection.objects.visible_to(actor).filter(namespace__in=writing.values("namespace"))
    own = own.exclude(pk__in=containing).select_related("namespace")
    return list(own.order_by("-updated_at", "-pk")[:OFFERED])


def collection(actor: Actor, namespace_slug: str, slug: str) -> Collection:
    """A collection by its name, ignoring case; raises NotFound."""
    rows = Collection.objects.visible_to(actor).select_related("namespace")
    return problems.expect(
        rows.filter(namespace__in=people.by_slug(namespace_slug), slug=slug.lower()).first(),
        problems.NotFound(
            f"Collection {namespace_slug}/{slug} not found. Check the name; for a private "
            "collection sign in or send a token."
        ),
    )


def entries(actor: Actor, of: Collection) -> list[CollectionEntry]:
    """The entries of a collection whose models the actor sees, in its order."""
    rows = CollectionEntry.objects.filter(
        collection=of, model__in=RegisteredModel.objects.visible_to(actor)
    )
    return list(rows.select_related("model__namespace").order_by("position"))


def entry(actor: Actor, of: Collection, model: RegisteredModel) -> CollectionEntry:
    """The entry of a model that the actor sees; raises NotFound."""
    row = CollectionEntry.objects.filter(collection=of, model=model).first()
    if row is None or not RegisteredModel.objects.visible_to(actor).filter(pk=model.pk).exists():
        raise problems.NotFound(
            f"{of.ref} does not contain {model.ref}. Add it, or check the name."
        )
    return row


def unavailable(actor: Actor, of: Collection) -> int | None:
    """How many entries the actor does not see, where they can change the collection; else None."""
    if not can(actor, "collection.edit", of.namespace):
        return None
    return hidden(actor, of).count()


def hidden(actor: Actor, of: Collection) -> QuerySet[CollectionEntry]:
    """The entries of models that there are, and that the actor does not see."""
    visible = RegisteredModel.objects.visible_to(actor).order_by().values("pk")
    rows = CollectionEntry.objects.filter(collection=of, model__deleted_at=None)
    return rows.exclude(model__in=visible)
