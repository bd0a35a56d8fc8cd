"""The metrics that capabilities add to those of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import Metric

from hub.protocol.ports import Port


@dataclass(frozen=True, slots=True)
class Gauges:
    """Prometheus metrics under one name: what reads them, as `/metrics` gives them.

    Several monitors, or several processes that one monitor reads, cost one reading in ``seconds``.
    """

    name: str
    read: Callable[[], Iterator[Metric]]
    seconds: float = 5.0


gauges = Port(Gauges)
