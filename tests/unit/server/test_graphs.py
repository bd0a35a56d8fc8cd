"""`hub graphs`: what it does where no capability plugs in a store."""

from __future__ import annotations

import pytest

from hub.server.graphs import Maintenance
from registry.core.maintenance import MaintenanceTask, maintenance_tasks


def test_a_hub_without_a_store_of_graphs_refuses_to_rebuild_it(monkeypatch):
    monkeypatch.setattr(maintenance_tasks, "entries", {})
    with pytest.raises(SystemExit, match="no store of graphs"):
        Maintenance()._rebuild()
    rebuilt = []
    task = MaintenanceTask("store", lambda: (lambda: None, lambda: None), lambda: rebuilt.append(1))
    maintenance_tasks.register("tests", task)
    Maintenance()._rebuild()
    assert rebuilt == [1]
