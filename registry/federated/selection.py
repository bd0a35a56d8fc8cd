"""Who is asked to a round: some of the participants, drawn by a seed so that it can be checked.

A training's seed is made when it opens, and its digest is shown from then on; each round's seed
comes of it and is shown with the round; the training's own is shown when the training is over, so
that no round's seed is chosen for the participants it draws. A participant's ticket is the SHA-256
of the round's seed and its pseudonym, and the lowest tickets are drawn.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable
from dataclasses import dataclass

from registry.federated.models import Participant, Training
from registry.federated.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Draw:
    """What was drawn, from how many, with which seed (64 hex digits)."""

    seed: str
    candidates: int
    selected: list[str]


def commitment(seed: str) -> str:
    """What is shown of a seed that is not shown, or not yet: its SHA-256, in hex."""
    return hashlib.sha256(bytes.fromhex(seed)).hexdigest()


def round_seed(seed: str, number: int) -> str:
    """The seed of a round: HMAC-SHA-256 of its number in decimal digits under the training's."""
    return hmac.digest(bytes.fromhex(seed), str(number).encode(), "sha256").hex()


def ticket(seed: str, pseudonym: str) -> str:
    """A participant's place in a draw: SHA-256 of the seed's bytes and the pseudonym, in hex."""
    return hashlib.sha256(bytes.fromhex(seed) + pseudonym.encode()).hexdigest()


def cohort_size(schedule: Schedule, candidates: int) -> int:
    """How many of the candidates are asked; never fewer than quorum and target need."""
    count = schedule.cohort or math.ceil((schedule.cohort_fraction or 0.0) * candidates)
    return max(count, schedule.quorum, schedule.target)


def draw(training: Training, number: int) -> Draw | None:
    """Draw for a round among the active participants; None where anyone may answer.

    That is so without a cohort, and while there are no more participants than would be drawn.
    """
    schedule = training.typed_schedule
    if not schedule.has_cohort:
        return None
    active = Participant.objects.filter(training=training, state=Participant.State.ACTIVE)
    candidates = list(active.values_list("pseudonym", flat=True))
    count = cohort_size(schedule, len(candidates))
    if count >= len(candidates):
        return None
    seed = round_seed(training.selection_seed, number)
    return Draw(seed, len(candidates), lowest(seed, candidates, count))


def lowest(seed: str, candidates: Iterable[str], count: int) -> list[str]:
    """The pseudonyms with the lowest tickets, lowest first."""
    return sorted(candidates, key=lambda name: ticket(seed, name))[:count]


def limit(seed: str, selected: list[str]) -> str:
    """The highest ticket that was drawn: candidates with a ticket up to it are asked."""
    return max(ticket(seed, name) for name in selected)
