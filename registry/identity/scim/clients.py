"""Identity providers that provision accounts, and the tokens that administrators make for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from unicodedata import category

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import bidi, problems, refs
from registry.core import events
from registry.core.permissions import PROVISION, Actor, require_admin
from registry.identity.models import ScimClient, ScimGroup, ScimUser
from registry.models import AccessToken, User
from registry.people.services import tokens
from registry.people.services.service_accounts import SEPARATOR

# `scim` is the name of no namespace and "+" in no name, so no other account is called like this.
PREFIX = f"scim{SEPARATOR}"
LONGEST_NAME = 40
LONGEST_TEXT = 254
TOKEN_DAYS = 365


@transaction.atomic
def create_token(actor: Actor, *, name: str) -> tuple[AccessToken, str]:
    """Make a token for the identity provider ``name``; returns its row and it, for the only time.

    The account of a new provider is made too; a known one has one more token, so that it can be
    replaced without a gap. Raises NotAllowed for all but administrators, and InvalidName.
    """
    admin = require_admin(actor)
    client = ScimClient.objects.filter(account__username__iexact=f"{PREFIX}{name}").first()
    if client is None:
        client = _create(admin, name)
    return tokens.issue(
        client.account,
        name=client.account.username,
        scopes=[PROVISION],
        expires=timedelta(days=TOKEN_DAYS),
        actor=admin,
    )


def tokens_of(actor: Actor) -> QuerySet[AccessToken]:
    """The tokens of identity providers, newest first; for administrators."""
    require_admin(actor)
    return AccessToken.objects.exclude(user__scim_client=None).select_related("user")


@transaction.atomic
def revoke_token(actor: Actor, *, token_id: int) -> None:
    """Revoke a token of an identity provider; raises NotAllowed, NotFound. Accounts stay."""
    admin = require_admin(actor)
    token = problems.expect(
        tokens_of(actor).filter(pk=token_id).first(),
        problems.NotFound("Token not found. It may already have been revoked."),
    )
    tokens.end(admin, token.user, token_id)


def expect_texts(texts: Iterable[tuple[str, str]]) -> None:
    """Raise InvalidRequest for a text of an attribute that the hub cannot keep or show."""
    for name, text in texts:
        if len(text) > LONGEST_TEXT:
            raise problems.InvalidRequest.at(
                f"/{name}", f"{name} has more than {LONGEST_TEXT} characters."
            )
        if any(category(character) == "Cc" for character in text):
            raise problems.InvalidRequest.at(
                f"/{name}", f"{name} has control characters. Remove them."
            )
        bidi.expect_none(f"/{name}", text)


def _create(admin: User, name: str) -> ScimClient:
    refs.check_name(name)
    if len(name) > LONGEST_NAME:
        raise problems.InvalidName(f"The name has up to {LONGEST_NAME} characters.")
    account = User(username=f"{PREFIX}{name}")
    account.set_unusable_password()
    try:
        with transaction.atomic():
            account.save()
            client = ScimClient.objects.create(account=account)
    except IntegrityError as error:
        raise problems.NameTaken(f"Identity provider {name} already exists.") from error
    events.record("user.created", account, actor=admin)
    return client


def save(row: ScimUser | ScimGroup, *, conflict: str) -> None:
    """Store a user or a group with its times; raises NameTaken with the text ``conflict``."""
    row.changed_at = timezone.now()
    row.created_at = row.created_at or row.changed_at
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise problems.NameTaken(conflict) from error
