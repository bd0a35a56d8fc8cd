"""What the hub holds about a person: their export, and the erasure of who they are.

The export follows from the tables: every row that names the account, without secrets. A row that
the account only decided about, hid or invited is another person's, so only its key is given. An
erasure replaces the name, deletes what is the account's alone, and keeps what others rely on, under
a pseudonym: versions, comments, events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import BinaryField, Field, Model

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require_admin, require_user
from registry.identity import sessions
from registry.models import (
    Collection,
    Commit,
    Dataset,
    Membership,
    Mirror,
    Namespace,
    RegisteredModel,
    User,
    Version,
)

# Relations by which a row is the account's own; by others it has only acted on it.
_OWN = frozenset({"user", "actor", "owner", "author", "created_by", "contributor", "requester"})
# Columns that would let their reader act for the account, or for a device or mirror of it.
_SECRET = frozenset(
    {"password", "digest", "token_digest", "session_key", "sealed_token", "selection_seed", "nonce"}
)
_SECRET_COLUMNS = frozenset({("mfa.Authenticator", "data")})
# Tables whose rows go with the person, where the capability that has them is there.
_DELETED = (
    "registry.AccessToken",
    "registry.AccessRequest",
    "registry.DraftKey",
    "registry.Like",
    "registry.SavedComparison",
    "registry.Watch",
    "identity.AccountSession",
    "identity.DirectoryAccount",
    "identity.ScimUser",
    "account.EmailAddress",
    "mfa.Authenticator",
    "socialaccount.SocialAccount",
)


@dataclass(frozen=True, slots=True)
class Remains:
    """What an erasure of an account leaves: its pseudonym, its namespace, and how many versions."""

    pseudonym: str
    namespace: str
    versions: int


def export(actor: Actor) -> Iterator[str]:
    """Everything about the actor as JSON, in pieces: the account, then rows by table."""
    user = require_user(actor, "admin")
    yield f'{{"account": {_json(_row(user, _columns(User)))}, "tables": {{'
    separator = ""
    for table, columns, field in _relations():
        name = f"{table._meta.label_lower}.{field}"  # noqa: SLF001 - Django's documented API
        yield f"{separator}{json.dumps(name)}: ["
        separator = ","
        comma = ""
        for row in table._default_manager.filter(**{field: user}).order_by("pk").iterator():  # noqa: SLF001
            yield comma + _json(_row(row, columns))
            comma = ","
        yield "]"
    yield "}}"


def remains_of(user: User) -> Remains:
    """What stays when an account is erased."""
    space = Namespace.objects.filter(slug=user.username, kind=Namespace.Kind.USER).first()
    is_used = space is not None and _is_used(space)
    return Remains(
        pseudonym=_pseudonym(user),
        namespace=space.slug if space is not None and is_used else "",
        versions=Version.objects.filter(created_by=user, state__in=Version.VISIBLE).count(),
    )


@transaction.atomic
def erase(actor: Actor, *, user: User) -> None:
    """Replace name and address of an account by a pseudonym, close it, and delete what is its own.

    For the user and for administrators. Raises NotAllowed, and StateConflict for the last
    administrator and for the last owner of an organisation.
    """
    if require_user(actor, "admin") != user:
        require_admin(actor)
    others = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if user.is_superuser and not others.exclude(pk=user.pk).exists():
        raise problems.StateConflict(
            f"{user.username} is the only administrator. Add another administrator before erasing "
            "this account."
        )
    _leave_organisations(user)
    space = Namespace.objects.filter(slug=user.username, kind=Namespace.Kind.USER).first()
    if space is not None and not _is_used(space):
        space.slug, space.display_name = _pseudonym(user), ""
        space.save(update_fields=["slug", "display_name"])
    sessions.end_of(user, by=actor)
    for table, _, field in _relations():
        if table._meta.label in _DELETED and field == "user":  # noqa: SLF001
            table._default_manager.filter(**{field: user}).delete()  # noqa: SLF001
    if Commit.objects.filter(author=user).exists() or user.versions.exists():
        user.commit_name = user.commit_name or user.username
    user.username, user.email = _pseudonym(user), ""
    user.first_name = user.last_name = ""
    user.is_active = user.is_superuser = user.is_staff = False
    user.last_login = None
    user.set_unusable_password()
    user.save()
    events.record("user.erased", user, actor=actor)


def _leave_organisations(user: User) -> None:
    for membership in Membership.objects.filter(user=user, namespace__kind=Namespace.Kind.ORG):
        space = membership.namespace
        owners = space.memberships.filter(role=Membership.Role.OWNER)
        if not owners.exclude(user=user).exists():
            raise problems.StateConflict(
                f"{user.username} is the last owner of {space.slug}. Make another user an owner "
                "first."
            )
        membership.delete()


def _pseudonym(user: User) -> str:
    return f"erased-{user.pk}"


def _is_used(space: Namespace) -> bool:
    """Whether others may rely on the name of a namespace."""
    tables: tuple[type[Model], ...] = (RegisteredModel, Dataset, Collection, Mirror)
    return any(table._default_manager.filter(namespace=space).exists() for table in tables)  # noqa: SLF001


def _relations() -> Iterator[tuple[type[Model], list[str], str]]:
    """The tables with a relation to accounts, their columns for an export, and the relation."""
    for relation in User._meta.get_fields(include_hidden=True):  # noqa: SLF001
        if not (relation.auto_created and relation.is_relation and not relation.concrete):
            continue
        table: Any = relation.related_model
        field = relation.field.name  # type: ignore[union-attr]
        if table._meta.auto_created:  # noqa: SLF001 - groups and permissions, which have no rows
            continue
        columns = _columns(table) if field in _OWN else [table._meta.pk.attname]  # noqa: SLF001
        yield table, columns, field


def _columns(table: type[Model]) -> list[str]:
    label = table._meta.label  # noqa: SLF001
    fields: list[Field[Any, Any]] = list(table._meta.concrete_fields)  # noqa: SLF001
    return [
        field.attname
        for field in fields
        if not isinstance(field, BinaryField)
        and field.name not in _SECRET
        and (label, field.name) not in _SECRET_COLUMNS
    ]


def _row(row: Model, columns: list[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in columns}


def _json(content: Any) -> str:
    return json.dumps(content, cls=DjangoJSONEncoder)
