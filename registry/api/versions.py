"""The API of versions: read, draft, and move to another state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from registry.api import serializers
from registry.api import version_serializers as shapes
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
from registry.models import Version
from registry.versions import dependents, selectors
from registry.versions.services import deprecations, versions


def _transition(service: Callable[..., Version], reads: type[Input] = Input) -> Any:
    """The operation of a service that moves a version to another state."""
    return command(
        f"versions_{service.__name__}",
        service,
        str(service.__doc__),
        shapes.VersionOutput,
        reads=reads,
        body_optional=True,
        tagged=True,
    )


class Versions(VersionView):
    """The versions of a model."""

    model = ModelView.model

    index = rows(
        "versions_list",
        selectors.listed_versions,
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
    submit = _transition(versions.submit, shapes.SubmitInput)
    publish = _transition(versions.publish)
    yank = _transition(versions.yank, shapes.EndInput)
    restore = _transition(versions.restore)
    dependents = rows(
        "versions_dependents",
        dependents.dependents,
        "List what depends on a version, as far as you can see it; for users who may yank it.",
        shapes.VersionDependentOutput,
    )
    withdraw = _transition(versions.withdraw, shapes.EndInput)

    @operation(
        "versions_deprecate", shapes.VersionOutput, reads=serializers.DeprecationInput, tagged=True
    )
    def deprecate(self, **fields: str) -> Version:
        """Deprecate a version: it still resolves, with a warning that names its successor.

        Deprecating it again replaces message and successor.
        """
        deprecations.deprecate(self.request.user, self.version, **fields)
        return self.version

    @operation("versions_undeprecate", shapes.VersionOutput, tagged=True)
    def undeprecate(self) -> Version:
        """Undo the deprecation of a version."""
        deprecations.undeprecate(self.request.user, self.version)
        return self.version
