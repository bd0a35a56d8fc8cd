"""docker/monitoring agrees with the metrics that the hub gives, and promtool accepts it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hub.server import gauges, metrics
from registry.core import periodic, work_totals

FOLDER = Path(__file__).parents[2] / "docker" / "monitoring"
NAME = re.compile(r"\bhub_[a-z_]+")


@pytest.fixture
def names(db, monkeypatch):
    """Every metric that a hub can give."""
    monkeypatch.setattr(metrics, "_collector", gauges.HubCollector())
    work_totals.add("check", "passed", work_totals.Cost(1.0, 1.0, 1.0))
    with periodic.run("tidy"):
        pass
    from registry.storage.backups import hold

    hold.end(hold.begin(), is_whole=True)
    found = set()
    for family in metrics._registry().collect():
        endings = {
            "counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"),
        }.get(family.type, ("",))  # fmt: skip
        found |= {family.name + ending for ending in endings}
    return found


@pytest.mark.django_db
def test_every_metric_that_is_named_exists(names):
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = set(NAME.findall("\n".join([*queries, (FOLDER / "alerts.yml").read_text()])))
    assert named - names == set()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


@pytest.mark.parametrize(
    "command",
    [["check", "rules", "alerts.yml"], ["check", "config", "--syntax-only", "prometheus.yml"],
     ["test", "rules", "alerts_test.yml"]],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
def test_promtool_accepts_the_rules(command):
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is not installed here (Debian's package prometheus)")
    done = subprocess.run(
        [promtool, *command], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
