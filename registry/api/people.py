"""Namespaces with their members, and accounts, which administrators of the hub keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.inputs import Input, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.core.permissions import require_admin, require_user
from registry.models import Membership, Namespace, User
from registry.people import selectors as people_selectors
from registry.people.services import namespaces, users
from registry.storage.services import quotas

if TYPE_CHECKING:
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


def _detail(namespace: Namespace) -> Response:
    fields: Any = NamespaceOutput(namespace).data | {"room": quotas.of_namespace(namespace)}
    return Response(NamespaceDetailOutput(fields).data)


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


class NamespaceList(APIView):
    """The caller's namespaces."""

    @extend_schema(operation_id="namespaces_list", responses=MembershipOutput(many=True))
    def get(self, request: Request) -> Response:
        """List your namespaces with your role in each."""
        mine = people_selectors.namespaces_of(require_user(request.user, any_namespace=True))
        rows = [{"slug": namespace.slug, "role": role} for namespace, role in mine]
        return Response(MembershipOutput(rows, many=True).data)

    @extend_schema(
        operation_id="namespaces_create", request=NamespaceInput, responses={201: NamespaceOutput}
    )
    def post(self, request: Request) -> Response:
        """Create an organisation that you own."""
        namespace = namespaces.create(request.user, **parse(NamespaceInput, request.data))
        return Response(NamespaceOutput(namespace).data, status=201)


class NamespaceDetail(APIView):
    """One namespace, for its members."""

    @extend_schema(operation_id="namespaces_read", responses=NamespaceDetailOutput)
    def get(self, request: Request, slug: str) -> Response:
        """Read the name and quota of a namespace; 404 for non-members."""
        return _detail(people_selectors.own_namespace(request.user, slug))

    @extend_schema(
        operation_id="namespaces_edit", request=NamespaceChange, responses=NamespaceDetailOutput
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Rename a namespace (owners) or change its quota (administrators)."""
        row = people_selectors.own_namespace(request.user, slug)
        changed = namespaces.edit(
            request.user, namespace=row, **parse(NamespaceChange, request.data)
        )
        return _detail(changed)


class MemberList(APIView):
    """A member of a namespace."""

    @extend_schema(operation_id="members_list", responses=MemberOutput(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List members by name; for members."""
        space = people_selectors.own_namespace(request.user, slug)
        return Response([MemberOutput(row).data for row in people_selectors.members(space)])


class MemberDetail(APIView):
    """One member."""

    @extend_schema(operation_id="members_set", request=RoleInput, responses=MemberOutput)
    def put(self, request: Request, slug: str, username: str) -> Response:
        """Set the role of a member; for owners."""
        row, user = (
            people_selectors.own_namespace(request.user, slug),
            people_selectors.user(username),
        )
        role = parse(RoleInput, request.data)["role"]
        namespaces.set_member(request.user, namespace=row, user=user, role=role)
        return Response({"username": user.username, "role": role})

    @extend_schema(operation_id="members_remove", responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """Remove a member; for owners. The last owner cannot be removed."""
        row, user = (
            people_selectors.own_namespace(request.user, slug),
            people_selectors.user(username),
        )
        namespaces.set_member(request.user, namespace=row, user=user, role=None)
        return Response(status=204)


class UserList(APIView):
    """Accounts."""

    @extend_schema(operation_id="users_list", responses=pagination.paged(UserOutput))
    @asks(*PAGED)
    def get(self, request: Request) -> Response:
        """List accounts, newest first; for administrators."""
        rows = people_selectors.users(request.user)
        return pagination.highest_first(request, UserOutput, rows, "pk")

    @extend_schema(
        operation_id="users_create", request=UserInput, responses={201: NewPasswordOutput}
    )
    def post(self, request: Request) -> Response:
        """Create an account and its namespace. Only this response contains the first password."""
        user, password = users.invite(request.user, **parse(UserInput, request.data))
        return Response({"username": user.username, "password": password}, status=201)


class UserDetail(APIView):
    """One account."""

    @extend_schema(operation_id="users_edit", request=UserChange, responses=UserOutput)
    def patch(self, request: Request, username: str) -> Response:
        """Close or reopen an account. Published models remain."""
        require_admin(request.user)
        active = parse(UserChange, request.data)["is_active"]
        user = users.set_active(request.user, user=people_selectors.user(username), active=active)
        return Response(UserOutput(user).data)


class UserPassword(APIView):
    """The password of an account."""

    @extend_schema(operation_id="users_password", request=None, responses=NewPasswordOutput)
    def post(self, request: Request, username: str) -> Response:
        """Reset a password. Only this response contains the new one.

        All sessions of the account end and its tokens are revoked.
        """
        require_admin(request.user)
        user = people_selectors.user(username)
        password = users.renew_password(request.user, user=user)
        return Response({"username": user.username, "password": password})
