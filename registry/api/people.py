"""Namespaces with their members, and accounts, which administrators of the hub keep."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from registry.api.inputs import Input
from registry.api.operations import View, listing, operation
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.core.permissions import require_admin, require_user
from registry.models import Membership, Namespace, User
from registry.people import selectors as people_selectors
from registry.people.services import namespaces, users
from registry.storage.services import quotas

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from rest_framework.request import Request


class MembershipOutput(serializers.Serializer[Any]):
    """A namespace with your role."""

    slug = serializers.CharField()
    role = serializers.ChoiceField(Membership.Role.choices)


class NamespaceInput(Input):
    """A new organisation."""

    slug = serializers.CharField()
    display_name = serializers.CharField(max_length=200, allow_blank=True, default="")


class NamespaceOutput(Output[Namespace]):
    """A namespace."""

    columns = Columns("slug", "kind", "display_name")


class NamespaceDetailOutput(NamespaceOutput):
    """A namespace as its members see it; sizes in bytes."""

    used_bytes = serializers.IntegerField(source="room.used")
    reserved_bytes = serializers.IntegerField(
        source="room.reserved",
        help_text="bytes used by open uploads and by uploaded files that are not in a version",
    )
    most_bytes = serializers.IntegerField(source="room.quota")

    def to_representation(self, instance: Any) -> Any:
        instance.room = quotas.of_namespace(instance)
        return super().to_representation(instance)


class NamespaceChange(Input):
    """The changeable fields; only administrators set the quota, null restores the default."""

    display_name = serializers.CharField(max_length=200, allow_blank=True, required=False)
    quota_bytes = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=2**62
    )


class RoleInput(Input):
    """A role in a namespace."""

    role = serializers.ChoiceField(Membership.Role.choices)


class MemberOutput(Output[Membership]):
    """A member of a namespace."""

    columns = Columns(Column("username", "user.username"), "role")


class UserInput(Input):
    """A new account."""

    username = serializers.CharField()
    email = serializers.EmailField(max_length=254, allow_blank=True, default="")


class UserChange(Input):
    """The state of an account."""

    is_active = serializers.BooleanField()


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


class NewPasswordOutput(serializers.Serializer[Any]):
    """A new password; only this response contains it."""

    username = serializers.CharField()
    password = serializers.CharField()


class NamespaceList(View):
    """The caller's namespaces."""

    @extend_schema(operation_id="namespaces_list", responses=MembershipOutput(many=True))
    def get(self, request: Request) -> Response:
        """List your namespaces with your role in each."""
        mine = people_selectors.namespaces_of(require_user(request.user, any_namespace=True))
        rows = [{"slug": namespace.slug, "role": role} for namespace, role in mine]
        return Response(MembershipOutput(rows, many=True).data)

    @operation("namespaces_create", NamespaceOutput, reads=NamespaceInput, status=201)
    def post(self, **fields: Any) -> Namespace:
        """Create an organisation that you own."""
        return namespaces.create(self.request.user, **fields)


class NamespaceView(View):
    """At or below the address of a namespace, for its members."""

    target = "namespace"

    @cached_property
    def namespace(self) -> Namespace:
        """The namespace of the address; raises NotFound."""
        return people_selectors.own_namespace(self.request.user, self.kwargs["slug"])


class NamespaceDetail(NamespaceView):
    """One namespace, for its members."""

    @operation("namespaces_read", NamespaceDetailOutput)
    def get(self) -> Namespace:
        """Read the name and quota of a namespace; 404 for non-members."""
        return self.namespace

    @operation("namespaces_edit", NamespaceDetailOutput, reads=NamespaceChange)
    def patch(self, **changes: Any) -> Namespace:
        """Rename a namespace (owners) or change its quota (administrators)."""
        return namespaces.edit(self.request.user, namespace=self.namespace, **changes)


class MemberList(NamespaceView):
    """A member of a namespace."""

    @extend_schema(operation_id="members_list", responses=MemberOutput(many=True))
    def get(self, _: Request, **address: Any) -> Response:
        """List members by name; for members."""
        return Response(answers_of(MemberOutput, people_selectors.members(self.namespace)))


class MemberDetail(NamespaceView):
    """One member."""

    def resource(self) -> tuple[Namespace, User]:
        """The namespace and the user of the address."""
        return self.namespace, people_selectors.user(self.kwargs["username"])

    @operation("members_set", MemberOutput, reads=RoleInput)
    def put(self, role: str) -> dict[str, Any]:
        """Set the role of a member; for owners."""
        namespace, user = self.resource()
        namespaces.set_member(self.request.user, namespace=namespace, user=user, role=role)
        return {"user": user, "role": role}

    @operation("members_remove")
    def delete(self) -> None:
        """Remove a member; for owners. The last owner cannot be removed."""
        namespace, user = self.resource()
        namespaces.set_member(self.request.user, namespace=namespace, user=user, role=None)


class UserList(View):
    """Accounts."""

    @listing("users_list", UserOutput, by="pk")
    def get(self) -> QuerySet[User]:
        """List accounts, newest first; for administrators."""
        return people_selectors.users(self.request.user)

    @operation("users_create", NewPasswordOutput, reads=UserInput, status=201)
    def post(self, **fields: Any) -> dict[str, str]:
        """Create an account and its namespace. Only this response contains the first password."""
        user, password = users.invite(self.request.user, **fields)
        return {"username": user.username, "password": password}


class UserView(View):
    """At or below the address of an account, for administrators."""

    def resource(self) -> None:
        """Raise NotAllowed for anybody else."""
        require_admin(self.request.user)


class UserDetail(UserView):
    """One account."""

    @operation("users_edit", UserOutput, reads=UserChange)
    def patch(self, is_active: bool) -> User:  # noqa: FBT001 - a field of the body
        """Close or reopen an account. Published models remain."""
        user = people_selectors.user(self.kwargs["username"])
        return users.set_active(self.request.user, user=user, active=is_active)


class UserPassword(UserView):
    """The password of an account."""

    @operation("users_password", NewPasswordOutput)
    def post(self) -> dict[str, str]:
        """Reset a password. Only this response contains the new one.

        All sessions of the account end and its tokens are revoked.
        """
        user = people_selectors.user(self.kwargs["username"])
        password = users.renew_password(self.request.user, user=user)
        return {"username": user.username, "password": password}
