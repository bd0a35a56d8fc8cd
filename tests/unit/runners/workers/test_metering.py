"""What a job costs: CPU time of all its children, and its share of a meter's joules."""

from __future__ import annotations

import pytest

from registry.core import work_totals
from registry.core.work_totals import Cost
from registry.models import WorkTotal
from runners.workers import metering
from runners.workers.metering import Meter


class Used:
    """A sandbox that has used so many seconds."""

    def __init__(self, *seconds):
        self._seconds = iter(seconds)

    def cpu_seconds(self):
        return next(self._seconds)


@pytest.fixture
def powercap(tmp_path):
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    (zone / "name").write_text("package-0\n")
    (zone / "max_energy_range_uj").write_text("1000000000\n")
    (zone / "energy_uj").write_text("990000000\n")
    return tmp_path


@pytest.mark.parametrize("seconds", [(None, 2.5), (4.0, 6.5)])
def test_cpu_time_is_what_came_since(seconds, tmp_path):
    cost = Meter(Used(*seconds), powercap=tmp_path).cost()
    assert (cost.cpu_seconds, cost.joules) == (2.5, None)


@pytest.mark.parametrize("seconds", [(4.0, None), (4.0, 1.0)])
def test_a_server_that_was_lost_is_not_measured(seconds, powercap):
    cost = Meter(Used(*seconds), powercap=powercap).cost()
    assert (cost.cpu_seconds, cost.joules) == (None, None)


def test_a_job_has_its_share_of_a_package_whose_counter_began_again(powercap, monkeypatch):
    busy = iter([100.0, 110.0])
    monkeypatch.setattr(metering, "_busy_seconds", lambda: next(busy))
    meter = Meter(Used(1.0, 3.5), powercap=powercap)
    (powercap / "intel-rapl:0" / "energy_uj").write_text("30000000\n")
    assert meter.cost().joules == pytest.approx(40 * 0.25)


@pytest.mark.django_db
def test_totals_name_how_many_were_measured():
    work_totals.add("upgrade", "passed", Cost(3.0, 2.0, 50.0))
    work_totals.add("upgrade", "passed", Cost(4.0, 3.0))
    work_totals.add("upgrade", "passed", Cost(5.0))
    row = WorkTotal.objects.get()
    assert (row.attempts, row.seconds) == (3, 12.0)
    assert (row.cpu_attempts, row.cpu_seconds) == (2, 5.0)
    assert (row.metered_attempts, row.joules) == (1, 50.0)
