"""`hub doctor`: everything that is wrong with the settings and the backends, with its cure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hub.server import start
from hub.server.console import print_line


def main(argv: Sequence[str]) -> int:
    """Print each problem and its cure; 1 where one of them is an error."""
    args = _arguments(argv)
    start.set_up_to_inspect(args.home)
    from hub.server import backends  # noqa: PLC0415 - models must be loaded first

    messages = backends.report(deploy=args.deploy)
    for each in sorted(messages, key=lambda message: -message.level):
        print_line(f"{'error' if each.is_serious() else 'warning'}: {each.msg} ({each.id})")
        if each.hint:
            print_line(f"  cure: {each.hint}")
    errors = sum(each.is_serious() for each in messages)
    print_line(f"errors: {errors}, warnings: {len(messages) - errors}")
    return 1 if errors else 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="hub doctor",
        description="Check the settings of a hub and whether its backends answer. Use the "
        "environment of the hub. Nothing is started.",
    )
    parser.add_argument("--home", help="data folder of the hub (default: $HUB_HOME or ./var)")
    parser.add_argument(
        "--deploy", action="store_true", help="also report what is unsafe on the internet"
    )
    return parser.parse_args(argv)
