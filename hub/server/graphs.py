"""`hub graphs`: the process that delivers events and keeps the store of graphs.

`hub serve` has one. Every machine with web processes needs one: each keeps a store of its own, or
one of them, by a lease, an external server. In one folder, the second waits for the first to end.
Outages of the database or of an external SPARQL server are waited out.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from metadata.sparql.leading import LeadingFollower
    from metadata.sparql.replication import Follower

    AnyFollower = Follower | LeadingFollower

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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.server.settings")
    import django  # noqa: PLC0415 - after the environment is set

    django.setup()
    import hub.server.celery  # noqa: F401, PLC0415 - bells go to the broker of this application

    return Keeper().run(rebuild=args.rebuild)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="hub graphs",
        description="Keep the SPARQL graph store in step with the published models. `hub serve` "
        "does this for you. Use the hub's own settings, above all HUB_HOME or DATABASE_URL.",
    )
    parser.add_argument("--home", help="data folder of the hub (default: $HUB_HOME or ./var)")
    parser.add_argument(
        "--rebuild", action="store_true", help="rebuild the store from the database, then exit"
    )
    return parser.parse_args(argv)


class Keeper:
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

        from metadata.sparql import stores  # noqa: PLC0415
        from metadata.sparql.embedded import only_writer  # noqa: PLC0415

        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        folder = settings.HUB_GRAPHS
        is_reported = False
        while not self._stopping:
            with only_writer(folder) as alone:
                if alone:
                    follower = stores.follower()
                    if rebuild:
                        self._rebuild(follower)
                    else:
                        self._keep(follower)
                    return 0
            if not is_reported:
                self._log.info("graphs_kept_by_another")
                is_reported = True
            self._pause(1.0)
        return 0

    def _rebuild(self, follower: AnyFollower) -> None:
        from hub.counting import Counter  # noqa: PLC0415 - after Django is set up
        from metadata.models import NamedGraph  # noqa: PLC0415

        with Counter("graphs loaded", NamedGraph.objects.exclude(nquads="").count()) as counter:
            follower.rebuild(counter.advance)
        follower.close()

    def _keep(self, follower: AnyFollower) -> None:
        from metadata import nightly  # noqa: PLC0415 - after Django is set up
        from registry.core import changes  # noqa: PLC0415

        while not self._stopping:
            before = changes.mark()
            failed = [
                not self._try("deliveries", self._deliver),
                not self._try("periodic work", nightly.run_due),
                not self._try("the store of graphs", follower.turn),
            ]
            self._failures = self._failures + 1 if any(failed) else 0
            self._show_life()
            if self._failures:
                self._pause(min(TURN_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS))
            else:
                changes.wait(before, lambda: self._stopping)
        self._try("the store of graphs", follower.close)

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
