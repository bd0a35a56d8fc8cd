"""The REST operations of rounds, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from hub.client.rest.calls import Group, json_of, model_path, part


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """The result of a round's contributions, without participants' names."""

    rules: Any
    participants: int
    # as counted by the devices; null with noise unless you are a maintainer
    examples: int | None
    # number by reason
    left_out: dict[str, int]
    result: str
    # maintainers read all of them
    figures: dict[str, Any]
    # digest of the seed of the noise, which is never shown; null without noise
    seed_commitment: str | None
    engine: Any
    # differential privacy of the result, as for a training
    privacy: dict[str, Any]
    planned_at: datetime
    made_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class DeviceEvaluation:
    """An evaluation of a round's result on devices."""

    round: int
    state: str
    base: str
    candidate: str
    quorum: int
    target: int
    # whether the round becomes a version if it passes
    releases: bool
    # least median change with which it passes, -1 to 1
    least_change: float
    opened_at: datetime
    deadline: datetime
    ended_at: datetime | None
    # number of reports that count
    reports: int
    # figures of all devices and of groups, with their intervals: reports, examples, base and
    # candidate (share of right answers, weighted by examples), change (median over devices) and
    # worse (share of devices whose share fell); null before it ends. Names of groups and groups of
    # few devices are for maintainers
    scores: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Round:
    """A round with the number of its contributions in each state."""

    number: int
    mode: str
    state: str
    base: str
    quorum: int
    target: int
    opened_at: datetime
    deadline: datetime
    closed_at: datetime | None
    ended_at: datetime | None
    # why it failed: below-quorum or aggregation-failed
    reason: str
    # number of selected participants; null if anyone may contribute
    selection: dict[str, Any] | None
    # number by state
    contributions: dict[str, int]
    # digest of the aggregate, if there is one
    result: str | None
    # scores on held-out data, entered by maintainers
    score: float | None
    version: int | None = None


class RoundsGroup(Group):
    """The operations of rounds."""

    def aggregate(self, model: str, number: int, round_number: int) -> Aggregate:
        """Read the aggregate of a round: rule, counts, figures and result."""
        return self._call(
            Aggregate,
            "GET",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/aggregate",
        )

    def base(
        self,
        model: str,
        number: int,
        round_number: int,
        *,
        to: Annotated[Path | str, "file to write"],
    ) -> Path:
        """Download the weights that a round starts from, as safetensors. Supports ranges."""
        return self._file(
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/base",
            to=to,
        )

    def close(self, model: str, number: int, round_number: int) -> Round:
        """Close a round; a worker aggregates it when its contributions are checked."""
        return self._call(
            Round,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/close",
        )

    def evaluate(self, model: str, number: int, round_number: int) -> DeviceEvaluation:
        """Have devices compare the result of a round with the weights released before it."""
        return self._call(
            DeviceEvaluation,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/evaluation",
        )

    def evaluation(self, model: str, number: int, round_number: int) -> DeviceEvaluation:
        """Read what devices report of the result of a round.

        Maintainers also get the reports, by pseudonym.
        """
        return self._call(
            DeviceEvaluation,
            "GET",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/evaluation",
        )

    def list(
        self,
        model: str,
        number: int,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Round]:
        """List rounds, newest first."""
        return self._pages(
            Round, f"models/{model_path(model)}/trainings/{part(number)}/rounds", limit=limit
        )

    def open(self, model: str, number: int, *, participants: Sequence[str] | None = None) -> Round:
        """Open a round, for all participants or for the named ones.

        Only one round can be open.
        """
        return self._call(
            Round,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds",
            content=json_of({"participants": participants}),
        )

    def provenance(self, model: str, number: int, round_number: int) -> str:
        """Read the digest, signature and pseudonym of each contribution as N-Quads."""
        return self._text(
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/provenance"
        )

    def read(self, model: str, number: int, round_number: int) -> Round:
        """Read a round.

        Maintainers also get its contributions and the selected participants, by pseudonym.
        """
        return self._call(
            Round,
            "GET",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}",
        )

    def release(self, model: str, number: int, round_number: int) -> Round:
        """Publish the result of a round as a version, now or as soon as it is aggregated."""
        return self._call(
            Round,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/release",
        )

    def result(
        self,
        model: str,
        number: int,
        round_number: int,
        *,
        to: Annotated[Path | str, "file to write"],
    ) -> Path:
        """Download the result as safetensors, to score it before publication. Supports ranges."""
        return self._file(
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/result",
            to=to,
        )

    def score(self, model: str, number: int, round_number: int, *, score: float) -> Round:
        """Report the score of a round's result. Scores decide which round is published."""
        return self._call(
            Round,
            "PUT",
            f"models/{model_path(model)}/trainings/{part(number)}/rounds/{part(round_number)}/score",
            content=json_of({"score": score}),
        )
