"""A request for a list of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hub.protocol import filters, sorts
from hub.protocol.accuracy import Limit
from hub.protocol.filters import Filter
from registry.catalogue import speeds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Query:
    """The filters, text and order of a list of models; filters go by the newest version.

    ``values`` are the values of the filters that are set, by name and in the order of
    `hub.protocol.filters`: ``of`` makes a query of them, ``query[filter]`` reads one.
    """

    text: str = ""
    sort: str = sorts.UPDATED.name
    values: tuple[tuple[str, Any], ...] = ()
    accuracy: tuple[Limit, ...] = ()
    """Limits of the measured accuracy of the main variant; all of them must hold."""

    tags: tuple[str, ...] = ()
    """Each of these must hold: a keyword, task, library or language, or `license:`, `dataset:` …"""

    device: str = ""
    runtime: str = ""
    provider: str = ""
    """These three name the setup whose speeds lists show; only a limit of latency filters by it."""

    predicted: bool = False
    """Whether a prediction counts, by its upper end, where nothing was measured in the setup."""

    unpublished: bool = False
    """Whether public repositories without any published version, say with a card, are listed."""

    near: bool = False
    """Whether names with one typo in them match, since no text holds the words as written."""

    @classmethod
    def of(cls, **fields: Any) -> Query:
        """A query with filters by their names, beside its own fields."""
        values = {name: fields.pop(name) for name in filters.FILTERS.keys() & fields}
        return cls(**fields).narrowed(values)

    def __getitem__(self, filter_: Filter[T]) -> T:
        value: T = dict(self.values).get(filter_.name, filter_.nothing)
        return value

    def narrowed(self, values: Mapping[str, Any]) -> Query:
        """The same query with these values of filters, by name, in place of its own."""
        merged = dict(self.values) | dict(values)
        pairs = tuple(
            (name, merged[name])
            for name, filter_ in filters.FILTERS.items()
            if merged.get(name, filter_.nothing) != filter_.nothing
        )
        return replace(self, values=pairs)

    def without(self, name: str) -> Query:
        """The same query without the values of one filter."""
        return self.narrowed({name: filters.FILTERS[name].nothing})

    @property
    def bounds(self) -> tuple[filters.Bound, ...]:
        """The limits that are set and have an order of their own."""
        bounds = (filters.BOUNDS[name] for name, _ in self.values if name in filters.BOUNDS)
        return tuple(bound for bound in bounds if bound.sort)

    @property
    def default_sort(self) -> str:
        """The order where none is asked for: by latency, accuracy or the only limit, else by date.

        Of several limits of accuracy the first one decides.
        """
        if self[filters.MAX_LATENCY] is not None:
            return sorts.FASTEST.name
        if self.accuracy:
            return sorts.ACCURACY.name
        limited = [bound.sort for bound in self.bounds if bound.sort]
        return limited[0].name if len(limited) == 1 else sorts.UPDATED.name

    @property
    def is_timed(self) -> bool:
        """Whether lists show speeds: ordered or limited by them, or of a setup that is named."""
        limit = self[filters.MAX_LATENCY]
        return self.sort == sorts.FASTEST.name or limit is not None or any(self.setup)

    @property
    def in_any_order(self) -> Query:
        """The same models in the usual order, whatever speeds are shown."""
        plain = replace(self, sort=sorts.UPDATED.name)
        if self[filters.MAX_LATENCY] is not None:
            return plain
        return replace(plain, device="", runtime="", provider="", predicted=False)

    @property
    def setup(self) -> speeds.Setup:
        return speeds.Setup(self.device, self.runtime, self.provider)
