"""The terms of a gate: texts of the newest card, for users who request the files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.core.permissions import Actor
from registry.models import RegisteredModel
from registry.versions import selectors

# Characters of each part; what is longer is cut, where it is shown and where it is kept.
LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class GateTerms:
    """The parts that a page shows, as text."""

    heading: str = ""
    description: str = ""
    prompt: str = ""

    @property
    def text(self) -> str:
        """All parts, as they are agreed to; empty where the card says nothing."""
        return "\n\n".join(part for part in (self.heading, self.description, self.prompt) if part)

    @property
    def sha256(self) -> str:
        """The digest of the text in UTF-8; empty without one."""
        return hashlib.sha256(self.text.encode()).hexdigest() if self.text else ""

    @classmethod
    def read(cls, card: Mapping[str, Any]) -> GateTerms:
        """The terms of a card."""
        values = {name: card.get(f"extra_gated_{name}") for name in cls.__slots__}
        return cls(**{name: str(v)[:LONGEST] for name, v in values.items() if isinstance(v, str)})


def current(actor: Actor, model: RegisteredModel) -> GateTerms:
    """The terms of the newest version that the actor sees."""
    newest = selectors.latest(actor, model)
    return GateTerms.read(newest.card if newest else {})
