"""Models of a remote namespace, fetched when they are first requested.

A request that reads writes nothing: a thread with a connection of its own notes what is wanted,
and a worker fetches it. The request waits a while for that, and is answered with 503 after it.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta

from django.db import close_old_connections, connection, connections
from django.utils import timezone

from hub.protocol import problems, refs
from registry.core import maintenance_mode
from registry.core.permissions import Actor, role_in
from registry.models import Mirror, MirroredModel, RegisteredModel
from registry.people import selectors as people
from registry.versions import selectors

LOOK_SECONDS = 0.25
RETRY_SECONDS = 5
# Requests that one web process holds at once; each takes a thread, so there are few.
MOST_HELD = 4
# How long the answer of the source that it has no such model holds.
ABSENT_FOR = timedelta(minutes=5)
# How long after its first version a model may still be incomplete.
COMING_FOR = timedelta(hours=1)
# Names that were requested and are not there, of one mirror; further ones are not looked up.
MOST_ABSENT = 200
_held = threading.BoundedSemaphore(MOST_HELD)


def model(actor: Actor, namespace: str, name: str, wait_seconds: float) -> RegisteredModel:
    """A model as ``selectors.model`` gives it, fetched first where its namespace is remote.

    Raises NotFound, Moved, and Unavailable while it is being fetched and checked.
    """
    try:
        model = selectors.model(actor, namespace, name)
    except problems.NotFound:
        if not _bring(actor, namespace, name, wait_seconds):
            raise
        return selectors.model(actor, namespace, name)
    if _is_coming(model) and _bring(actor, namespace, name, wait_seconds):
        model.refresh_from_db()
    return model


def _is_coming(model: RegisteredModel) -> bool:
    """Whether further versions of a model are being checked, so that `main` is not the newest."""
    first = model.first_published_at
    if first is not None and first < timezone.now() - COMING_FOR:
        return False
    return model.mirrored.filter(synced_at=None, mirror__pull_through=True).exists()


def _bring(actor: Actor, namespace: str, name: str, wait_seconds: float) -> bool:
    """Have a model fetched and wait for it; False where no source has it for this actor."""
    mirror = (
        Mirror.objects.filter(
            namespace__in=people.by_slug(namespace), pull_through=True, is_paused=False
        )
        .select_related("namespace")
        .first()
    )
    if mirror is None or not _may_ask(actor, mirror):
        return False
    try:
        ref = f"{mirror.selector}/{refs.check_name(name)}"
    except problems.HubError:
        return False
    row = MirroredModel.objects.filter(mirror=mirror, ref__iexact=ref).first()
    if row is None or not row.is_settled(ABSENT_FOR):
        if (mode := maintenance_mode.current()).is_read_only:
            raise mode.refusal()
        thread = threading.Thread(target=_note, args=(mirror.pk, ref), name="pull-through")
        thread.start()
        thread.join()
        return _wait(mirror, ref, wait_seconds)
    return not row.problem


def _may_ask(actor: Actor, mirror: Mirror) -> bool:
    """Members may; others where all that the mirror can read is public."""
    if role_in(actor, mirror.namespace) is not None:
        return True
    return not mirror.has_token and mirror.visibility != "private"


def _note(mirror_id: int, ref: str) -> None:
    """Write that a model is wanted, in a thread of its own."""
    try:
        now = timezone.now()
        absent = MirroredModel.objects.filter(mirror=mirror_id, model=None)
        absent.filter(requested_at__lt=now - ABSENT_FOR).delete()
        row = MirroredModel.objects.filter(mirror=mirror_id, ref__iexact=ref).first()
        if row is None:
            if absent.count() >= MOST_ABSENT:
                return
            MirroredModel.objects.get_or_create(
                mirror_id=mirror_id, ref=ref, defaults={"requested_at": now}
            )
        elif row.is_settled(ABSENT_FOR):
            return
        # A turn that is running keeps this, and another one follows it.
        Mirror.objects.filter(pk=mirror_id).update(next_at=now)
    finally:
        connections.close_all()


def _wait(mirror: Mirror, ref: str, seconds: float) -> bool:
    until = time.monotonic() + seconds
    is_held = _held.acquire(blocking=False)
    try:
        while True:
            row = MirroredModel.objects.filter(mirror=mirror, ref__iexact=ref).first()
            if row is None:
                return False
            if row.is_settled(ABSENT_FOR):
                return not row.problem
            if not is_held or time.monotonic() > until:
                raise _later(mirror, ref)
            if not connection.in_atomic_block:
                close_old_connections()
            time.sleep(LOOK_SECONDS)
    finally:
        if is_held:
            _held.release()


def _later(mirror: Mirror, ref: str) -> problems.Unavailable:
    """The error of a request that has waited long enough."""
    mirror.refresh_from_db()
    name = f"{mirror.namespace.slug}/{ref.rpartition('/')[2]}"
    cause = (
        f"{name} cannot be fetched now: {mirror.error}"
        if mirror.error
        else f"{name} is being fetched from {mirror.url} and checked."
    )
    return problems.Unavailable(
        f"{cause} Try again in {RETRY_SECONDS} s.", retry_after=RETRY_SECONDS
    )
