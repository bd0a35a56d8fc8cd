"""The attributes of users and groups that the hub keeps, as SCIM schemas, and what it offers.

Other attributes are ignored: Entra ID and Okta send many.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    ExtensibleStringEnum,
    Filter,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

MOST_RESULTS = 200


class Name(ComplexAttribute):
    """The name of a person."""

    given_name: str | None = None
    """The given name."""

    family_name: str | None = None
    """The family name."""


class Email(ComplexAttribute):
    """An e-mail address."""

    class Type(ExtensibleStringEnum):
        """Kinds of addresses that the hub keeps."""

        work = "work"

    value: str | None = None
    """The address."""

    type: Type | None = None
    """The kind of address; the hub keeps an address for work."""

    primary: bool | None = None
    """Whether it is the address that the hub keeps."""


class User(Resource[Any]):
    """An account that an identity provider made."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    external_id: Annotated[str | None, CaseExact.true] = None
    """The identity provider's own key of the user."""

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    """The identity provider's name of the user. The hub derives the name of the account once."""

    name: Name | None = None
    """The name of the person."""

    Name: ClassVar[type[ComplexAttribute]] = Name

    active: bool | None = None
    """Whether the account is open. A closed one has no sessions and no tokens."""

    emails: list[Email] | None = None
    """The e-mail address. The hub keeps the primary one, or the first."""

    Emails: ClassVar[type[ComplexAttribute]] = Email


class Member(ComplexAttribute):
    """A user in a group."""

    class Type(ExtensibleStringEnum):
        """Kinds of members that the hub takes."""

        user = "User"

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    """The id of the user."""

    ref: Annotated[
        Reference[User] | None,
        Mutability.immutable,
        Field(serialization_alias="$ref", validation_alias="$ref"),
    ] = None
    """The address of the user."""

    type: Annotated[Type | None, Mutability.immutable] = None
    """The kind of member."""


class Group(Resource[Any]):
    """A group, whose members have the roles that the hub gives it."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    external_id: Annotated[str | None, CaseExact.true] = None
    """The identity provider's own key of the group."""

    display_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    """The name of the group, which HUB_OIDC_GROUPS names."""

    members: list[Member] | None = None
    """The users in the group."""

    Members: ClassVar[type[ComplexAttribute]] = Member


PROVIDER = ScimProvider(
    models=[User, Group],
    config=ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=MOST_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=True),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="A token that an administrator of the hub made for the provider.",
                primary=True,
            )
        ],
    ),
    # Entra ID removes members by a value, and replaces addresses that are not there yet.
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
