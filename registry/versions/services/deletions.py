"""What tokens may delete in an hour, and how long an owner can restore it.

A token of scope `write` lies in scripts and CI systems, so it may leak. What it deletes stays for
some days, and it deletes and moves few models in an hour. A session or a token of scope `admin`
deletes at once and without limit.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hub import counting
from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, has_scope, require
from registry.core.row_locks import lock
from registry.models import Event, RegisteredModel, User

VERBS = ("model.deleted", "model.moved")
HOUR = timedelta(hours=1)


def grace() -> timedelta:
    """How long a model that a token deleted can be restored."""
    return timedelta(days=settings.HUB_DELETED_MODEL_DAYS)


def days() -> str:
    """Its number of days, with the noun."""
    return counting.plural(settings.HUB_DELETED_MODEL_DAYS, "day")


def limit(actor: User) -> dict[str, int]:
    """What the event of a deletion or a move says of the token; nothing where it has no limit.

    Raises Throttled where tokens of this user ended too many models in the last hour.
    """
    if actor.access_token is None or has_scope(actor, "admin"):
        return {}
    lock(actor)  # so that deletions at the same time are counted
    recent = Event.objects.filter(
        actor=actor, verb__in=VERBS, at__gt=timezone.now() - HOUR, data__has_key="token"
    )
    if recent.count() >= settings.HUB_LIMITS_TOKEN_DELETIONS:
        raise problems.Throttled(
            "Your tokens without the scope admin may delete or move "
            f"{counting.plural(settings.HUB_LIMITS_TOKEN_DELETIONS, 'model')} in an hour. Wait, "
            "use the page of the model, or a token of scope admin.",
            retry_after=int(HOUR.total_seconds()),
        )
    return {"token": actor.access_token.pk}


def restorable(model: RegisteredModel) -> RegisteredModel:
    """The model, locked; raises StateConflict where it cannot be restored (any more)."""
    model = lock(model, "namespace")
    if model.restorable_until is None:
        raise problems.StateConflict(f"{model.ref} is not deleted, or can no longer be restored.")
    return model


@transaction.atomic
def erase(actor: Actor, *, model: RegisteredModel) -> None:
    """Delete a model that could be restored permanently; raises StateConflict."""
    require(actor, "model.restore", model)
    _end(restorable(model), actor)


def erase_expired() -> int:
    """Delete permanently what can no longer be restored; returns how many models."""
    expired = Q(restorable_until__lt=timezone.now())
    rows = RegisteredModel.objects.filter(expired).order_by("pk")
    return sum(_expire(row, expired) for row in rows)


def forget(model: RegisteredModel) -> None:
    """Delete the discussions and refused cards of a deleted model, and retire its former names."""
    model.former_names.update(moved_to=None)
    model.refused_cards.all().delete()
    model.discussions.all().delete()


@transaction.atomic
def _expire(model: RegisteredModel, expired: Q) -> bool:
    """Delete a model permanently; False where it was restored meanwhile."""
    rows = RegisteredModel.objects.select_for_update(of=("self",)).select_related("namespace")
    row = rows.filter(expired, pk=model.pk).first()
    if row is not None:
        _end(row, None)
    return row is not None


def _end(model: RegisteredModel, actor: Actor | None) -> None:
    model.restorable_until = None
    model.save(update_fields=["restorable_until"])
    forget(model)
    events.record("model.erased", model, actor=actor, model=model)
