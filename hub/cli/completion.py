"""The command completion: a script that asks `hub` for the words that fit what was typed."""

from __future__ import annotations

import argparse
from typing import Any

from hub.cli import commands, parsing
from hub.terminal import DONE

# The hidden command that the scripts call, with the words after `hub`; the last is incomplete.
COMPLETE = "__complete"
_SCRIPTS = {
    "bash": f"""\
_hub() {{
    mapfile -t COMPREPLY < <(hub {COMPLETE} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)
}}
complete -o default -F _hub hub
""",
    "zsh": f"""\
#compdef hub
_hub() {{
    local -a candidates
    candidates=("${{(@f)$(hub {COMPLETE} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    candidates=("${{(@)candidates:#}}")
    if (( ${{#candidates}} )); then compadd -a candidates; else _files; fi
}}
compdef _hub hub
""",
    "fish": f"""\
function __hub_complete
    set -l typed (commandline -opc) (commandline -ct)
    hub {COMPLETE} $typed[2..] 2>/dev/null
end
complete -c hub -a '(__hub_complete)'
""",
}
_EPILOG = """\
examples:
  bash: echo 'eval "$(hub completion bash)"' >> ~/.bashrc
  zsh:  echo 'eval "$(hub completion zsh)"' >> ~/.zshrc
  fish: hub completion fish > ~/.config/fish/completions/hub.fish"""


def add_to(subparsers: Any) -> None:
    """Add the command to the parser of `hub`."""
    parser = subparsers.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print a script that completes commands, options and their values.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=list(_SCRIPTS), help="your shell")
    parser.set_defaults(command=_completion)


def _completion(options: argparse.Namespace) -> int:
    print(_SCRIPTS[options.shell], end="")
    return DONE


def candidates(words: list[str]) -> list[str]:
    """The words that fit the last of `words`, which may be empty; none where a file is meant."""
    *typed, prefix = words or [""]
    if not typed:
        return [name for name in commands.NAMES if name.startswith(prefix)]
    if typed[0] not in commands.NAMES:
        return []
    parser: argparse.ArgumentParser = parsing.parser(typed[0])
    last = ""
    for word in typed:
        children = {name: child for name, _, child in parsing.subcommands(parser)}
        parser, last = children.get(word, parser), word
    return [word for word in _words(parser, last) if word.startswith(prefix)]


def _words(parser: argparse.ArgumentParser, last: str) -> list[str]:
    """What may follow a word: the values of an option, else commands, values and options."""
    actions = parsing.actions(parser)
    for action in actions:
        if last in action.option_strings and action.nargs != 0:
            return [str(choice) for choice in action.choices or ()]
    names = [name for name, _, _ in parsing.subcommands(parser)]
    values = [
        str(choice)
        for action in actions
        if not action.option_strings
        for choice in action.choices or ()
    ]
    options = [text for action in actions for text in action.option_strings if text[:2] == "--"]
    return [*names, *values, *options]
