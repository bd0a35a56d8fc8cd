"""Processes in place of those that a host disturbed, where they can still be enough."""

from __future__ import annotations

import pytest

from runners.engine.benchmark.options import Options
from runners.engine.benchmark.procedure import Collector
from runners.engine.benchmark.urgent_work import UrgentWork
from runners.engine.confine.children import Stop
from tests import timed

LOUD = timed.INTERFERENCE | {"foreign_cpu": 0.5}


class Stub:
    """A subject whose processes are quiet or disturbed as told, one letter each."""

    def __init__(self, states, **options):
        self.states = states
        self.urgent_work = UrgentWork(Stop(), 0.0)
        self.options = Options.from_json({"processes": 5, "most_processes": 5, **options})

    def time(self, ordinal):
        loud = {"interference": LOUD} if self.states[ordinal - 1] == "l" else {}
        return timed.process(ordinal, [1_000_000] * 20, **loud)


@pytest.mark.parametrize(
    ("states", "spare", "count"),
    [
        ("qqqqq", 3, 5),
        ("lqqqqq", 3, 6),
        ("lqlqqqq", 3, 7),
        ("qqlllqqq", 3, 8),
        ("qllll", 3, 5),  # three more would not be enough
        ("qqqqllll", 3, 8),
        ("lqqqq", 0, 5),
    ],
)
def test_disturbed_processes_are_replaced_while_that_can_help(states, spare, count):
    collector = Collector(Stub(states, spare_processes=spare))
    while not collector.is_done():
        collector.go()
    assert len(collector.processes) == count


def test_spare_processes_end_with_the_budget():
    collector = Collector(Stub("lqqqqq", spare_processes=3))
    for _ in range(5):
        collector.go()
    assert not collector.is_done()
    collector._until = 0.0
    assert collector.is_done()
