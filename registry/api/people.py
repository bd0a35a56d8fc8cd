"""Namespaces with their members, and accounts, which administrators of the hub keep."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api.inputs import Input
from registry.api.operations import View, command, detail, operation, resource, rows
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.api.token_shapes import IssuedTokenOutput, TokenOutput, names, scopes_column
from registry.core import account_uses
from registry.core.account_uses import Dependent
from registry.core.permissions import Actor, require_admin, require_user
from registry.models import Membership, Namespace, User
from registry.people import selectors
from registry.people.services import namespaces, service_accounts, users
from registry.storage.services import quotas


class MembershipOutput(Output[Membership]):
    """A namespace with your role."""

    columns = Columns(Column("slug", "namespace.slug"), "role")


class NamespaceInput(Input):
    """A new organisation."""

    columns = Columns(Column("slug", kind=str), "display_name", of=Namespace)


class NamespaceOutput(Output[Namespace]):
    """A namespace."""

    columns = Columns("slug", "kind", "display_name")


class NamespaceDetailOutput(NamespaceOutput):
    """A namespace as its members see it; sizes in bytes."""

    columns = Columns(
        Column("used_bytes", "room.used", kind=int),
        Column(
            "reserved_bytes",
            "room.reserved",
            kind=int,
            help_text="bytes used by open uploads and by uploaded files that are not in a version",
        ),
        Column("most_bytes", "room.quota", kind=int),
        "allows_token_deletion",
    )

    def to_representation(self, instance: Any) -> Any:
        instance.room = quotas.of_namespace(instance)
        return super().to_representation(instance)


class NamespaceChange(Input):
    """The changeable fields; only administrators set the quota, null restores the default."""

    columns = Columns(
        "display_name",
        Column("quota_bytes", min_value=0, max_value=2**62),
        "allows_token_deletion",
        of=Namespace,
        required=False,
    )


class RoleInput(Input):
    """A role in a namespace."""

    columns = Columns("role", of=Membership)


class MemberOutput(Output[Membership]):
    """A member of a namespace."""

    columns = Columns(Column("username", "user.username"), "role")


class ServiceAccountInput(Input):
    """A new service account."""

    columns = Columns(
        Column("name", max_length=service_accounts.LONGEST_NAME),
        "role",
        of=service_accounts.create,
    )


class ServiceAccountChange(Input):
    """The role of a service account."""

    columns = Columns("role", of=service_accounts.edit)


class ServiceAccountOutput(Output[User]):
    """A service account of an organisation."""

    columns = Columns(
        "username",
        Column("namespace", "service_of.slug"),
        Column("role", kind=str, allow_null=True),
        Column("created_at", "date_joined"),
    )


class ServiceTokenInput(Input):
    """A new token of a service account."""

    columns = Columns(
        Column("name", max_length=100),
        scopes_column(),
        Column("models", **names("model that the token is limited to; repeatable")),
        "expires_days",
        of=service_accounts.create_token,
    )


class UserInput(Input):
    """A new account."""

    columns = Columns(
        "username",
        Column("email", field=serializers.EmailField, max_length=254, allow_blank=True, default=""),
    )


class UserChange(Input):
    """The state of an account; for one that is closed, what becomes of that which acts for it."""

    columns = Columns(
        Column("is_active", kind=bool),
        Column(
            "heir",
            kind=str,
            default="",
            help_text="user who takes over what acts for a closed account",
        ),
        Column(
            "ends_dependents",
            kind=bool,
            default=False,
            help_text="close the account although something acts for it",
        ),
    )


class DependentOutput(Output[Dependent]):
    """What acts for an account: a token, a mirror or a training."""

    columns = Columns(
        "kind",
        "name",
        Column("namespace", "namespace.slug", kind=str, allow_null=True, default=None),
        Column("is_transferable", kind=bool),
    )


class UserOutput(Output[User]):
    """An account, as shown to administrators."""

    columns = Columns(
        "username",
        "email",
        "is_active",
        Column("is_admin", "is_superuser"),
        Column("created_at", "date_joined"),
        Column("signed_in_at", "last_login"),
    )


class NewPasswordOutput(Output[User]):
    """A new password; only this response contains it."""

    columns = Columns(Column("username", kind=str), Column("password", kind=str))


def memberships(actor: Actor) -> list[Membership]:
    """The namespaces of an actor with the role there, as ``MembershipOutput`` shows them."""
    return [
        Membership(namespace=namespace, role=role)
        for namespace, role in selectors.namespaces_of(actor)
    ]


class Namespaces(View):
    """The caller's namespaces, and their members."""

    targets = ("namespace",)
    namespace = resource(selectors.own_namespace, "slug")
    user = resource(selectors.user, "username", needs_actor=False)

    @extend_schema(operation_id="namespaces_list", responses=MembershipOutput(many=True))
    def index(self, request: Request) -> Response:
        """List your namespaces with your role in each."""
        user = require_user(request.user, any_namespace=True)
        return Response(answers_of(MembershipOutput, memberships(user)))

    create = command(
        "namespaces_create",
        namespaces.create,
        "Create an organisation that you own.",
        NamespaceOutput,
        targets=(),
        reads=NamespaceInput,
        status=201,
    )
    read = detail(
        "namespaces_read",
        NamespaceDetailOutput,
        "Read the name and quota of a namespace; 404 for non-members.",
    )
    edit = command(
        "namespaces_edit",
        namespaces.edit,
        "Change the name or deletions by tokens (owners), or the quota (administrators).",
        NamespaceDetailOutput,
        reads=NamespaceChange,
    )

    @extend_schema(operation_id="members_list", responses=MemberOutput(many=True))
    def members(self, _: Request, **address: Any) -> Response:
        """List members by name; for members."""
        return Response(answers_of(MemberOutput, selectors.members(self.namespace)))

    @operation("members_set", MemberOutput, targets=("namespace", "user"), reads=RoleInput)
    def set_member(self, role: str) -> dict[str, Any]:
        """Set the role of a member; for owners."""
        namespaces.set_member(
            self.request.user, namespace=self.namespace, user=self.user, role=role
        )
        return {"user": self.user, "role": role}

    remove_member = command(
        "members_remove",
        partial(namespaces.set_member, role=None),
        "Remove a member; for owners. The last owner cannot be removed.",
        targets=("namespace", "user"),
    )


class ServiceAccounts(View):
    """The service accounts of an organisation and their tokens; its owners manage them."""

    targets = ("account",)
    namespace = resource(selectors.own_namespace, "slug")
    account = resource(selectors.service_account, "namespace", "username")

    @extend_schema(operation_id="service_accounts_list", responses=ServiceAccountOutput(many=True))
    def index(self, request: Request, **address: Any) -> Response:
        """List service accounts by name; for members."""
        rows = selectors.service_accounts(request.user, self.namespace)
        return Response(answers_of(ServiceAccountOutput, rows))

    @operation(
        "service_accounts_create",
        ServiceAccountOutput,
        targets=("namespace",),
        reads=ServiceAccountInput,
        status=201,
    )
    def create(self, **fields: str) -> User:
        """Create a service account; for owners. It has no password: create tokens for it."""
        row = service_accounts.create(self.request.user, namespace=self.namespace, **fields)
        return self._read(row)

    @operation("service_accounts_edit", ServiceAccountOutput, reads=ServiceAccountChange)
    def edit(self, role: str) -> User:
        """Change the role of a service account; for owners."""
        service_accounts.edit(self.request.user, account=self.account, role=role)
        return self._read(self.account)

    close = command(
        "service_accounts_close",
        service_accounts.close,
        "Close a service account permanently and revoke its tokens; for owners.",
    )
    tokens = rows(
        "service_tokens_list",
        selectors.service_tokens,
        "List the tokens of a service account, without their secrets; for owners.",
        TokenOutput,
        by="id",
    )

    @operation("service_tokens_create", IssuedTokenOutput, reads=ServiceTokenInput, status=201)
    def create_token(self, **fields: Any) -> Any:
        """Create a token of a service account; only this response contains its secret."""
        row: Any
        row, row.token = service_accounts.create_token(
            self.request.user, account=self.account, **fields
        )
        return row

    revoke_token = command(
        "service_tokens_revoke",
        service_accounts.revoke_token,
        "Revoke a token of a service account immediately; for owners.",
        targets=("account", "token_id"),
    )

    def _read(self, row: User) -> User:
        return selectors.service_account(self.request.user, self.namespace, row.username)


class Users(View):
    """Accounts, for administrators."""

    administrator = resource(require_admin)
    user = resource(selectors.user, "username", needs_actor=False)

    index = rows(
        "users_list",
        selectors.users,
        "List accounts, newest first; for administrators.",
        UserOutput,
        by="pk",
    )

    @operation("users_create", NewPasswordOutput, reads=UserInput, status=201)
    def create(self, **fields: Any) -> dict[str, str]:
        """Create an account and its namespace. Only this response contains the first password."""
        user, password = users.invite(self.request.user, **fields)
        return {"username": user.username, "password": password}

    @operation("users_edit", UserOutput, targets=("administrator",), reads=UserChange)
    def edit(self, is_active: bool, **options: Any) -> User:  # noqa: FBT001 - a field of the body
        """Close or reopen an account. Published models remain.

        An account for which something acts is closed with an heir, or if that may end; else 409.
        """
        return users.set_active(self.request.user, user=self.user, active=is_active, **options)

    @extend_schema(operation_id="users_dependents", responses=DependentOutput(many=True))
    def dependents(self, _: Request, **address: Any) -> Response:
        """List what acts for an account; for administrators."""
        require_admin(self.request.user)
        return Response(answers_of(DependentOutput, account_uses.dependents(self.user)))

    @operation("users_password", NewPasswordOutput, targets=("administrator",))
    def reset_password(self) -> dict[str, str]:
        """Reset a password. Only this response contains the new one.

        All sessions of the account end and its tokens are revoked.
        """
        password = users.renew_password(self.request.user, user=self.user)
        return {"username": self.user.username, "password": password}
