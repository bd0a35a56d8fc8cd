"""What readers learn of a deprecation: its message, and the successor where they may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.protocol.deprecations import sentence
from registry.core.permissions import Actor
from registry.models import Deprecation, RegisteredModel, Version


@dataclass(frozen=True, slots=True)
class Notice:
    """The deprecation of `ref`; `successor` is a reference, empty without one to show."""

    ref: str
    message: str
    at: datetime
    successor: str = ""

    @property
    def sentence(self) -> str:
        """The notice in one line, as clients print it."""
        return sentence(self.ref, self.message, self.successor)


def of(actor: Actor, subject: RegisteredModel | Version) -> Notice | None:
    """The deprecation of a model or version that the actor sees, itself; None without one."""
    row: Deprecation | None = getattr(subject, "deprecation", None)
    return None if row is None else notice(actor, row, subject.ref)


def notice(actor: Actor, row: Deprecation, ref: str) -> Notice:
    """A deprecation of what is called `ref`, for an actor who sees that."""
    return Notice(ref, row.message, row.at, successor(actor, row))


def of_version(actor: Actor, version: Version) -> list[Notice]:
    """What to know before using a version: its own deprecation, and that of its model."""
    return list(filter(None, (of(actor, version), of(actor, version.model))))


def successor(actor: Actor, row: Deprecation) -> str:
    """The reference of the successor; empty without one, and where the actor may not see it."""
    model = row.successor
    if model is None:
        return ""
    # Most successors are public, and then nothing has to be asked.
    is_visible = (
        model.is_public or RegisteredModel.objects.visible_to(actor).filter(pk=model.pk).exists()
    )
    if not is_visible:
        return ""
    return model.ref if row.successor_number is None else f"{model.ref}@{row.successor_number}"
