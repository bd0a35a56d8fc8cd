"""When rounds of a training begin and end, and how long what was sent is kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from hub.protocol import problems

SYNC, BUFFERED = "sync", "buffered"
MODES = (SYNC, BUFFERED)
_DAY = 86_400
# Of fewer devices a median is the word of too few of them, and says too much of each.
FEWEST_REPORTS = 5
# Name -> (least, most).
_BOUNDS = {
    "quorum": (1, 1_000_000),
    "target": (0, 1_000_000),
    "cohort": (0, 10_000),
    "round_seconds": (5, 90 * _DAY),
    "grace_seconds": (0, _DAY),
    "poll_seconds": (1, _DAY),
    "most_rounds": (0, 1_000_000),
    "retention_days": (0, 3_650),
    "checkpoints_kept": (2, 10_000),
    "evaluate_every": (0, 1_000_000),
    "evaluation_quorum": (FEWEST_REPORTS, 1_000_000),
    "evaluation_target": (0, 1_000_000),
    "evaluation_seconds": (5, 90 * _DAY),
}


@dataclass(frozen=True, slots=True)
class Schedule:
    """A round ends with ``target`` accepted contributions (0: none does), or at its deadline.

    Below ``quorum`` it fails then. With ``cohort`` (0: none) this many participants are drawn for
    each round, with ``cohort_fraction`` this share of them; otherwise all are asked. Uploads that
    began in time have ``grace_seconds`` more. After ``most_rounds`` aggregated rounds (0: never)
    the training is finished. Contributions' bytes are kept for ``retention_days`` after their
    round, the newest ``checkpoints_kept`` results permanently. After every ``evaluate_every``
    aggregated rounds (0: only where a release needs it or on request) devices compare the result
    with the weights that were released last. Such an evaluation ends with ``evaluation_target``
    reports (0: none), or after ``evaluation_seconds``; fewer than ``evaluation_quorum`` are none.
    """

    mode: str = SYNC
    quorum: int = 2
    target: int = 0
    cohort: int = 0
    cohort_fraction: float | None = None
    round_seconds: int = 3600
    grace_seconds: int = 60
    poll_seconds: int = 30
    most_rounds: int = 0
    retention_days: int = 7
    checkpoints_kept: int = 10
    evaluate_every: int = 0
    evaluation_quorum: int = FEWEST_REPORTS
    evaluation_target: int = 0
    evaluation_seconds: int = 3600

    @property
    def has_cohort(self) -> bool:
        """Whether only some of the participants are asked to a round."""
        return bool(self.cohort or self.cohort_fraction)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read a schedule, defaults filled in; raises `InvalidRequest` naming the field."""
        if not isinstance(data, dict):
            raise problems.InvalidRequest.at("/schedule", "The schedule must be a JSON object.")
        names = {member.name for member in fields(cls)}
        for name, value in data.items():
            if name not in names:
                raise _wrong(str(name)[:80], f"Valid fields: {', '.join(sorted(names))}.")
            _refuse_wrong(name, value)
        schedule = cls(**data)
        schedule._refuse_unfit()
        return schedule

    def _refuse_unfit(self) -> None:
        for prefix in ("", "evaluation_"):
            target, quorum = getattr(self, f"{prefix}target"), getattr(self, f"{prefix}quorum")
            if target and target < quorum:
                raise _wrong(f"{prefix}target", "The target must be 0, or at least the quorum.")
        if self.cohort and self.cohort_fraction:
            raise _wrong("cohort_fraction", "Give the cohort as a number or as a share, not both.")
        if self.cohort and self.cohort < max(self.quorum, self.target):
            raise _wrong("cohort", "The cohort must be 0, or at least the quorum and the target.")


def _refuse_wrong(name: str, value: Any) -> None:
    if name == "mode":
        if value not in MODES:
            raise _wrong(name, f"The mode must be one of {', '.join(MODES)}.")
    elif name == "cohort_fraction":
        is_share = type(value) in (int, float) and 0 < value <= 1
        if value is not None and not is_share:
            raise _wrong(name, "This must be a number above 0 and up to 1, or null.")
    else:
        least, most = _BOUNDS[name]
        if type(value) is not int or not least <= value <= most:
            raise _wrong(name, f"This must be a whole number from {least} to {most}.")


def _wrong(name: str, words: str) -> problems.InvalidRequest:
    return problems.InvalidRequest.at(f"/schedule/{name}", words)
