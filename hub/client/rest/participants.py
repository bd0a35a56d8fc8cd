"""The REST operations of participants, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path, part


@dataclass(frozen=True, kw_only=True)
class Participant:
    """Participant."""

    participant: str
    group: str
    state: str
    runtime: str
    # digest of the client certificate it is bound to; empty for none
    certificate: str
    joined_at: datetime


class ParticipantsGroup(Group):
    """The operations of participants."""

    def edit(
        self,
        model: str,
        number: int,
        pseudonym: str,
        *,
        state: Literal["active", "suspended", "revoked"] | None = None,
        certificate: Annotated[
            str | None, "certificate that its requests must present; empty for any"
        ] = None,
    ) -> Participant:
        """Suspend, reactivate or revoke a participant; change the certificate."""
        return self._call(
            Participant,
            "PATCH",
            f"models/{model_path(model)}/trainings/{part(number)}/participants/{part(pseudonym)}",
            content=json_of({"state": state, "certificate": certificate}),
        )

    def list(
        self,
        model: str,
        number: int,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Participant]:
        """List participants by pseudonym, for maintainers."""
        return self._pages(
            Participant,
            f"models/{model_path(model)}/trainings/{part(number)}/participants",
            limit=limit,
        )
