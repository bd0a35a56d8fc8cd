"""Pausing, draining and resuming pools, for administrators."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from registry.core import events
from registry.core.permissions import Actor, require_admin
from runners.models import HoldState, Host, PoolHold
from runners.queue.services import sweeps


@transaction.atomic
def hold(actor: Actor, *, pool: str, state: HoldState, reason: str = "") -> PoolHold:
    """Let a pool hand out no job from now on; its running jobs go on. Administrators only.

    A hold of the pool is replaced. The rows of all hosts are locked, as by each claim, so that no
    claim that began before ends with a job of the pool after the answer.
    """
    user = require_admin(actor)
    list(Host.objects.select_for_update().order_by("pk"))
    fields = {"state": state, "reason": reason, "held_by": user, "held_at": timezone.now()}
    row, _ = PoolHold.objects.update_or_create(pool=pool, defaults=fields)
    # No other job waits for one that does not come.
    Host.objects.filter(reserved_for__pool=pool).update(reserved_for=None, reserved_until=None)
    events.record(f"pool.{state}", row, actor=user, pool=pool, reason=reason)
    return row


@transaction.atomic
def resume(actor: Actor, *, pool: str) -> None:
    """Let a pool hand out jobs again, and notify its workers; administrators only."""
    user = require_admin(actor)
    row = PoolHold.objects.select_for_update().filter(pool=pool).first()
    if row is None:
        return
    events.record("pool.resumed", row, actor=user, pool=pool)
    row.delete()
    transaction.on_commit(sweeps.recover)
