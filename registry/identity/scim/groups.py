"""Groups of an identity provider: their members, whose roles follow at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.identity import groups
from registry.identity.models import ScimClient, ScimGroup, ScimMember, ScimUser
from registry.identity.scim import clients
from registry.models import User


@transaction.atomic
def create(
    client: ScimClient, *, display_name: str, external_id: str, members: Collection[int]
) -> ScimGroup:
    """Make a group of users of the provider; raises InvalidRequest, NameTaken."""
    row = ScimGroup(client=client)
    _write(row, display_name, external_id)
    events.record("scim-group.created", row, actor=client.account, name=display_name)
    _set_members(client, row, members)
    return row


@transaction.atomic
def change(
    client: ScimClient,
    row: ScimGroup,
    *,
    display_name: str,
    external_id: str,
    members: Collection[int],
) -> ScimGroup:
    """Give a group this name and these members; raises InvalidRequest, NameTaken."""
    former_name = row.display_name
    _write(row, display_name, external_id)
    events.record("scim-group.edited", row, actor=client.account, name=display_name)
    _set_members(client, row, members, former_name)
    return row


@transaction.atomic
def delete(client: ScimClient, row: ScimGroup) -> None:
    """Delete a group; its members lose the roles that it gave, if no other group gives them."""
    former = list(row.members.select_related("user"))
    events.record("scim-group.deleted", row, actor=client.account, name=row.display_name)
    row.delete()
    _follow(client, former, {row.display_name})


def leave_all(client: ScimClient, user: ScimUser) -> None:
    """Take a user out of every group."""
    left = set(user.groups.values_list("display_name", flat=True))
    ScimGroup.objects.filter(scimmember__user=user).update(changed_at=timezone.now())
    ScimMember.objects.filter(user=user).delete()
    _follow(client, [user], left)


def decide_roles(user: User) -> bool:
    """Whether the roles of an account follow groups of SCIM: its provider has sent some."""
    return ScimGroup.objects.filter(client__users__user=user).exists()


def _write(row: ScimGroup, display_name: str, external_id: str) -> None:
    clients.expect_texts([("displayName", display_name), ("externalId", external_id)])
    if not display_name.strip():
        raise problems.InvalidRequest.at("/displayName", "displayName is empty.")
    row.display_name, row.external_id = display_name, external_id
    clients.save(
        row, conflict="Another group of this identity provider has this displayName or externalId."
    )


def _set_members(
    client: ScimClient, row: ScimGroup, members: Collection[int], former_name: str = ""
) -> None:
    """Add and remove members, and have their roles follow."""
    keys = set(members)
    present = set(row.members.values_list("pk", flat=True))
    new = client.users.filter(deleted_at=None, pk__in=keys - present)
    added = set(new.values_list("pk", flat=True))
    if unknown := sorted(keys - present - added):
        raise problems.InvalidRequest.at(
            "/members", f"There is no user {unknown[0]}. Create users before their groups."
        )
    ScimMember.objects.filter(group=row, user__in=present - keys).delete()
    ScimMember.objects.bulk_create(ScimMember(group=row, user_id=key) for key in sorted(added))
    concerned = present ^ keys
    if former_name != row.display_name:
        concerned = present | keys
    rows = client.users.filter(pk__in=concerned).select_related("user")
    _follow(client, rows, {former_name, row.display_name})


def _follow(client: ScimClient, users: Iterable[ScimUser], changed: Collection[str]) -> None:
    """Have the roles of users follow their groups, if one of the changed groups gives any."""
    # The groups are those that the provider names at sign-in, by whatever protocol.
    mapping = [*settings.HUB_OIDC_GROUPS, *settings.HUB_SAML_GROUPS]
    if not any(mapped.group in changed for mapped in mapping):
        return
    for row in users:
        names = list(row.groups.values_list("display_name", flat=True))
        groups.follow(row.user, names, mapping, actor=client.account)
