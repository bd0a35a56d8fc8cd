"""Measured accuracy as a condition of aliases."""

from __future__ import annotations

from dataclasses import dataclass

from hub.protocol import accuracy
from registry.models import Version
from registry.versions.conditions import Answer, Condition, ConditionKind
from runners.evaluations import selectors
from runners.models import Evaluation


@dataclass(frozen=True, slots=True)
class Metric(Condition):
    """A metric of the main variant that is not worse than that of the version named so far.

    Both are measured by this hub on the same version of the data set and on the same split: on
    ``split``, or else on each one on which the present version was measured. For an alias that
    names no version yet, the metric must have been measured.
    """

    metric: str
    dataset: str
    split: str = ""

    def __post_init__(self) -> None:
        if self.metric not in accuracy.ALL:
            raise ValueError(f"metric must be one of {', '.join(accuracy.ALL)}")
        if not self.dataset or len(self.dataset) > 96 or len(self.split) > 200:
            raise ValueError("dataset must be the name of a data set, and split one of its splits")

    @property
    def sentence(self) -> str:
        order = "not above" if self.metric in accuracy.ERRORS else "not below"
        split = f":{self.split}" if self.split else ""
        return f"{self.metric} on {self.dataset}{split} {order} that of the present version"

    def answer(self, version: Version, present: Version | None) -> Answer:
        own = self._figures(version)
        if not own:
            return Answer(is_met=False, detail=f"not measured for version {version.number}")
        if present is None:
            values = ", ".join(f"{row.value:.4g} on {row.split}" for row in own.values())
            return Answer(is_met=True, detail=f"{values}; the alias names no version to compare")
        others = self._figures(present)
        if not others:
            return Answer(
                is_met=False, detail=f"not measured for the present version {present.number}"
            )
        answers = [
            self._compare(own.get(key), other, version, present) for key, other in others.items()
        ]
        return Answer(
            all(answer.is_met for answer in answers), ", ".join(answer.detail for answer in answers)
        )

    def _compare(
        self, row: Evaluation | None, other: Evaluation, version: Version, present: Version
    ) -> Answer:
        if row is None:
            place = f"{other.split} of version {other.dataset_version.number} of the data set"
            return Answer(is_met=False, detail=f"version {version.number} not measured on {place}")
        sign = -1 if self.metric in accuracy.ERRORS else 1
        figures = (
            f"{row.value:.6g} for version {version.number}, {other.value:.6g} for version "
            f"{present.number}, on {other.split}"
        )
        return Answer(sign * row.value >= sign * other.value, figures)

    def _figures(self, version: Version) -> dict[tuple[int, str], Evaluation]:
        """The figures of the main variant, by version of the data set and split."""
        main = version.variants.order_by("pk").values_list("pk", flat=True).first()
        rows = selectors.rows_of(version).filter(
            variant=main, metric=self.metric, dataset_version__dataset__slug=self.dataset
        )
        if self.split:
            rows = rows.filter(split=self.split)
        return {(row.dataset_version_id, row.split): row for row in rows}


KINDS = (ConditionKind("metric", Metric),)
