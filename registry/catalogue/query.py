"""What a list of models is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from registry.catalogue import speeds

if TYPE_CHECKING:
    from hub.protocol.accuracy import Limit

USUAL_SORT = "updated"
# Limit -> the sort that puts first what keeps it best; what is measured comes before the others.
_SORT_OF = {
    "max_p50": "fastest", "accuracy": "accuracy",
    "max_bytes": "size", "max_parameters": "parameters", "max_macs": "macs",
    "max_memory": "memory",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """What a list is asked for. Values of one group are alternatives; groups narrow each other.

    Of the groups in conditions.CUMULATIVE a model must have every value. All of them go by the
    newest published version.
    """

    text: str = ""
    contains: str = ""
    sort: str = USUAL_SORT
    namespace: tuple[str, ...] = ()
    license: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    keyword: tuple[str, ...] = ()
    precision: tuple[str, ...] = ()
    opset: int | None = None
    opset_max: int | None = None
    max_bytes: int | None = None
    max_parameters: int | None = None
    max_macs: int | None = None
    max_memory: int | None = None
    max_p50: float | None = None
    """Milliseconds of an accepted result in the setup below."""

    accuracy: tuple[Limit, ...] = ()
    """What measured figures of the main variant must be; each of these limits must hold."""

    tags: tuple[str, ...] = ()
    """Each of these must hold: a keyword, task, library or language, or `license:`, `dataset:` …"""

    operator: tuple[str, ...] = ()
    pixel_format: tuple[str, ...] = ()
    personal_data: tuple[str, ...] = ()
    passes_on: tuple[str, ...] = ()
    fails_on: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    measured_on: tuple[str, ...] = ()
    device: str = ""
    runtime: str = ""
    provider: str = ""
    """These three name the setup whose speeds are meant; they narrow nothing but with max_p50."""

    predicted: bool = False
    """Whether a prediction counts, by its upper end, where nothing was measured in the setup."""

    near: bool = False
    """Whether names with one typo in them are meant, since no text holds what was written."""

    def without(self, group: str) -> Query:
        """The same query with one group's choice lifted."""
        lifted: dict[str, Any] = {group: getattr(_NOTHING, group)}
        return replace(self, **lifted)

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits that are set, latency first, then accuracy."""
        return tuple(name for name in _SORT_OF if getattr(self, name) not in (None, ()))

    @property
    def default_sort(self) -> str:
        """The sort where none is asked for: by latency, accuracy or the only limit, else by date.

        Of several limits of accuracy the first one decides.
        """
        first = next(iter(self.limits), "")
        by_limit = first in ("max_p50", "accuracy") or len(self.limits) == 1
        return _SORT_OF[first] if by_limit else USUAL_SORT

    @property
    def in_any_order(self) -> Query:
        """The same models in the usual order, whatever speeds are shown."""
        plain = replace(self, sort=USUAL_SORT)
        if self.max_p50 is not None:
            return plain
        return replace(plain, device="", runtime="", provider="", predicted=False)

    @property
    def setup(self) -> speeds.Setup:
        return speeds.Setup(self.device, self.runtime, self.provider)


_NOTHING = Query()
