"""The command of the audit log: list events, and follow them."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from hub.cli.control import output
from hub.cli.control.verbs import Task, Verb
from hub.client import api
from hub.client.rest import answers
from hub.terminal import DONE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from hub.client.hub import Hub
    from hub.client.rest.events import Event

PAUSE_SECONDS: Final = 2.0
# Events get their time before they are committed, and so may appear after later ones.
_LATE: Final = timedelta(seconds=60)
_EXAMPLES: Final = (
    "hub events --model zoo/resnet50",
    "hub events --actor ada --since 2026-11-01T00:00:00Z --json",
    "hub events --verb user.closed",
)
_LIST: Final = Verb("events", "events.list", "list events", _EXAMPLES)
_COLUMNS: Final = ("at", "actor", "verb", "subject_kind", "subject_id", "model", "request_id")


def _arguments(parser: argparse.ArgumentParser) -> None:
    _LIST.add_arguments(parser)
    parser.add_argument(
        "--follow", action="store_true", help="go on with later events, oldest first"
    )


def _events(options: argparse.Namespace) -> int:
    hub = api.default_hub()
    values = _LIST.values(hub, options)
    newest = list(hub.events.list(**values))
    if options.follow:
        _print_lines(reversed(newest), as_json=options.json)
        for event in _later(hub, values, newest):
            _print_lines([event], as_json=options.json)
    elif options.json:
        _print_lines(newest, as_json=True)
    else:
        output.table(newest, _COLUMNS, "no events")
    return DONE


def _later(hub: Hub, values: dict[str, Any], newest: list[Event]) -> Iterator[Event]:
    """Each event after those that are listed, once, until the command is interrupted."""
    values = {name: value for name, value in values.items() if name != "limit"}
    times = {event.id: event.at for event in newest}
    last = max(times, default=0)
    while True:
        if times:
            values["since"] = max(times.values()) - _LATE
        rows = list(hub.events.list(**values))
        yield from reversed([row for row in rows if row.id > last and row.id not in times])
        # What the first answer holds beside those that are listed, was there before them.
        last = 0
        times |= {row.id: row.at for row in rows}
        latest = max(times.values(), default=None)
        times = {key: at for key, at in times.items() if latest and at > latest - 2 * _LATE}
        time.sleep(PAUSE_SECONDS)


def _print_lines(events: Iterable[Event], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            line = json.dumps(answers.plain(event))
        else:
            line = "  ".join(output.text(getattr(event, name)) for name in _COLUMNS)
        print(line, flush=True)


EVENTS = Task(
    "events",
    "list who did what, when, and in which request; for administrators. With --json, one object "
    "a line",
    _EXAMPLES,
    arguments=_arguments,
    run=_events,
)
