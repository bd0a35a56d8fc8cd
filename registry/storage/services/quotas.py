"""How much namespaces, users and the disk hold and have promised, and whether more fits.

Bytes are counted from the moment they are announced: an open upload by its length, a stored one
until a version of its namespace names it, what is being written by its reservation. Each check is
made under a lock, in the transaction that takes the room, so that two requests never both take it.
Locks are taken in this order: namespace, user, disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from hub import counting
from hub.protocol import problems
from registry.core.prepared_queries import Prepared
from registry.models import (
    Blob,
    CommitFile,
    DatasetFile,
    File,
    Membership,
    Namespace,
    RefusedCard,
    Reservation,
    Upload,
    User,
    Version,
    Xorb,
)
from registry.models.registered_models import has_files
from registry.storage import holders
from registry.storage.files import store

# The key of PostgreSQL's advisory lock around the room on the disk.
_DISK = 0x4855_4244_4953_4B00
# Longer than any write that holds a reservation; a killed process gives it back then.
LIFETIME = timedelta(hours=6)
CURE = (
    "Delete drafts, withdraw versions, cancel uploads or wait until they expire (within a day), "
    "or ask an administrator for a larger quota."
)


@dataclass(frozen=True, slots=True)
class Room:
    """What something may hold, holds, and has promised to uploads, in bytes."""

    quota: int
    used: int
    reserved: int

    @property
    def left(self) -> int:
        """Bytes that may still be added; negative where the quota was lowered."""
        return self.quota - self.used - self.reserved


def of_namespace(namespace: Namespace) -> Room:
    """The room of a namespace; what the hub derived itself is not held against it."""
    quota = namespace.quota_bytes
    key = namespace.pk
    return Room(
        settings.HUB_LIMITS_NAMESPACE_BYTES if quota is None else quota,
        _FILES(key) + _COMMITS(key) + _REFUSED_CARDS(key) + holders.size(namespace),
        _ANNOUNCED_TO_NAMESPACE(key) + _UNUSED_OF_NAMESPACE(key) + _RESERVED_IN_NAMESPACE(key),
    )


def of_user(user: User) -> Room:
    """What a user has under way, or stored and in no version of theirs; versions do not count."""
    promised = _ANNOUNCED_BY_USER(user.pk) + _UNUSED_OF_USER(user.pk) + _RESERVED_BY_USER(user.pk)
    return Room(settings.HUB_LIMITS_USER_BYTES, 0, promised)


def lock(namespace: Namespace) -> Namespace:
    """The namespace, whose room no one else takes until this transaction ends."""
    return Namespace.objects.select_for_update(no_key=True).get(pk=namespace.pk)


def expect(namespace: Namespace, own: int = 0, *, adding: int = 0) -> None:
    """Raise QuotaExceeded where a namespace, now locked, holds more than its quota.

    ``own`` of it is what this request brought already, ``adding`` what it is about to bring.
    """
    _fits(of_namespace(lock(namespace)), f"The namespace {namespace.slug}", own, adding)


def check(user: User, namespace: Namespace, adding: int, *, stored: int = 0) -> None:
    """Raise QuotaExceeded where bytes that a user is about to send cannot fit; locks nothing.

    ``stored`` bytes are sent already, and will count for the namespace as well.
    """
    _fits(of_namespace(namespace), f"The namespace {namespace.slug}", 0, adding + stored)
    if adding:
        _fits(of_user(user), "Your uploads that are not in a version yet", 0, adding)


def expect_chunks(namespace: Namespace, size: int) -> None:
    """Raise QuotaExceeded where xorbs that no file holds yet would be more than files may be."""
    waiting = Xorb.objects.filter(store__model__namespace=namespace, is_kept=True)
    expect(namespace, adding=size + (waiting.aggregate(sum=Sum("size"))["sum"] or 0))


def expect_upload(user: User, length: int, namespace: Namespace | None) -> None:
    """Raise unless an upload fits; inside the transaction that makes its row.

    Without a namespace, it must fit into one that the user may write, and all such uploads of the
    user into all of them. Raises QuotaExceeded, StorageFull.
    """
    if namespace is not None:
        expect(namespace, adding=length)
    expect_user(user, length)
    if namespace is None:
        _expect_somewhere(user, length)
    open_uploads = Upload.objects.filter(owner=user, state=Upload.State.RECEIVING).count()
    if open_uploads >= settings.HUB_LIMITS_OPEN_UPLOADS:
        raise problems.QuotaExceeded(
            f"You have {counting.plural(open_uploads, 'open upload')}; the limit is "
            f"{settings.HUB_LIMITS_OPEN_UPLOADS}. Finish or cancel some of them.",
            open_uploads=open_uploads,
        )
    expect_disk(length)


def expect_user(user: User, adding: int) -> None:
    """Raise QuotaExceeded where a user, now locked, has too much under way or in no version."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    _fits(of_user(user), "Your uploads that are not in a version yet", 0, adding)


def expect_disk(size: int) -> None:
    """Raise StorageFull where the disk cannot take ``size`` bytes beside all that is promised."""
    if (free := store().free_bytes()) is None:
        return
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_DISK])
    promised = Reservation.objects.aggregate(sum=Sum("size"))["sum"] or 0
    for uuid, length in Upload.objects.filter(state=Upload.State.RECEIVING).values_list(
        "pk", "length"
    ):
        promised += max(0, length - store().staged_bytes(str(uuid)))
    left = free - settings.HUB_LIMITS_FREE_BYTES - promised
    if size > left:
        raise problems.StorageFull(
            f"{size} bytes do not fit: the hub's storage has {max(0, left)} bytes left beyond the "
            "open uploads. Nothing was lost. Continue when the operator has freed space.",
            asked_bytes=size,
            room_bytes=max(0, left),
        )


@contextmanager
def reserved(
    size: int, *, owner: User | None = None, namespace: Namespace | None = None
) -> Iterator[Reservation]:
    """Hold room on the disk for ``size`` bytes that are about to be written, until they are.

    They count for ``owner`` and ``namespace`` meanwhile. Raises QuotaExceeded, StorageFull.
    """
    row = Reservation(owner=owner, namespace=namespace, size=0, expires_at=timezone.now())
    try:
        grow(row, size)
        yield row
    finally:
        if row.pk:
            row.delete()


@transaction.atomic
def grow(row: Reservation, size: int) -> None:
    """Raise a reservation to ``size`` bytes; raises QuotaExceeded, StorageFull and leaves it."""
    more = size - row.size
    if row.namespace is not None:
        expect_chunks(row.namespace, more)
    if row.owner is not None:
        expect_user(row.owner, more)
    expect_disk(more)
    row.size, row.expires_at = size, timezone.now() + LIFETIME
    row.save()


def expire() -> None:
    """Give back what killed processes reserved."""
    Reservation.objects.filter(expires_at__lt=timezone.now()).delete()


def _fits(room: Room, whose: str, own: int, adding: int) -> None:
    if adding <= room.left:
        return
    left = max(0, room.left + own)
    raise problems.QuotaExceeded(
        f"{own + adding} bytes exceed the quota. {whose} may use {room.quota} bytes; "
        f"{room.used - own} are used and {room.reserved} reserved by uploads, so {left} are "
        f"left. {CURE}",
        quota_bytes=room.quota,
        used_bytes=room.used - own,
        reserved_bytes=room.reserved,
        asked_bytes=own + adding,
        room_bytes=left,
    )


def _expect_somewhere(user: User, length: int) -> None:
    """Refuse early what no namespace of the user could take."""
    writable = Membership.objects.filter(user=user).exclude(role=Membership.Role.READER)
    rooms = [of_namespace(row.namespace) for row in writable.select_related("namespace")]
    if not rooms:
        return
    largest = max(rooms, key=lambda room: room.left)
    _fits(largest, "The namespace of yours with most room", 0, length)
    pending = _ANNOUNCED_WITHOUT_MODEL(user.pk) + _UNUSED_WITHOUT_MODEL(user.pk)
    all_rooms = Room(sum(max(0, room.left) for room in rooms), 0, pending)
    _fits(all_rooms, "Your uploads that are not in a version yet", 0, length)


def _announced(**owner: int | None) -> QuerySet[Upload]:
    return Upload.objects.filter(state=Upload.State.RECEIVING, **owner)


def _unused(**owner: int | None) -> QuerySet[Blob]:
    """The stored blobs of uploads that no version of theirs names.

    A version elsewhere does not count: that others have the same file is never revealed.
    """
    here = Q(version__model__namespace=OuterRef("model__namespace")) | Q(
        version__model__namespace__memberships__user=OuterRef("owner")
    )
    files = File.objects.filter(
        here, has_files("version__model__"), blob=OuterRef("blob"), derived=False
    ).exclude(version__state=Version.State.WITHDRAWN)
    there = Q(commit__model__namespace=OuterRef("model__namespace")) | Q(
        commit__model__namespace__memberships__user=OuterRef("owner")
    )
    commits = CommitFile.objects.filter(
        there, has_files("commit__model__"), blob=OuterRef("blob")
    ).exclude(commit__version__state=Version.State.WITHDRAWN)
    datasets = DatasetFile.objects.filter(
        blob=OuterRef("blob"), version__dataset__namespace__memberships__user=OuterRef("owner")
    )
    pending = Upload.objects.filter(
        ~Exists(files), ~Exists(commits), ~Exists(datasets), blob__isnull=False, **owner
    )
    return Blob.objects.filter(pk__in=pending.order_by().values("blob"), erased_at=None)


def _files(namespace: int) -> QuerySet[File]:
    return File.objects.filter(
        has_files("version__model__"), version__model__namespace=namespace, derived=False
    ).exclude(version__state=Version.State.WITHDRAWN)


def _refused_cards(namespace: int) -> QuerySet[RefusedCard]:
    return RefusedCard.objects.filter(has_files("model__"), model__namespace=namespace)


def _commits(namespace: int) -> QuerySet[Blob]:
    """The blobs that only commits name which were amended since."""
    amended = CommitFile.objects.filter(
        has_files("commit__model__"), commit__model__namespace=namespace
    ).exclude(commit__version__state=Version.State.WITHDRAWN)
    files = File.objects.filter(blob=OuterRef("pk"), version__model__namespace=namespace)
    return Blob.objects.filter(~Exists(files), pk__in=amended.values("blob"))


def _total(column: str, rows: Callable[[int], QuerySet[Any]]) -> Callable[[int], int]:
    """The sum of a column over rows of a namespace or user, whose SQL is written once.

    Every upload asks for these sums several times, and writing their SQL takes milliseconds.
    """
    # An aggregate would group the rows.
    total = Func(F(column), function="SUM", output_field=BigIntegerField())
    prepared = Prepared(lambda key: rows(key).order_by().values_list(total))

    def read(key: int) -> int:
        ((size,),) = prepared.rows(key)
        return int(size or 0)

    return read


_FILES = _total("blob__size", _files)
_COMMITS = _total("size", _commits)
_REFUSED_CARDS = _total("size", _refused_cards)
_ANNOUNCED_TO_NAMESPACE = _total("length", lambda key: _announced(model__namespace=key))
_ANNOUNCED_BY_USER = _total("length", lambda key: _announced(owner=key))
_ANNOUNCED_WITHOUT_MODEL = _total("length", lambda key: _announced(owner=key, model=None))
_UNUSED_OF_NAMESPACE = _total("size", lambda key: _unused(model__namespace=key))
_UNUSED_OF_USER = _total("size", lambda key: _unused(owner=key))
_UNUSED_WITHOUT_MODEL = _total("size", lambda key: _unused(owner=key, model=None))
_RESERVED_IN_NAMESPACE = _total("size", lambda key: Reservation.objects.filter(namespace=key))
_RESERVED_BY_USER = _total("size", lambda key: Reservation.objects.filter(owner=key))
