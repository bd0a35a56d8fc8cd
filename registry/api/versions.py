"""The API of versions: read, draft, and move to another state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from registry.api import serializers as shapes
from registry.api.addresses import api_url
from registry.api.inputs import IDEMPOTENCY_KEY, Input, idempotency_key
from registry.api.operations import ModelView, VersionView, listing, operation
from registry.versions import selectors
from registry.versions.services import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet
    from rest_framework import serializers as fields

    from registry.models import Version


class VersionList(ModelView):
    """The versions of a model."""

    @listing("versions_list", shapes.VersionSummaryOutput, by="number")
    def get(self) -> QuerySet[Version]:
        """List versions, newest first."""
        return selectors.versions(self.request.user, self.model)

    @operation(
        "versions_create",
        shapes.VersionOutput,
        reads=shapes.VersionInput,
        status=201,
        tagged=True,
        location=lambda row: api_url("models", row.model.ref, "versions", str(row.number)),
        parameters=[IDEMPOTENCY_KEY],
    )
    def post(self, **fields: str) -> Version:
        """Create a draft with the next version number."""
        key = idempotency_key(self.request)
        return versions.draft(self.request.user, model=self.model, key=key, **fields)


class VersionDetail(VersionView):
    """One version."""

    @operation("versions_read", shapes.VersionOutput, tagged=True)
    def get(self) -> Version:
        """Read a version with its files, variants, checks and jobs."""
        return self.version

    @operation("versions_delete")
    def delete(self) -> None:
        """Delete a draft."""
        versions.delete_draft(self.request.user, version=self.version)


def action(
    name: str, shape: type[fields.Serializer[Any]], service: Callable[..., Version]
) -> type[VersionView]:
    """A view of one verb, which moves a version to another state."""

    @operation(
        f"versions_{name}",
        shapes.VersionOutput,
        reads=shape,
        body_optional=True,
        tagged=True,
        description=service.__doc__,
    )
    def post(self: VersionView, **reason: Any) -> Version:
        return service(self.request.user, version=self.version, **reason)

    return type(f"Version{name.title()}", (VersionView,), {"post": post})


ACTIONS = {
    name: action(name, shape, service)
    for name, shape, service in (
        ("submit", shapes.SubmitInput, versions.submit),
        ("publish", Input, versions.publish),
        ("yank", shapes.ReasonInput, versions.yank),
        ("restore", Input, versions.restore),
        ("withdraw", shapes.ReasonInput, versions.withdraw),
    )
}
