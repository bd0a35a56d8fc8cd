"""How a command fails: the message, what to do about it, and the exit code."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import TYPE_CHECKING

from hub.protocol import problems, refs
from hub.terminal import NOT_ALLOWED, NOT_FOUND, PROBLEM, UNREACHABLE, USAGE, plain

if TYPE_CHECKING:
    from hub.client.hub import Hub

SUGGESTIONS = 3


class ConfirmationNeeded(problems.HubError):
    """A question must be answered, and there is no terminal to ask it on."""


def exit_code(error: problems.HubError) -> int:
    """The exit code for a failure, as docs/cli.md lists them."""
    if isinstance(error, ConfirmationNeeded):
        return USAGE
    if isinstance(error, problems.Unreachable | problems.Unavailable | problems.Throttled):
        return UNREACHABLE
    if isinstance(error, problems.Problem):
        if error.status == 404:
            return NOT_FOUND
        if error.status in {401, 403}:
            return NOT_ALLOWED
    return PROBLEM


def complain(error: problems.HubError, options: argparse.Namespace | None = None) -> None:
    """Print a failure with its request id and notes, and what may help, on standard error."""
    message = str(error)
    if isinstance(error, problems.NotAuthenticated) and not _has_token():
        message = "You are not signed in, and this needs an account."
    print(f"hub: {plain(message, keep=chr(10))}", file=sys.stderr)
    if isinstance(error, problems.Problem) and error.instance:
        print(f"(request {plain(error.instance)})", file=sys.stderr)
    print_notes(error)
    for line in _advice(error, options):
        print(plain(line), file=sys.stderr)


def print_notes(error: BaseException) -> None:
    """Print the notes of an exception on standard error."""
    for note in getattr(error, "__notes__", ()):
        print(plain(str(note), keep="\n"), file=sys.stderr)


def _has_token() -> bool:
    from hub.client import api  # noqa: PLC0415  (only where something failed)

    return bool(api.default_hub().config.token)


def _advice(error: problems.HubError, options: argparse.Namespace | None) -> list[str]:
    from hub.client import api  # noqa: PLC0415  (only where something failed)

    try:
        hub = api.default_hub()
    except problems.HubError:
        return []
    login = f"hub login --url {hub.config.url}"
    if isinstance(error, problems.NotAuthenticated):
        return [f"Sign in: {login}"]
    if isinstance(error, problems.Problem) and error.status == 403 and hub.config.token:
        return ["Show the user and the scopes of your token: hub whoami"]
    written = getattr(options, "ref", None) or getattr(options, "model", None)
    if not (isinstance(error, problems.NotFound) and written):
        return []
    lines = []
    if near := _near(hub, str(written)):
        lines.append(f"Did you mean {' or '.join(near)}?")
    if not hub.config.token:
        lines.append(f"If it is private, sign in: {login}")
    return lines


def _near(hub: Hub, written: str) -> list[str]:
    """Models with names like one that the hub does not have."""
    try:
        name = refs.parse(written).name
        query = {"contains": name.partition("/")[2][:3], "limit": 100}
        answer = hub.transport.request("GET", "/api/v1/models", query=query, once=True).json()
        names = [str(model["ref"]) for model in answer["items"]]
    except (problems.HubError, KeyError, TypeError):
        return []
    return [] if name in names else difflib.get_close_matches(name, names, n=SUGGESTIONS)
