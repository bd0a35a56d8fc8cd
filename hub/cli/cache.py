"""The commands of the cache: list, clean, verify."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from hub import counting
from hub.client import api, housekeeping
from hub.terminal import DONE, PROBLEM, size

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    cache = commands.add_parser("cache", help="list, clean or verify the cache")
    verbs = cache.add_subparsers(metavar="verb", required=True)
    verbs.add_parser("list", help="list the cached versions").set_defaults(command=_list)
    clean = verbs.add_parser("clean", help="remove unfinished downloads and unreferenced files")
    clean.add_argument(
        "--unused-days",
        type=float,
        metavar="DAYS",
        help="also remove versions not used for this many days",
    )
    clean.add_argument("--all", action="store_true", help="remove everything")
    clean.set_defaults(command=_clean)
    verify = verbs.add_parser(
        "verify", help="check the hash of every file and remove damaged files"
    )
    verify.set_defaults(command=_verify)


def _list(options: argparse.Namespace) -> int:
    del options
    cache = api.default_hub().cache
    for holding in housekeeping.holdings(cache):
        used = time.strftime("%Y-%m-%d", time.localtime(holding.used_at))
        part = (
            "" if holding.bytes_held == holding.bytes_total else f" of {size(holding.bytes_total)}"
        )
        print(f"{holding.ref}  {size(holding.bytes_held)}{part}  used {used}")
    print(f"{size(housekeeping.size(cache))} in {cache.folder}")
    return DONE


def _clean(options: argparse.Namespace) -> int:
    freed = housekeeping.clean(
        api.default_hub().cache, unused_days=options.unused_days, everything=options.all
    )
    print(f"removed {freed.files} files, {size(freed.bytes)}")
    return DONE


def _verify(options: argparse.Namespace) -> int:
    del options
    right = wrong = 0
    cache = api.default_hub().cache
    damaged = []
    total = housekeeping.bytes_to_verify(cache)
    with counting.Counter("verified", total, words=counting.size) as counter:
        for path, is_right in housekeeping.verify(cache, counter.advance):
            right, wrong = right + is_right, wrong + (not is_right)
            damaged += [] if is_right else [path]
    for path in damaged:
        print(f"hub: removed damaged file: {path}", file=sys.stderr)
    print(f"{right} files intact, {wrong} damaged")
    return PROBLEM if wrong else DONE
