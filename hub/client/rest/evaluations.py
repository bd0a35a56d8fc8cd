"""The REST operations of evaluations, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import Job


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """A comparison with the variant that a variant was made from, row by row."""

    rows: int
    # number of rows that this variant alone has right
    gains: int
    # number of rows that the other variant alone has right
    losses: int
    # accuracy minus that of the other variant
    difference: float
    # two-sided, by the exact test of McNemar
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A metric of one variant on a split of a data set, measured by this hub."""

    id: int
    variant: str
    entry_sha256: str
    dataset: str
    dataset_version: int
    split: str
    metric: str
    value: float
    # lower end of the interval; null without one
    low: float | None
    # upper end of the interval; null without one
    high: float | None
    # level of the interval in per cent; null without an interval
    interval_level: int | None = None
    # how the interval was computed; null without an interval
    interval_method: str | None = None
    # in what arithmetic a half-precision variant was computed; empty for others
    arithmetic: str | None = None
    # number of evaluated rows
    rows: int
    # value on the card of the model; null if it claims none
    claimed: float | None
    # whether the claim exceeds the interval by at least 0.01; for shares alone
    less_than_claimed: bool
    # of an accuracy, the comparison with the variant that it was made from
    pairs: Pairs | None = None
    # version of the method, number of resamples, and their seed
    method: dict[str, Any]
    # digest of the predictions, one line per row of the split; see docs
    predictions_sha256: str
    runtime: str
    runtime_version: str
    # versions of the tools
    environment: dict[str, str]
    at: datetime
    job: str


class EvaluationsGroup(Group):
    """The operations of evaluations."""

    def create(
        self,
        model: str,
        number: int,
        *,
        dataset: Annotated[str, "name of a data set of this hub"],
        split: str,
        version: Annotated[int | None, "version of the data set (default: the newest)"] = None,
        variant: Annotated[str | None, "default: the first variant"] = None,
    ) -> Job:
        """Evaluate a variant on a split of a data set; returns the job."""
        return self._call(
            Job,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/evaluations",
            content=json_of(
                {"dataset": dataset, "split": split, "version": version, "variant": variant}
            ),
        )

    def list(self, model: str, number: int) -> tuple[Evaluation, ...]:
        """List measured accuracies: the newest of each variant, split and metric."""
        return self._items(
            Evaluation, "GET", f"models/{model_path(model)}/versions/{part(number)}/evaluations"
        )
