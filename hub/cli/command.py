"""The `hub` command: what a user of hubs does, and on a server what its operator does.

The only file that reaches both halves; the server is imported by the commands that need it.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TextIO

from hub.cli import commands, completion, failures, parsing
from hub.cli import help as help_command
from hub.protocol import problems
from hub.terminal import DONE, INTERRUPTED, PROBLEM, plain

# Modules of commands that need the server extra, where they are named otherwise.
_SERVER_MODULES = {"token": "tokens"}
_OWN_ROOMS = frozenset({"hub", "registry", "metadata", "runners", "frontend"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code, as docs/cli.md lists them."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            return _run(arguments)
    except problems.HubError as error:
        failures.complain(error)
        return failures.exit_code(error)
    except KeyboardInterrupt as error:
        failures.print_notes(error)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`hub search | head`): nothing left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        print(f"hub: {plain(str(error))}", file=sys.stderr)
        return PROBLEM


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    if name == "bench":
        return _run_bench(arguments[1:])
    if name in commands.OWN_PARSERS or _is_for_machine(arguments):
        return _run_server(name, arguments[1:])
    if name == completion.COMPLETE:
        print("\n".join(completion.candidates(arguments[1:])))
        return DONE
    if arguments in (["--help"], ["-h"]):
        print(help_command.overview(), end="")
        return DONE
    # Only a wrong name needs the others, for suggestions.
    command_name = "help" if name == "--version" else name
    parser = parsing.parser(command_name if command_name in commands.NAMES else None)
    options = parsing.parse(parser, arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except problems.HubError as error:
        failures.complain(error, options)
        return failures.exit_code(error)


def _is_for_machine(arguments: list[str]) -> bool:
    """Whether a token is made for a user on the hub's machine, where no hub need run."""
    is_named = any(word.partition("=")[0] == "--user" for word in arguments)
    return is_named and arguments[:2] == ["token", "create"]


def _run_server(command: str, arguments: list[str]) -> int:
    name = f"hub.server.{_SERVER_MODULES.get(command, command)}"
    try:
        return int(import_module(name).main(arguments))
    except ModuleNotFoundError as error:
        if error.name == name:
            print(
                f"hub {command} runs on the machine of a hub, and only the client is installed "
                "here. Clone the hub's repository and run scripts/serve.",
                file=sys.stderr,
            )
            return PROBLEM
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
