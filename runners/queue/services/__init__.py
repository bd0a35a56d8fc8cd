"""Changes of jobs and workers: each function is one transaction and one compare-and-set."""

from __future__ import annotations

from runners.queue.services.claims import claim
from runners.queue.services.holds import hold, resume
from runners.queue.services.leases import finish, give_back, give_way, renew, stop
from runners.queue.services.quarantine import lift
from runners.queue.services.queue import cancel, enqueue, key_of
from runners.queue.services.sharing import files_of
from runners.queue.services.sweeps import recover, sweep
from runners.queue.services.urgency import is_in_the_way, ran_beside
from runners.queue.services.workers import forget_runs, leave, offered_by, see, tidy

__all__ = [
    "cancel",
    "claim",
    "enqueue",
    "files_of",
    "finish",
    "forget_runs",
    "give_back",
    "give_way",
    "hold",
    "is_in_the_way",
    "key_of",
    "leave",
    "lift",
    "offered_by",
    "ran_beside",
    "recover",
    "renew",
    "resume",
    "see",
    "stop",
    "sweep",
    "tidy",
]
