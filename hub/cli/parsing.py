"""The parser of `hub`: one command or all of them, and what argparse knows of each."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import hub
from hub.cli import commands

_ENVIRONMENT = (
    "environment variables: HUB_URL (default: http://127.0.0.1:8000; mirrors after commas), "
    "HUB_TOKEN, HUB_CACHE, HUB_OFFLINE, HUB_RETRY_SECONDS (default: 60), HUB_VERIFY (changed or "
    "always), HUB_CA_BUNDLE, HUB_CLIENT_CERTIFICATE, HUB_CLIENT_KEY, HUB_KEY_PASSWORD, "
    "HUB_REQUIRE_SIGNATURE, HUB_SIGNATURE_AUTHORITIES, HUB_SIGSTORE_CONFIG, HUB_SIGSTORE_ROOT"
)
_INVALID_CHOICE = re.compile(r"argument (?:command|source|verb): invalid choice: '([^']*)'")


class Parser(argparse.ArgumentParser):
    """A parser that suggests the commands that a wrong one is like."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong; exit with 2."""
        match = _INVALID_CHOICE.match(message)
        if match is None:
            super().error(message)
        names = [name for name, _, _ in subcommands(self)]
        near = difflib.get_close_matches(match[1], names, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Commands: {', '.join(names)}."
        super().error(f"unknown command {match[1]!r}. {hint}")


def parser(only: str | None = None) -> Parser:
    """The parser of every command, or quicker, of one."""
    root = Parser(
        prog="hub", description="Load, publish and serve ONNX models.", epilog=_ENVIRONMENT
    )
    root.add_argument("--version", action="version", version=f"hub {hub.__version__}")
    commands.add_to(root.add_subparsers(metavar="command", required=True), only)
    for path, child in leaves(root):
        if path in commands.EXAMPLES:
            child.epilog = examples(commands.EXAMPLES[path])
            child.formatter_class = argparse.RawDescriptionHelpFormatter
        child.set_defaults(parser=child)
    return root


def parse(root: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; what the command does not know is its own error."""
    options, unknown = root.parse_known_args(arguments)
    if unknown:
        _refuse(options, unknown)
    return options


def _refuse(options: argparse.Namespace, unknown: Sequence[str]) -> NoReturn:
    command: argparse.ArgumentParser = options.parser
    names = [name for action in actions(command) for name in action.option_strings]
    near = difflib.get_close_matches(unknown[0], names, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Options: {', '.join(names)}."
    command.error(f"unrecognized arguments: {' '.join(unknown)}. {hint}")


def examples(lines: tuple[str, ...]) -> str:
    """The end of a command's help."""
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


def leaves(parent: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that has no commands itself, by its words without `hub`."""
    for name, _, child in subcommands(parent):
        nested = list(leaves(child))
        yield from [(f"{name} {path}", nested_child) for path, nested_child in nested] or [
            (name, child)
        ]


def subcommands(
    parent: argparse.ArgumentParser,
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """The name, help and parser of each command of a parser."""
    for action in parent._actions:  # noqa: SLF001  (argparse gives no other way to its actions)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            choices = action._choices_actions  # noqa: SLF001
            helps: dict[str, Any] = {choice.dest: choice.help for choice in choices}
            # A choice without a help of its own is another name of one that has it.
            for name, text in helps.items():
                yield name, str(text), action.choices[name]


def actions(parent: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments of a command, without its commands and `--help`."""
    return [
        action
        for action in parent._actions  # noqa: SLF001
        if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)  # noqa: SLF001
    ]
