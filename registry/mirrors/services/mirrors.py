"""Adding, changing and removing mirrors, and taking turns at them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from hub.protocol import problems, refs
from hub.protocol.mirrors import clean
from registry.core import events, maintenance_mode
from registry.core.account_uses import Dependent
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.mirrors import credentials, outgoing, selectors
from registry.models import Mirror, Namespace, User, Version
from registry.versions.dependents import VersionDependent

HUGGING_FACE = "https://huggingface.co"
LONGEST_SELECTOR = 200
# Mirrors that the hub synchronises at once.
MOST_TURNS = 4
LONGEST_BACKOFF = timedelta(hours=1)


@transaction.atomic
def add(
    actor: Actor,
    *,
    source: str,
    namespace: Namespace,
    search: str = "",
    protocol: str = "",
    token: str = "",
    visibility: str = "",
    interval_seconds: int = 3600,
    pull_through: bool = False,
) -> Mirror:
    """Mirror a model, a namespace or a search into a namespace; it is due at once.

    Owners name sources of HUB_MIRROR_SOURCES, administrators of the hub any. Raises
    InvalidRequest, NotAllowed, NameTaken.
    """
    user = require(actor, "mirror.edit", namespace)
    url = outgoing.origin(source)
    if url not in settings.HUB_MIRROR_SOURCES and not user.is_admin:
        raise problems.NotAllowed(
            f"{url} is not an approved source. Ask an administrator to add it to "
            "HUB_MIRROR_SOURCES, or to add this mirror."
        )
    if url in map(outgoing.origin, (settings.HUB_PUBLIC_URL, *settings.HUB_FORMER_URLS)):
        raise problems.InvalidRequest.at("/source", "This hub cannot mirror itself.")
    scope, selector = _selection(source, search.strip())
    if pull_through and scope != Mirror.Scope.NAMESPACE:
        raise problems.InvalidRequest.at(
            "/pull_through", "Pull-through needs a namespace as its source, https://host/namespace."
        )
    protocol = protocol or (Mirror.Protocol.HUGGINGFACE if url == HUGGING_FACE else "hub")
    try:
        with transaction.atomic():
            mirror = Mirror.objects.create(
                namespace=namespace,
                url=url,
                protocol=protocol,
                scope=scope,
                selector=selector,
                visibility=visibility,
                pull_through=pull_through,
                interval_seconds=interval_seconds,
                sealed_token=credentials.seal(token),
                created_by=user,
                next_at=timezone.now(),
            )
    except IntegrityError as error:
        raise problems.NameTaken(
            f"{namespace.slug} already mirrors {url}/{selector}, or is a pull-through namespace of "
            "another source. See `hub mirror list`."
        ) from error
    events.record("mirror.added", mirror, actor=actor, source=mirror.source)
    return mirror


@transaction.atomic
def edit(actor: Actor, *, mirror: Mirror, **fields: Any) -> Mirror:
    """Change the interval, visibility or token, pause or resume; fields left out stay."""
    require(actor, "mirror.edit", mirror.namespace)
    mirror = lock(mirror)
    if "token" in fields:
        mirror.sealed_token = credentials.seal(fields.pop("token"))
    for name, value in fields.items():
        setattr(mirror, name, value)
    mirror.next_at = timezone.now()
    mirror.save()
    events.record("mirror.edited", mirror, actor=actor, fields=sorted(fields))
    return mirror


@transaction.atomic
def sync(actor: Actor, *, mirror: Mirror) -> Mirror:
    """Have a mirror synchronised now; raises StateConflict for a paused one."""
    require(actor, "mirror.edit", mirror.namespace)
    mirror = lock(mirror)
    if mirror.is_paused:
        raise problems.StateConflict("The mirror is paused. Resume it first.")
    mirror.next_at = timezone.now()
    mirror.save(update_fields=["next_at"])
    return mirror


@transaction.atomic
def remove(actor: Actor, *, mirror: Mirror) -> None:
    """Stop mirroring; models, versions and where they came from stay."""
    require(actor, "mirror.edit", mirror.namespace)
    events.record("mirror.removed", mirror, actor=actor, source=mirror.source)
    mirror.delete()


def of_account(user: User) -> Iterator[Dependent]:
    """The mirrors that synchronise in the name of a user."""

    def hand_over(mirror: Mirror, heir: User) -> None:
        Mirror.objects.filter(pk=mirror.pk).update(created_by=heir)

    for mirror in user.mirrors.select_related("namespace"):
        name = f"{mirror.pk} of {mirror.source}"
        transfer = partial(hand_over, mirror)
        yield Dependent("mirror", name, mirror.namespace, "mirror.edit", transfer)


def of_version(actor: Actor, version: Version) -> Iterator[VersionDependent]:
    """The mirrors of the actor's that brought a version and synchronise its model."""
    rows = selectors.mirrors(actor).filter(mirrored__model=version.model_id)
    if selectors.origin(version) is not None:
        for mirror in rows:
            yield VersionDependent("mirror", f"{mirror.pk} of {mirror.source}")


@dataclass(slots=True)
class Renewal:
    """Stored tokens: how many were encrypted with the present key, and mirrors without a key."""

    renewed: int = 0
    current: int = 0
    unreadable: list[Mirror] = field(default_factory=list)


def renew_tokens() -> Renewal:
    """Encrypt every stored token with the present secret key, one row at a time.

    It can be repeated, and ended at any time. A token that is set meanwhile stays as it is.
    """
    renewal = Renewal()
    for mirror in Mirror.objects.exclude(sealed_token="").order_by("pk"):
        before = mirror.sealed_token
        try:
            sealed = credentials.renewed(before)
        except problems.NotAuthenticated:
            renewal.unreadable.append(mirror)
            continue
        if sealed == before:
            renewal.current += 1
            continue
        rows = Mirror.objects.filter(pk=mirror.pk, sealed_token=before)
        renewal.renewed += rows.update(sealed_token=sealed)
    return renewal


def is_due() -> bool:
    """Whether a mirror waits for its turn: a quick look that locks nothing."""
    return _due().exists() and _has_place()


def claim() -> Mirror | None:
    """A mirror whose turn it is, held by this process until its lease ends; None without one.

    None during read-only maintenance, too.
    """
    if maintenance_mode.current().is_read_only or not _has_place():
        return None
    for key in list(_due().values_list("pk", flat=True)[:10]):
        count = (
            _due()
            .filter(pk=key)
            .update(claim=uuid.uuid4(), claimed_until=timezone.now() + lease(), received_bytes=0)
        )
        if count:
            return Mirror.objects.select_related("namespace", "created_by").get(pk=key)
    return None


def _has_place() -> bool:
    """Whether few enough mirrors are being synchronised, on all workers together."""
    return Mirror.objects.filter(claimed_until__gt=timezone.now()).count() < MOST_TURNS


def _due() -> QuerySet[Mirror]:
    now = timezone.now()
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    return Mirror.objects.filter(free, is_paused=False, next_at__lte=now).order_by("next_at", "pk")


def lease() -> timedelta:
    """How long a silent process keeps its mirror."""
    return timedelta(seconds=2 * settings.HUB_LIMITS_LEASE_SECONDS)


def renew(mirror: Mirror, *, step: str, received_bytes: int) -> bool:
    """Report progress and keep the lease; False where it was lost, paused or removed."""
    held = Mirror.objects.filter(pk=mirror.pk, claim=mirror.claim, is_paused=False)
    return bool(
        held.update(
            claimed_until=timezone.now() + lease(), step=step[:300], received_bytes=received_bytes
        )
    )


def release(mirror: Mirror, *, error: str = "", again_seconds: float | None = None) -> None:
    """End a turn with its error message or without; ``again_seconds`` until the next one."""
    now = timezone.now()
    interval = timedelta(seconds=mirror.interval_seconds)
    failures = mirror.failures + 1 if error else 0
    delay = min(interval, LONGEST_BACKOFF, timedelta(minutes=2 ** min(failures, 10) / 2))
    if again_seconds is not None:
        delay = timedelta(seconds=again_seconds)
    elif not error:
        delay = interval
    fields: dict[str, Any] = {"error": clean(error)[:2_000], "failures": failures}
    if not error and again_seconds is None:
        fields["synced_at"] = now
    held = Mirror.objects.filter(pk=mirror.pk, claim=mirror.claim)
    # A turn that was asked for meanwhile is not lost.
    held.filter(next_at=mirror.next_at).update(next_at=now + delay)
    held.update(claim=None, claimed_until=None, step="", **fields)


def _selection(source: str, search: str) -> tuple[str, str]:
    """What an address and a search text mean; raises InvalidRequest, InvalidReference."""
    parts = [unquote(part) for part in urlsplit(source).path.split("/") if part]
    if parts[:1] == ["models"] and len(parts) > 1:
        parts = parts[1:]
    if search:
        if parts:
            raise problems.InvalidRequest.at(
                "/source", "With a search, the source is the address of the hub alone."
            )
        return Mirror.Scope.SEARCH, search[:LONGEST_SELECTOR]
    if not 1 <= len(parts) <= 2:
        raise problems.InvalidRequest.at(
            "/source",
            "Write the source as https://host/namespace/model or https://host/namespace, or give "
            "a search text.",
        )
    for part in parts:
        refs.check_name(part)
    scope = Mirror.Scope.MODEL if len(parts) == 2 else Mirror.Scope.NAMESPACE
    return scope, "/".join(parts)
