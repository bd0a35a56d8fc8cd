"""The commands of the audit log and the security log: list events, and follow them."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from hub.cli.control import output
from hub.cli.control.verbs import Task, Verb
from hub.client import api
from hub.client.hub import Hub
from hub.client.rest import answers
from hub.terminal import DONE

PAUSE_SECONDS: Final = 2.0
# Events get their time before they are committed, and so may appear after later ones.
_LATE: Final = timedelta(seconds=60)
_EXAMPLES: Final = (
    "hub events --model zoo/resnet50",
    "hub events --actor ada --since 2026-11-01T00:00:00Z --json",
    "hub events --verb user.closed",
)
_COLUMNS: Final = ("at", "actor", "verb", "subject_kind", "subject_id", "model", "request_id")
_SECURITY_EXAMPLES: Final = (
    "hub security-events --kind sign_in_failed",
    "hub security-events --model acme/net --json",
)
_SECURITY_COLUMNS: Final = (
    "at", "actor", "address", "token", "kind", "subject_kind", "subject_id", "model", "request_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Log:
    """A log that the command lists and follows: its operation, and the columns of a line."""

    verb: Verb
    columns: tuple[str, ...]
    rows: Callable[[Hub], Callable[..., Iterable[Any]]]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self.verb.add_arguments(parser)
        parser.add_argument(
            "--follow", action="store_true", help="go on with later events, oldest first"
        )

    def run(self, options: argparse.Namespace) -> int:
        hub = api.default_hub()
        values = self.verb.values(hub, options)
        newest = list(self.rows(hub)(**values))
        if options.follow:
            self._print_lines(reversed(newest), as_json=options.json)
            for event in _later(self.rows(hub), values, newest):
                self._print_lines([event], as_json=options.json)
        elif options.json:
            self._print_lines(newest, as_json=True)
        else:
            output.table(newest, self.columns, "no events")
        return DONE

    def _print_lines(self, events: Iterable[Any], *, as_json: bool) -> None:
        for event in events:
            if as_json:
                line = json.dumps(answers.plain(event))
            else:
                line = "  ".join(output.text(getattr(event, name)) for name in self.columns)
            print(line, flush=True)


def _later(
    read: Callable[..., Iterable[Any]], values: dict[str, Any], newest: list[Any]
) -> Iterator[Any]:
    """Each event after those that are listed, once, until the command is interrupted."""
    values = {name: value for name, value in values.items() if name != "limit"}
    times = {event.id: event.at for event in newest}
    last = max(times, default=0)
    while True:
        if times:
            values["since"] = max(times.values()) - _LATE
        rows = list(read(**values))
        yield from reversed([row for row in rows if row.id > last and row.id not in times])
        # What the first answer holds beside those that are listed, was there before them.
        last = 0
        times |= {row.id: row.at for row in rows}
        latest = max(times.values(), default=None)
        times = {key: at for key, at in times.items() if latest and at > latest - 2 * _LATE}
        time.sleep(PAUSE_SECONDS)


_EVENTS: Final = _Log(
    Verb("events", "events.list", "list events", _EXAMPLES), _COLUMNS, lambda hub: hub.events.list
)
_SECURITY: Final = _Log(
    Verb("security-events", "security_events.list", "list security events", _SECURITY_EXAMPLES),
    _SECURITY_COLUMNS,
    lambda hub: hub.security_events.list,
)
EVENTS = Task(
    "events",
    "list who did what, when, and in which request; for administrators. With --json, one object "
    "a line",
    _EXAMPLES,
    arguments=_EVENTS.add_arguments,
    run=_EVENTS.run,
)
SECURITY_EVENTS = Task(
    "security-events",
    "list sign-ins, refusals, changes and protected downloads, and from where; for "
    "administrators. With --json, one object a line",
    _SECURITY_EXAMPLES,
    arguments=_SECURITY.add_arguments,
    run=_SECURITY.run,
)
