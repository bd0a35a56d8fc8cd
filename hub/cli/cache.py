"""The commands of the cache: ls, prune, verify, pin, unpin."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from datetime import UTC, datetime
from typing import Any

from hub import counting
from hub.client import api, housekeeping
from hub.terminal import DONE, PROBLEM, add_flags, size

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def add_to(commands: Any) -> None:
    cache = commands.add_parser("cache", help="list, prune, verify or pin cached versions")
    verbs = cache.add_subparsers(metavar="verb", required=True)
    listing = verbs.add_parser("list", aliases=["ls"], help="list the cached versions")
    listing.set_defaults(command=_list)
    prune = verbs.add_parser(
        "prune",
        aliases=["clean"],
        help="remove unfinished downloads and unreferenced files",
        description="Remove unfinished downloads and unreferenced files. Pinned versions stay.",
    )
    prune.add_argument(
        "--unused-days",
        type=float,
        metavar="DAYS",
        help="also remove versions not used for this many days",
    )
    prune.add_argument(
        "--max-size",
        type=_bytes,
        metavar="SIZE",
        help="also remove the least recently used versions until the rest fits, such as 20GB",
    )
    prune.add_argument("--all", action="store_true", help="remove everything that is not pinned")
    prune.set_defaults(command=_prune)
    verify = verbs.add_parser(
        "verify", help="check the hash of every file and set damaged files aside"
    )
    verify.set_defaults(command=_verify)
    pin = verbs.add_parser("pin", help="keep a version from pruning")
    pin.set_defaults(command=_pin)
    unpin = verbs.add_parser("unpin", help="allow a version to be pruned again")
    unpin.set_defaults(command=_unpin)
    for parser in (pin, unpin):
        parser.add_argument("ref", help="a version, such as zoo/resnet50@3")
    for parser in (listing, prune, verify, pin, unpin):
        add_flags(parser, "json")


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)b?", text.strip().lower())
    if not match:
        raise argparse.ArgumentTypeError("must be a number of bytes, such as 500MB or 20GB")
    return int(float(match[1]) * _UNITS[match[2]])


def _list(options: argparse.Namespace) -> int:
    cache = api.default_hub().cache
    holdings = housekeeping.holdings(cache)
    if options.json:
        rows = [
            {
                "ref": holding.ref,
                "bytes": holding.bytes_held,
                "bytes_total": holding.bytes_total,
                "used_at": datetime.fromtimestamp(holding.used_at, UTC).isoformat(),
                "pinned": holding.is_pinned,
            }
            for holding in holdings
        ]
        print(json.dumps(rows, indent=2))
        return DONE
    for holding in holdings:
        used = time.strftime("%Y-%m-%d", time.localtime(holding.used_at))
        part = (
            "" if holding.bytes_held == holding.bytes_total else f" of {size(holding.bytes_total)}"
        )
        pinned = "  pinned" if holding.is_pinned else ""
        print(f"{holding.ref}  {size(holding.bytes_held)}{part}  used {used}{pinned}")
    print(f"{size(housekeeping.size(cache))} in {cache.folder}")
    return DONE


def _prune(options: argparse.Namespace) -> int:
    freed = housekeeping.prune(
        api.default_hub().cache,
        unused_days=options.unused_days,
        most_bytes=options.max_size,
        everything=options.all,
    )
    if options.json:
        print(json.dumps({"files": freed.files, "bytes": freed.bytes}))
    else:
        print(f"removed {counting.plural(freed.files, 'file')}, {size(freed.bytes)}")
    return DONE


def _verify(options: argparse.Namespace) -> int:
    intact = 0
    cache = api.default_hub().cache
    damaged = []
    total = housekeeping.bytes_to_verify(cache)
    with counting.Counter("verified", total, words=counting.size) as counter:
        for path, is_right in housekeeping.verify(cache, counter.advance):
            intact += is_right
            damaged += [] if is_right else [path]
    for path in damaged:
        print(f"hub: removed damaged file: {path}", file=sys.stderr)
    if options.json:
        print(json.dumps({"intact": intact, "damaged": list(map(str, damaged))}))
    else:
        print(f"{counting.plural(intact, 'file')} intact, {len(damaged)} damaged")
    return PROBLEM if damaged else DONE


def _pin(options: argparse.Namespace) -> int:
    housekeeping.pin(api.default_hub().cache, options.ref)
    return _answer(options, "pinned", pinned=True)


def _unpin(options: argparse.Namespace) -> int:
    was_pinned = housekeeping.unpin(api.default_hub().cache, options.ref)
    return _answer(options, "unpinned" if was_pinned else "was not pinned", pinned=False)


def _answer(options: argparse.Namespace, word: str, *, pinned: bool) -> int:
    print(
        json.dumps({"ref": options.ref, "pinned": pinned})
        if options.json
        else f"{options.ref} {word}"
    )
    return DONE
