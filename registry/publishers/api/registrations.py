"""What trusted publishers plug into the core."""

from __future__ import annotations

from registry.core.periodic import HourlyTask, hourly_tasks
from registry.publishers import services


def register(package: str) -> None:
    """Plug into the ports of the core."""
    hourly_tasks.register(
        package, HourlyTask("publishers", "Expired tokens of publishers deleted", services.clean)
    )
