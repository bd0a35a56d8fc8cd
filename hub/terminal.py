"""How commands speak: their exit codes, and words that are safe to print."""

from __future__ import annotations

import argparse
from typing import Any

from hub import counting
from hub.protocol.proofs import SUFFICIENT

DONE, PROBLEM, USAGE, NOT_FOUND, NOT_ALLOWED, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
# Switches of several commands.
_FLAGS = {
    "private": "create a new model as private",
    "no-publish": "check the version without publishing it",
    "no-wait": "return without waiting for the checks",
    "quiet": "hide progress output",
    "json": "print JSON",
}


def add_flags(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add switches that mean the same in every command that has them."""
    for name in names:
        parser.add_argument(f"--{name}", action="store_true", help=_FLAGS[name])


def add_variant_options(parser: argparse.ArgumentParser) -> None:
    """Add what chooses the variant of a version."""
    parser.add_argument("--opset", type=int, help="choose a variant with exactly this opset")
    parser.add_argument("--variant", help="choose the variant with this name")
    parser.add_argument(
        "--strength",
        choices=list(map(str, SUFFICIENT)),
        help="least proof of a variant chosen by opset (default: that of the hub)",
    )


def plain(text: str, *, keep: str = "") -> str:
    """Drop control characters: what a server says must not drive the terminal."""
    return "".join(char if char.isprintable() or char in keep else " " for char in text)


def size(count: int | None) -> str:
    """Bytes, which may not be known, in decimal units: 12.3 MB."""
    return counting.size(count or 0)


def interval(fields: dict[str, Any], form: str = ".4g", unit: str = "") -> str:
    """The interval of a row of the API, ``unit`` as its ends end: [95 %: 0.92, 1]; else nothing."""
    low, high = fields.get(f"low{unit}"), fields.get(f"high{unit}")
    level = fields.get("interval_level")
    if low is None or high is None:
        return ""
    return f"[{f'{level} %: ' if level else ''}{low:{form}}, {high:{form}}]"


def positive(text: str) -> int:
    """An option's value that counts something.

    Raises:
        argparse.ArgumentTypeError: It is below 1.

    """
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value
