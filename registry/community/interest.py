"""Liking and watching models. Each is done once; doing it again changes nothing.

The caller has found the model by a selector, so only models that the actor sees come here. No event
is recorded: what a person likes or watches is no change of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from registry.core.permissions import Actor, require_user
from registry.core.prepared_queries import Prepared
from registry.models import Like, RegisteredModel, Watch


@dataclass(frozen=True, slots=True)
class Interest:
    """How many people like a model, and whether the actor likes and watches it."""

    likes: int
    liked: bool
    watched: bool


def of_model(actor: Actor, model: RegisteredModel) -> Interest:
    """The interest in a model, itself seen by the actor."""
    user = actor.pk if actor.is_authenticated else 0
    counts = _likes.rows(model.pk, user)
    watched = bool(user) and Watch.objects.filter(model=model, user=user).exists()
    return Interest(sum(n for n, _ in counts), any(own for _, own in counts), watched)


@Prepared
def _likes(model_id: int, user_id: int) -> QuerySet[Like, Any]:
    rows = Like.objects.filter(model=model_id).order_by().values("model")
    counts = rows.annotate(n=Count("pk"), own=Count("pk", filter=Q(user=user_id)))
    return counts.values_list("n", "own")


def like(actor: Actor, *, model: RegisteredModel) -> None:
    """Like a model; raises NotAuthenticated, NotAllowed."""
    user = require_user(actor, "write", of=model)
    Like.objects.bulk_create([Like(model=model, user=user)], ignore_conflicts=True)


def unlike(actor: Actor, *, model: RegisteredModel) -> None:
    """Take a like back; raises NotAuthenticated, NotAllowed."""
    Like.objects.filter(model=model, user=require_user(actor, "write", of=model)).delete()


def likes(actor: Actor) -> QuerySet[Like]:
    """The actor's likes of models that they still see, newest first; raises NotAuthenticated."""
    user = require_user(actor, any_namespace=True)
    rows = Like.objects.filter(user=user, model__in=RegisteredModel.objects.visible_to(actor))
    return rows.select_related("model__namespace").order_by("-pk")


def watch(actor: Actor, *, model: RegisteredModel) -> None:
    """Watch a model; raises NotAuthenticated, NotAllowed."""
    user = require_user(actor, "write", of=model)
    Watch.objects.bulk_create([Watch(model=model, user=user)], ignore_conflicts=True)


def unwatch(actor: Actor, *, model: RegisteredModel) -> None:
    """Stop watching a model; raises NotAuthenticated, NotAllowed."""
    Watch.objects.filter(model=model, user=require_user(actor, "write", of=model)).delete()


def watches(actor: Actor) -> QuerySet[Watch]:
    """The watches of models that the actor still sees, newest first; raises NotAuthenticated."""
    user = require_user(actor, any_namespace=True)
    rows = Watch.objects.filter(user=user, model__in=RegisteredModel.objects.visible_to(actor))
    return rows.select_related("model__namespace").order_by("-pk")
