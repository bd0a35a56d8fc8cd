"""What people say of a version: its own card, and where that is silent, what its model says.

A model's own words follow its newest card, so a version's page asks the version first: what is
declared there stays true of it, whatever a later version changes.
"""

from __future__ import annotations

from registry.cards import licences
from registry.models import Version


def license_of(version: Version) -> str:
    """The licences as declared, in one line; empty where nobody did."""
    return ", ".join(licenses_of(version))


def licenses_of(version: Version) -> tuple[str, ...]:
    """Each licence as declared; a choice among several is one."""
    return licences.items(*(version.typed_card.licenses or (version.model.license,)))


def task_of(version: Version) -> str:
    """The task that lists know a version by; empty where nobody declared one."""
    return version.typed_card.task or version.model.task


def keywords_of(version: Version) -> list[str]:
    """The words by which a version is to be found."""
    return list(version.typed_card.keywords) or [str(word) for word in version.model.keywords]
