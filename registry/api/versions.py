"""The API of versions: read, draft, and move to another state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from registry.api import serializers as shapes
from registry.api.addresses import api_url
from registry.api.inputs import IDEMPOTENCY_KEY, Input, idempotency_key
from registry.api.operations import (
    ModelView,
    VersionView,
    command,
    detail,
    operation,
    rows,
)
from registry.versions import selectors
from registry.versions.services import versions

if TYPE_CHECKING:
    from registry.models import Version


# Of a service that moves a version to another state.
_TRANSITION: dict[str, Any] = {
    "output": shapes.VersionOutput,
    "body_optional": True,
    "tagged": True,
}


class Versions(VersionView):
    """The versions of a model."""

    model = ModelView.model

    index = rows(
        "versions_list",
        selectors.versions,
        "List versions, newest first.",
        shapes.VersionSummaryOutput,
        by="number",
        targets=("model",),
    )

    @operation(
        "versions_create",
        shapes.VersionOutput,
        targets=("model",),
        reads=shapes.VersionInput,
        status=201,
        tagged=True,
        location=lambda row: api_url("models", row.model.ref, "versions", str(row.number)),
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, **fields: str) -> Version:
        """Create a draft with the next version number."""
        key = idempotency_key(self.request)
        return versions.draft(self.request.user, model=self.model, key=key, **fields)

    read = detail(
        "versions_read",
        shapes.VersionOutput,
        "Read a version with its files, variants, checks and jobs.",
        tagged=True,
    )
    destroy = command("versions_delete", versions.delete_draft, "Delete a draft.")
    submit = command(
        "versions_submit",
        versions.submit,
        str(versions.submit.__doc__),
        reads=shapes.SubmitInput,
        **_TRANSITION,
    )
    publish = command(
        "versions_publish",
        versions.publish,
        str(versions.publish.__doc__),
        reads=Input,
        **_TRANSITION,
    )
    yank = command(
        "versions_yank",
        versions.yank,
        str(versions.yank.__doc__),
        reads=shapes.ReasonInput,
        **_TRANSITION,
    )
    restore = command(
        "versions_restore",
        versions.restore,
        str(versions.restore.__doc__),
        reads=Input,
        **_TRANSITION,
    )
    withdraw = command(
        "versions_withdraw",
        versions.withdraw,
        str(versions.withdraw.__doc__),
        reads=shapes.ReasonInput,
        **_TRANSITION,
    )
