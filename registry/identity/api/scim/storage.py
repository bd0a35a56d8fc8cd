"""Users and groups of one identity provider, as scim2-server reads and writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Lower
from scim2_models import (
    InvalidFilterException,
    InvalidValueException,
    Meta,
    NotFoundException,
    NotImplementedException,
    PreconditionFailedException,
    Reference,
    Resource,
    ResourceType,
    ResponseParameters,
    SearchRequest,
    UniquenessException,
)
from scim2_models.path import CompareOperator, Comparison
from scim2_server.storage import ScimStorage, SearchPage

from hub.protocol import problems
from registry.identity.api.scim.resources import Email, Group, Member, Name, User
from registry.identity.models import ScimClient, ScimGroup, ScimUser
from registry.identity.scim import groups, users
from registry.identity.scim.users import Person

# The longest key of a row; a longer id is no key.
_LONGEST_KEY = 18
# Attributes that a filter may compare by "eq", and their columns.
_COLUMNS = {
    "User": {
        "id": "pk",
        "username": "user_name",
        "externalid": "external_id",
        "emails": "user__email",
        "emails.value": "user__email",
    },
    "Group": {"id": "pk", "displayname": "display_name", "externalid": "external_id"},
}
_CASELESS = frozenset({"user_name", "user__email", "display_name"})


class Storage(ScimStorage):
    """The rows of one client; those of others are not there for it.

    A request that ``writes`` locks the row that it reads, so two changes come one after the other.
    """

    def __init__(self, client: ScimClient, *, writes: bool = True) -> None:
        self._client = client
        self._writes = writes

    def operation(self) -> AbstractContextManager[None]:
        """One transaction of a request that writes; a read needs none."""
        return transaction.atomic() if self._writes else nullcontext()

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        row = self._row(resource_type, resource_id)
        return _resource_of(row, with_members=_wants_members(response_parameters))

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        if len(resource_types) != 1:
            raise NotImplementedException(detail="Search /Users or /Groups.")
        rows = self._rows(resource_types[0])
        if search_request.filter is not None:
            rows = _narrowed(rows, str(resource_types[0].name), search_request.filter.ast)
        first = (search_request.start_index or 1) - 1
        count = search_request.count
        page = rows[first:] if count is None else rows[first : first + count]
        with_members = _wants_members(search_request)
        return SearchPage(
            rows.count(), [_resource_of(row, with_members=with_members) for row in page]
        )

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        with _translated():
            if isinstance(resource, Group):
                return _resource_of(groups.create(self._client, **_group_values(resource)))
            return _resource_of(users.create(self._client, _person(resource)))

    def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,
    ) -> Resource[Any]:
        row = self._row(resource_type, resource.id or "", version=expected_version)
        with _translated():
            if isinstance(row, ScimGroup):
                values = _group_values(resource)
                return _resource_of(groups.change(self._client, row, **values))
            return _resource_of(users.change(self._client, row, _person(resource)))

    def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,
    ) -> None:
        row = self._row(resource_type, resource_id, version=expected_version)
        with _translated():
            if isinstance(row, ScimGroup):
                groups.delete(self._client, row)
            else:
                users.delete(self._client, row)

    def _rows(self, resource_type: ResourceType) -> QuerySet[Any]:
        if resource_type.name == "Group":
            return self._client.groups.all()
        return self._client.users.filter(deleted_at=None).select_related("user")

    def _row(
        self, resource_type: ResourceType, resource_id: str, *, version: str | None = None
    ) -> Any:
        """A row by its id; raises NotFound, PreconditionFailed."""
        rows = self._rows(resource_type)
        key = _key(resource_id)
        if self._writes:
            rows = rows.select_for_update(of=("self",))
        row = rows.filter(pk=key).first() if key is not None else None
        if row is None:
            raise NotFoundException(detail=f"There is no {resource_type.name} {resource_id}.")
        if version is not None and _version(row) != version:
            raise PreconditionFailedException
        return row


@contextmanager
def _translated() -> Iterator[None]:
    """Refusals of services as SCIM errors with their types."""
    try:
        yield
    except problems.NameTaken as problem:
        raise UniquenessException(detail=problem.detail) from problem
    except problems.InvalidRequest as problem:
        raise InvalidValueException(detail=problem.detail) from problem


def _narrowed(rows: QuerySet[Any], kind: str, condition: Any) -> QuerySet[Any]:
    """The rows that meet a filter; raises InvalidFilter for all that `_COLUMNS` does not list."""
    columns = _COLUMNS[kind]
    if isinstance(condition, Comparison) and condition.op == CompareOperator.eq:
        path = condition.attr_path
        name = f"{path.attr}.{path.sub_attr}" if path.sub_attr else path.attr
        column = columns.get(name.lower())
        text = condition.value
        if column is not None and isinstance(text, str):
            return _equal(rows, column, text)
    names = "userName, externalId, emails.value" if kind == "User" else "displayName, externalId"
    raise InvalidFilterException(
        detail=f'This filter is not supported. Compare id, {names} with a text by "eq".'
    )


def _equal(rows: QuerySet[Any], column: str, text: str) -> QuerySet[Any]:
    if column == "pk":
        key = _key(text)
        return rows.none() if key is None else rows.filter(pk=key)
    if "\0" in text:
        return rows.none()
    if column in _CASELESS:
        rows = rows.alias(lower=Lower(column)).filter(lower=Lower(Value(text)))
    else:
        rows = rows.filter(**{column: text}).exclude(**{column: ""})
    return rows


def _key(text: str) -> int | None:
    is_key = text.isascii() and text.isdigit() and len(text) <= _LONGEST_KEY
    return int(text) if is_key else None


def _wants_members(parameters: ResponseParameters[Any] | None) -> bool:
    """Whether the answer has the members of groups, which may be thousands."""
    if parameters is None:
        return True
    excluded = parameters.excluded_attributes or []
    return all(str(path).rpartition(":")[2].lower() != "members" for path in excluded)


def _resource_of(row: Any, *, with_members: bool = True) -> Resource[Any]:
    """A row as the library has it, without the address."""
    if isinstance(row, ScimGroup):
        members = row.members.values_list("pk", flat=True) if with_members else ()
        return Group(
            id=str(row.pk),
            external_id=row.external_id or None,
            display_name=row.display_name,
            members=[_member(key) for key in members] or None,
            meta=_meta("Group", row),
        )
    person = users.person_of(row)
    names = Name(given_name=person.given_name or None, family_name=person.family_name or None)
    has_name = bool(person.given_name or person.family_name)
    emails = (
        [Email(value=person.email, type=Email.Type.work, primary=True)] if person.email else None
    )
    return User(
        id=str(row.pk),
        external_id=person.external_id or None,
        user_name=person.user_name,
        name=names if has_name else None,
        active=person.is_active,
        emails=emails,
        meta=_meta("User", row),
    )


def _member(key: int) -> Member:
    return Member(value=str(key), ref=Reference[User](f"Users/{key}"), type=Member.Type.user)


def _meta(kind: str, row: Any) -> Meta:
    changed: datetime = row.changed_at
    return Meta(
        resource_type=kind, created=row.created_at, last_modified=changed, version=_version(row)
    )


def _version(row: ScimUser | ScimGroup) -> str:
    """What changes with the resource: time of change, and what the hub itself may change."""
    parts: list[Any] = [row.pk, str(row.changed_at)]
    if isinstance(row, ScimUser):
        parts += [row.user.email, row.user.first_name, row.user.last_name, row.user.is_active]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f'W/"{digest[:32]}"'


def _person(resource: Resource[Any]) -> Person:
    assert isinstance(resource, User)  # noqa: S101 - the library reads no other for /Users
    emails = [email for email in resource.emails or [] if email.value]
    primary = next((email for email in emails if email.primary), emails[0] if emails else None)
    name = resource.name or Name()
    return Person(
        user_name=resource.user_name or "",
        external_id=resource.external_id or "",
        email=(primary.value if primary else None) or "",
        given_name=name.given_name or "",
        family_name=name.family_name or "",
        is_active=resource.active is not False,
    )


def _group_values(resource: Any) -> dict[str, Any]:
    """What services take; raises InvalidValue for members that are no users."""
    members = resource.members or []
    keys = [_key(member.value or "") if member.type != "Group" else None for member in members]
    if None in keys:
        raise InvalidValueException(
            detail="A member is no user of this hub. Members are users by their id."
        )
    return {
        "display_name": resource.display_name or "",
        "external_id": resource.external_id or "",
        "members": set(keys),
    }
