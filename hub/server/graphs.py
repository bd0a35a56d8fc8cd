"""`hub graphs`: the process that delivers events and runs what plugs into `MaintenanceTask`.

`hub serve` has one. Every machine with web processes needs one. In one folder, the second waits for
the first to end. Outages, such as those of the database, are waited out.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from types import FrameType

from hub.server import start

TURN_SECONDS = 0.25
# After a failure the next try waits longer each time, up to this.
LONGEST_PAUSE_SECONDS = 5.0
_DELIVERIES = 100
_SIGN_OF_LIFE_SECONDS = 5.0


def main(argv: Sequence[str]) -> int:
    """Keep graphs until SIGTERM or SIGINT; with --rebuild rebuild the store and end."""
    args = _arguments(argv)
    if args.home:
        os.environ["HUB_HOME"] = args.home
    start.set_up()
    start.check()
    import hub.server.celery  # noqa: F401, PLC0415 - hints go to the broker of this application

    return Maintenance().run(rebuild=args.rebuild)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="hub graphs",
        description="Deliver events, and keep graphs in step with the published models. "
        "`hub serve` does this for you. Use the hub's own settings, above all HUB_HOME or "
        "DATABASE_URL.",
    )
    parser.add_argument("--home", help="data folder of the hub (default: $HUB_HOME or ./var)")
    parser.add_argument(
        "--rebuild", action="store_true", help="rebuild the store from the database, then exit"
    )
    return parser.parse_args(argv)


class Maintenance:
    """One turn after the other until a signal comes; each part fails and recovers by itself."""

    def __init__(self) -> None:
        import structlog  # noqa: PLC0415 - needs the server extra

        self._log = structlog.get_logger("hub.server.graphs")
        self._stopping = False
        self._failures = 0
        self._alive_at = 0.0

    def run(self, *, rebuild: bool = False) -> int:
        """Stay until a signal comes; returns the exit status."""
        from django.conf import settings  # noqa: PLC0415 - after Django is set up

        from registry.core.shared_files import try_lock  # noqa: PLC0415

        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        folder = settings.HUB_GRAPHS
        is_reported = False
        while not self._stopping:
            with try_lock(folder / "writer.lock") as alone:
                if alone:
                    if rebuild:
                        self._rebuild()
                    else:
                        self._keep()
                    return 0
            if not is_reported:
                self._log.info("graphs_kept_by_another")
                is_reported = True
            self._pause(1.0)
        return 0

    def _rebuild(self) -> None:
        from registry.core.maintenance import maintenance_tasks  # noqa: PLC0415 - after Django is set up

        rebuilds = [task.rebuild for task in maintenance_tasks if task.rebuild is not None]
        if not rebuilds:
            raise SystemExit(
                "hub graphs: this hub has no store of graphs. Run it without --rebuild."
            )
        for rebuild in rebuilds:
            rebuild()

    def _keep(self) -> None:
        from registry.core import changes  # noqa: PLC0415 - after Django is set up
        from registry.core.maintenance import maintenance_tasks  # noqa: PLC0415

        turns: dict[str, Callable[[], object]] = {"deliveries": self._deliver}
        with ExitStack() as stack:
            for task in maintenance_tasks:
                turns[task.name], close = task.start()
                stack.callback(self._try, task.name, close)
            while not self._stopping:
                before = changes.mark()
                failed = [name for name, turn in turns.items() if not self._try(name, turn)]
                self._failures = self._failures + 1 if failed else 0
                self._show_life()
                if self._failures:
                    self._pause(min(TURN_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS))
                else:
                    changes.wait(before, lambda: self._stopping)

    def _deliver(self) -> None:
        from registry.core import outbox  # noqa: PLC0415 - after Django is set up

        if outbox.waits():
            outbox.deliver(limit=_DELIVERIES)

    def _try(self, what: str, work: Callable[[], object]) -> bool:
        from django.db import close_old_connections  # noqa: PLC0415 - after Django is set up

        close_old_connections()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            self._log.warning("graphs_trouble", part=what, error=f"{type(error).__name__}: {error}")
            return False
        return True

    def _show_life(self) -> None:
        """Touch a file now and then, for monitors of this process."""
        from django.conf import settings  # noqa: PLC0415 - after Django is set up

        if time.monotonic() - self._alive_at >= _SIGN_OF_LIFE_SECONDS:
            with suppress(OSError):
                (settings.HUB_GRAPHS / "alive").touch()
                self._alive_at = time.monotonic()

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping and (remaining := until - time.monotonic()) > 0:
            time.sleep(min(remaining, TURN_SECONDS))

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True


if __name__ == "__main__":
    raise SystemExit(main([]))
