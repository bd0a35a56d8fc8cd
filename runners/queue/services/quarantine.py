"""Releasing quarantined files."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core.permissions import Actor, require_admin
from runners.models import Bar, Job


@transaction.atomic
def lift(actor: Actor, *, job: Job) -> Bar:
    """Release this job's file for its kind of work; administrators only."""
    user = require_admin(actor)
    bar = problems.expect(
        Bar.objects.standing_on(job).first(),
        problems.StateConflict("No bar stands on this job's file; there is none to lift."),
    )
    bar.lifted_at, bar.lifted_by = timezone.now(), user
    bar.save(update_fields=["lifted_at", "lifted_by"])
    return bar
