"""The command help: every command by section, or the page of one."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from hub.cli import commands, parsing
from hub.terminal import DONE


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of `hub`."""
    parser = subparsers.add_parser("help", help="show the commands, or the help of one")
    parser.add_argument("name", nargs="*", help="a command, such as yank, or jobs watch")
    parser.set_defaults(command=_help)


def _help(options: argparse.Namespace) -> int:
    if not options.name:
        print(overview(), end="")
        return DONE
    if options.name[0] in commands.OWN_PARSERS:
        print(f"Run hub {options.name[0]} --help")
        return DONE
    parser: argparse.ArgumentParser = parsing.parser(
        options.name[0] if options.name[0] in commands.NAMES else None
    )
    for name in options.name:
        children = {child: subcommand for child, _, subcommand in parsing.subcommands(parser)}
        if name not in children:
            # The parser says what is like it, and exits.
            parser.error(f"argument command: invalid choice: {name!r}")
        parser = children[name]
    parser.print_help(sys.stdout)
    return DONE


def overview() -> str:
    """Every command with its help, by section."""
    helps = {name: text for name, text, _ in parsing.subcommands(parsing.parser())}
    width = max(map(len, helps))
    lines = ["Load, publish and serve ONNX models.", "", "usage: hub command ...", ""]
    for section, names in commands.SECTIONS.items():
        lines += [section, *(f"  {name:<{width}}  {helps[name]}" for name in names), ""]
    lines += ["Run hub help COMMAND for the arguments and examples of a command.", ""]
    return "\n".join(lines)
