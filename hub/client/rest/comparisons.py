"""The REST operations of comparisons, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import Job


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A comparison of two variants: the later one is slower, faster, the same, or unclear."""

    id: int
    variant: str
    baseline: int
    baseline_variant: str
    verdict: str
    reason: str
    # median of this model divided by the baseline's
    ratio: float | None
    # ends of the interval of the ratio; null without one
    ratio_interval: tuple[float, ...] | None = None
    # level of the interval in per cent; null without an interval
    interval_level: int | None = None
    # how the interval was computed; null without an interval
    interval_method: str | None = None
    # the same ratio for CPU time
    cpu_ratio: float | None
    runtime: str
    runtime_version: str
    provider: str
    device: str
    device_title: str
    environment: str
    at: datetime
    job: str


class ComparisonsGroup(Group):
    """The operations of comparisons."""

    def list(self, model: str, number: int) -> tuple[Comparison, ...]:
        """List comparisons: the newest with each earlier variant on each runtime."""
        return self._items(
            Comparison, "GET", f"models/{model_path(model)}/versions/{part(number)}/comparisons"
        )

    def read(self, model: str, number: int, id: int) -> Comparison:
        """Read a comparison."""
        return self._call(
            Comparison,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/comparisons/{part(id)}",
        )

    def run(
        self,
        model: str,
        number: int,
        *,
        baseline: Annotated[int, "the number of a version of the same model"],
        baseline_variant: str | None = None,
        variant: str | None = None,
        runtime: str | None = None,
        provider: str | None = None,
    ) -> tuple[Job, ...]:
        """Compare the speed of this version with another one; for maintainers."""
        return self._items(
            Job,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/comparisons",
            content=json_of(
                {
                    "baseline": baseline,
                    "baseline_variant": baseline_variant,
                    "variant": variant,
                    "runtime": runtime,
                    "provider": provider,
                }
            ),
        )
