"""The REST operations of access, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hub.client.rest.calls import Group, json_of, model_path
from hub.client.rest.shared import AccessRequest


@dataclass(frozen=True, kw_only=True)
class OwnAccess:
    """Your access to the files of a model, and your request."""

    gate: str
    may_download: bool
    # text of the card for users who request access; may be empty
    terms: str | None = None
    # digest of the terms in UTF-8
    terms_sha256: str | None = None
    request: AccessRequest | None


class AccessGroup(Group):
    """The operations of access."""

    def ask(
        self,
        model: str,
        *,
        message: str | None = None,
        terms_sha256: Annotated[
            str | None, "digest of the terms that you have read; 409 if they changed"
        ] = None,
    ) -> OwnAccess:
        """Request access to the files of a gated model; its terms are recorded with the request."""
        return self._call(
            OwnAccess,
            "POST",
            f"models/{model_path(model)}/access",
            content=json_of({"message": message, "terms_sha256": terms_sha256}),
        )

    def read(self, model: str) -> OwnAccess:
        """Read whether you can download files, and the status of your access request."""
        return self._call(OwnAccess, "GET", f"models/{model_path(model)}/access")

    def withdraw(self, model: str) -> None:
        """Withdraw your access request and any access granted by it."""
        self._do("DELETE", f"models/{model_path(model)}/access")
