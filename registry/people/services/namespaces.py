"""Making namespaces, and deciding who belongs to them."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from hub.protocol import bidi, problems, refs
from registry.core import events
from registry.core.permissions import Actor, require, require_admin, require_user
from registry.models import Membership, Namespace, User

# Words that are addresses of the hub itself, or of the Hub protocol.
RESERVED = frozenset(
    """
    about account administration agents api benchmarks blob blobs buckets collections commit
    compare datasets devices docs federated fleets health healthz help home jobs kernels keys
    latest licences login logout main metrics models ns oauth onnx-hub papers problems query raw
    readyz resolve runtimes scim scoreboard settings spaces sparql static tasks tests theme tokens
    trainings tree upload uploads v2
    """.split()  # noqa: SIM905 - a list of fifty quoted words is harder to read
)


def check_free_word(slug: str) -> None:
    """Raise NameReserved where ``slug`` is an address of the hub's own."""
    if slug.lower() in RESERVED:
        raise problems.NameReserved(
            f"{slug!r} is reserved for an address of the hub. Choose another name."
        )


@transaction.atomic
def create(
    actor: Actor, *, slug: str, display_name: str = "", kind: str = Namespace.Kind.ORG
) -> Namespace:
    """Make a namespace that ``actor`` owns; raises NameTaken, NameReserved, InvalidName."""
    user = require_user(actor, "admin")
    return open_for(user, slug=slug, display_name=display_name, kind=kind)


def open_personal(user: User) -> Namespace:
    """Make the namespace of a user's own name; raises NameTaken, NameReserved, InvalidName."""
    return open_for(user, slug=user.username, kind=Namespace.Kind.USER)


def open_for(
    user: User, *, slug: str, display_name: str = "", kind: str = Namespace.Kind.ORG
) -> Namespace:
    """Make a namespace owned by ``user``, inside the caller's transaction, without asking who."""
    refs.check_name(slug)
    check_free_word(slug)
    bidi.expect_none("/display_name", display_name)
    try:
        with transaction.atomic():
            namespace = Namespace.objects.create(slug=slug, kind=kind, display_name=display_name)
    except IntegrityError as error:
        raise problems.NameTaken(f"Namespace {slug} already exists.") from error
    Membership.objects.create(namespace=namespace, user=user, role=Membership.Role.OWNER)
    events.record("namespace.created", namespace, actor=user)
    return namespace


@transaction.atomic
def edit(actor: Actor, *, namespace: Namespace, **changes: Any) -> Namespace:
    """Change ``display_name``, ``allows_token_deletion`` or, as administrator, ``quota_bytes``.

    A quota of None is the hub's preset.
    """
    require(actor, "namespace.edit", namespace)
    if "quota_bytes" in changes:
        require_admin(actor)
        quota = changes["quota_bytes"]
        if quota is not None and quota < 0:
            raise problems.InvalidRequest.at("/quota_bytes", "A quota must be at least 0 bytes.")
    bidi.expect_none("/display_name", changes.get("display_name", ""))
    fields = ("display_name", "quota_bytes", "allows_token_deletion")
    for field in fields:
        if field in changes:
            setattr(namespace, field, changes[field])
    namespace.save(update_fields=fields)
    events.record("namespace.edited", namespace, actor=actor, fields=sorted(changes))
    return namespace


@transaction.atomic
def set_member(actor: Actor, *, namespace: Namespace, user: User, role: str | None) -> None:
    """Give ``user`` a role in a namespace, or none; the last owner cannot leave."""
    require(actor, "member.edit", namespace)
    assign(actor, namespace=namespace, user=user, role=role)


@transaction.atomic
def assign(actor: Actor | None, *, namespace: Namespace, user: User, role: str | None) -> None:
    """Give a role, or none, without asking who; raises StateConflict for the last owner.

    The role of a service account is changed by `service_accounts`; it gives StateConflict here.
    """
    Namespace.objects.select_for_update().get(pk=namespace.pk)
    if user.service_of_id is not None:
        raise problems.StateConflict(
            f"{user.username} is a service account. Its organisation's page changes its role, or "
            "closes it."
        )
    if role is None:
        Membership.objects.filter(namespace=namespace, user=user).delete()
    else:
        Membership.objects.update_or_create(namespace=namespace, user=user, defaults={"role": role})
    if not namespace.memberships.filter(role=Membership.Role.OWNER).exists():
        raise problems.StateConflict(
            f"{namespace.slug} would have no owner. Make another user an owner first."
        )
    events.record("member.changed", namespace, actor=actor, user=user.pk, role=role or "")
