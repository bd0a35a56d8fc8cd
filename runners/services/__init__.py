"""What changes jobs and workers: each function is one transaction and one compare-and-set."""

from __future__ import annotations

from runners.services.bars import lift
from runners.services.claims import claim
from runners.services.crew import forget_runs, leave, offered_by, see, tidy
from runners.services.leases import finish, give_back, give_way, is_in_the_way, renew, stop
from runners.services.queue import cancel, enqueue, key_of
from runners.services.sweeps import recover, sweep

__all__ = [
    "cancel",
    "claim",
    "enqueue",
    "finish",
    "forget_runs",
    "give_back",
    "give_way",
    "is_in_the_way",
    "key_of",
    "leave",
    "lift",
    "offered_by",
    "recover",
    "renew",
    "see",
    "stop",
    "sweep",
    "tidy",
]
