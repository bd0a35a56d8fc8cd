"""The command that has the hub measure accuracy: evaluate."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hub.client import api, evaluations
from hub.terminal import DONE, PROBLEM, add_flags, interval, plain


def add_evaluate(commands: Any) -> None:
    """Add the command to the parser of `hub`."""
    evaluate = commands.add_parser(
        "evaluate",
        help="have the hub measure a model's accuracy on a data set",
        description="Have the hub run a variant on a split of a data set, and show the figures "
        "with their intervals.",
    )
    evaluate.add_argument("ref", help="a model, such as zoo/digits-cnn, or zoo/digits-cnn@1:int8")
    evaluate.add_argument(
        "--on", required=True, metavar="SPLIT", help="dataset:split, such as digits@1:test"
    )
    evaluate.add_argument(
        "--no-wait", action="store_true", help="print the job and return without waiting"
    )
    add_flags(evaluate, "quiet", "json")
    evaluate.set_defaults(command=_evaluate)


def _evaluate(options: argparse.Namespace) -> int:
    rows = evaluations.evaluate(
        api.default_hub(),
        options.ref,
        options.on,
        wait=not options.no_wait,
        progress=False if options.quiet else None,
    )
    if options.json:
        print(json.dumps(rows, indent=2))
    elif options.no_wait:
        print(f"{rows[0]['kind']} {rows[0]['state']}\n{rows[0]['url']}")
    else:
        for row in rows:
            print(plain(_line(row)))
    if not rows:
        print("hub: the evaluation gave no figure; see the page of the model", file=sys.stderr)
        return PROBLEM
    return DONE


def _line(row: dict[str, Any]) -> str:
    figure = f"{row['metric']:<9} {row['value']:.4f}  {interval(row, '.4f')}".rstrip()
    claimed = "" if row["claimed"] is None else f"  claimed {row['claimed']:.4f}"
    less = "  less than claimed" if row["less_than_claimed"] else ""
    return f"{figure}{claimed}{less}"
