"""Invitations: how people come to accounts of their own once their e-mail address is confirmed."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require_admin
from registry.models import Invitation, Membership, Namespace, User
from registry.people.services import users

DAYS = 7


def is_open_to(email: str) -> bool:
    """Whether the owner of an address may ask for an account."""
    domain = email.rpartition("@")[2].lower()
    return settings.HUB_SIGN_UP == "open" or (
        settings.HUB_SIGN_UP == "domain" and domain in settings.HUB_SIGN_UP_DOMAINS
    )


@transaction.atomic
def invite(
    actor: Actor, *, email: str, namespace: Namespace | None = None, role: str = ""
) -> tuple[Invitation, str]:
    """Make an invitation, perhaps to a role in a namespace; returns it with its secret.

    Raises NotAllowed for all but administrators, and StateConflict where sign-up is closed.
    """
    admin = require_admin(actor)
    if settings.HUB_SIGN_UP == "closed":
        raise problems.StateConflict(
            "Sign-up is closed. Set HUB_SIGN_UP=invitation, or create the account yourself."
        )
    return _make(email, admin, namespace, role)


@transaction.atomic
def request(*, email: str) -> tuple[Invitation, str]:
    """Make an invitation that the owner of an address asks for; raises NotAllowed if closed."""
    if not is_open_to(email):
        raise problems.NotAllowed("Sign-up with this e-mail address is closed on this hub.")
    return _make(email, None, None, "")


@transaction.atomic
def revoke(actor: Actor, *, invitation: Invitation) -> None:
    """Delete an invitation, so that its link leads nowhere; for administrators."""
    require_admin(actor)
    invitation.delete()


def pending(actor: Actor) -> QuerySet[Invitation]:
    """The pending invitations of administrators, newest first; for administrators."""
    require_admin(actor)
    rows = Invitation.objects.select_related("invited_by", "namespace")
    return rows.filter(invited_by__isnull=False, expires_at__gt=timezone.now())


def of(secret: str) -> Invitation:
    """The invitation of a link; raises NotFound once it is used, revoked or expired."""
    row = Invitation.objects.filter(digest=_digest(secret), expires_at__gt=timezone.now())
    return problems.expect(
        row.select_related("namespace").first(),
        problems.NotFound(
            "This link was used, revoked or has expired. Request another invitation."
        ),
    )


@transaction.atomic
def accept(*, invitation: Invitation, username: str, password: str) -> User:
    """Make the account of an invitation, which ends it, and give it the role.

    Raises NotFound once it is used, NameTaken, NameReserved, InvalidName.
    """
    if not Invitation.objects.filter(pk=invitation.pk).delete()[0]:
        raise problems.NotFound("This link was used already. Sign in, or ask for another.")
    user = users.create(username=username, password=password, email=invitation.email)
    events.record("user.created", user, actor=invitation.invited_by or user)
    if space := invitation.namespace:
        Membership.objects.create(namespace=space, user=user, role=invitation.role)
        actor = invitation.invited_by
        events.record("member.changed", space, actor=actor, user=user.pk, role=invitation.role)
    return user


def delete_expired() -> int:
    """Delete expired invitations; returns the number."""
    return Invitation.objects.filter(expires_at__lte=timezone.now()).delete()[0]


def _make(
    email: str, admin: User | None, namespace: Namespace | None, role: str
) -> tuple[Invitation, str]:
    secret = secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        email=email.lower(),
        digest=_digest(secret),
        invited_by=admin,
        namespace=namespace,
        role=role if namespace else "",
        expires_at=timezone.now() + timedelta(days=DAYS),
    )
    return row, secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
