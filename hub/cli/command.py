"""The `hub` command: what a user of hubs does, and on a server what its operator does.

The only file that reaches both halves; the server is imported by the commands that need it.
Exit codes: 0 done, 1 a problem (one message on standard error), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from typing import TYPE_CHECKING, TextIO

import hub
from hub.cli import (
    cache,
    datasets,
    evaluate,
    find,
    import_hf,
    import_zoo,
    login,
    models,
    publishing,
)
from hub.protocol import problems
from hub.terminal import DONE, INTERRUPTED, PROBLEM, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SERVER_COMMANDS = {
    "serve": "run the hub on this machine: web server and workers",
    "worker": "start another worker for a hub, optionally for another runtime",
    "graphs": "keep the SPARQL graph store up to date; `hub serve` does this for you",
    "token": "create an access token for the hub on this machine",
    "manage": "run a maintenance command, such as verify_blobs; without arguments, list them",
}
_OWN_ROOMS = frozenset({"hub", "registry", "metadata", "runners", "frontend"})
_ENVIRONMENT = (
    "environment variables: HUB_URL (default: http://127.0.0.1:8000; mirrors after commas), "
    "HUB_TOKEN, HUB_CACHE, "
    "HUB_OFFLINE, "
    "HUB_RETRY_SECONDS (default: 60), HUB_VERIFY (changed or always), "
    "HUB_CA_BUNDLE, HUB_CLIENT_CERTIFICATE, HUB_CLIENT_KEY"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            return _run(arguments)
    except problems.HubError as error:
        _complain(error)
        return PROBLEM
    except KeyboardInterrupt as error:
        _say_notes(error)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`hub search | head`): nothing left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        print(f"hub: {plain(str(error))}", file=sys.stderr)
        return PROBLEM


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] in SERVER_COMMANDS:
        return _run_server(arguments[0], arguments[1:])
    if arguments and arguments[0] == "bench":
        return _run_bench(arguments[1:])
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.command
    return command(parsed)


def _run_server(command: str, arguments: list[str]) -> int:
    try:
        if command == "serve":
            from hub.server.serve import main as run  # noqa: PLC0415  (needs the server extra)
        elif command == "worker":
            from hub.server.worker import main as run  # noqa: PLC0415
        elif command == "graphs":
            from hub.server.graphs import main as run  # noqa: PLC0415
        elif command == "manage":
            from hub.server.manage import main as run  # noqa: PLC0415
        else:
            from hub.server.tokens import main as run  # noqa: PLC0415
        return int(run(arguments))
    except ModuleNotFoundError as error:
        # One of our own that is missing is a fault of ours and has to show itself.
        if (error.name or "").partition(".")[0] in _OWN_ROOMS:
            raise
        print(
            f"hub {command} needs the server packages ({error.name} is missing): "
            "pip install 'onnx-hub[server]'",
            file=sys.stderr,
        )
        return PROBLEM


def _run_bench(arguments: list[str]) -> int:
    try:
        from hub.cli.bench.command import main as run  # noqa: PLC0415  (reaches the engine)

        return run(arguments)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OWN_ROOMS:
            raise
        print(f"hub bench needs {error.name}: pip install 'onnx-hub[cpu]'", file=sys.stderr)
        return PROBLEM


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hub", description="Load, publish and serve ONNX models.", epilog=_ENVIRONMENT
    )
    parser.add_argument("--version", action="version", version=f"hub {hub.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    models.add_get(commands)
    publishing.add_push(commands)
    importing = commands.add_parser("import", help="import models from other places")
    sources = importing.add_subparsers(metavar="source", required=True)
    import_hf.add_to(sources)
    import_zoo.add_to(sources)
    publishing.add_variant(commands)
    evaluate.add_evaluate(commands)
    datasets.add_to(commands)
    models.add_search(commands)
    find.add_find(commands)
    models.add_info(commands)
    login.add_to(commands)
    cache.add_to(commands)
    commands.add_parser("bench", help="benchmark a model on this machine", add_help=False)
    for name, text in SERVER_COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _complain(error: problems.HubError) -> None:
    lines = plain(str(error), keep="\n")
    print(f"hub: {lines}", file=sys.stderr)
    if isinstance(error, problems.Problem) and error.instance:
        print(f"(request {plain(error.instance)})", file=sys.stderr)
    _say_notes(error)


def _say_notes(error: BaseException) -> None:
    for note in getattr(error, "__notes__", ()):
        print(plain(str(note)), file=sys.stderr)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line
    print(f"hub: warning: {plain(str(message))}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
