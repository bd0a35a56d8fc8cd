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
from registry.core import events, security_log
from registry.core.permissions import Actor, require_admin
from registry.core.security_log import Kind
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
    invitation, secret = _make(email, admin, namespace, role)
    security_log.report(Kind.INVITATION_SENT, actor=admin, data=_data(invitation))
    return invitation, secret


@transaction.atomic
def request(*, email: str) -> tuple[Invitation, str]:
    """Make an invitation that the owner of an address asks for; raises NotAllowed if closed."""
    if not is_open_to(email):
        raise problems.NotAllowed("Sign-up with this e-mail address is closed on this hub.")
    return _make(email, None, None, "")


@transaction.atomic
def revoke(actor: Actor, *, invitation: Invitation) -> None:
    """Delete an invitation, so that its link leads nowhere; for administrators."""
    admin = require_admin(actor)
    security_log.report(Kind.INVITATION_REVOKED, actor=admin, data=_data(invitation))
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
    inviter = invitation.invited_by.username if invitation.invited_by else ""
    events.record("user.created", user, actor=user, invited_by=inviter)
    if space := invitation.namespace:
        role = invitation.role
        Membership.objects.create(namespace=space, user=user, role=role)
        events.record(
            "member.changed", space, actor=user, user=user.pk, role=role, invited_by=inviter
        )
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


def _data(invitation: Invitation) -> dict[str, str]:
    """What the security log says of an invitation."""
    space = invitation.namespace
    role = {"namespace": space.slug, "role": invitation.role} if space else {}
    return {"email": invitation.email, **role}


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
