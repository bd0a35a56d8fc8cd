"""The commands that are no single operation of the API: logout, diff, query."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from hub import counting
from hub.cli.control import output
from hub.cli.control.verbs import Task
from hub.client import api, differences, queries, sessions
from hub.protocol import problems
from hub.terminal import DONE, plain

_FORMATS = {"json": queries.JSON, "csv": queries.CSV, "tsv": queries.TSV, "turtle": queries.TURTLE}


def _logout_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help="URL of the hub (default: the one that you use)")


def _logout(options: argparse.Namespace) -> int:
    removed = sessions.logout(options.url)
    if options.json:
        print(json.dumps({"removed": removed}))
    elif removed:
        print("signed out; the token stays valid until you revoke it with hub token revoke")
    else:
        print("hub: no token is stored for this hub", file=sys.stderr)
    return DONE


def _diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", help="a version, such as zoo/resnet50@1")
    parser.add_argument("after", help="another version, such as zoo/resnet50@2, or @2 of the model")


def _diff(options: argparse.Namespace) -> int:
    after = options.after
    if after.startswith("@"):
        after = options.before.partition("@")[0] + after
    difference = differences.diff(api.default_hub(), options.before, after)
    if options.json:
        print(json.dumps(asdict(difference), indent=2))
        return DONE
    if not difference:
        print(
            f"hub: {difference.before} and {difference.after} have the same files and card",
            file=sys.stderr,
        )
        return DONE
    for file in difference.files:
        sizes = [counting.size(size) for size in (file.before, file.after) if size is not None]
        print(f"{file.change:<8} {plain(file.path)}  {' -> '.join(sizes)}")
    for variant in difference.variants:
        before, after = (
            "pending" if ref in variant.pending else output.text(value, variant.fact)
            for ref, value in (
                (difference.before, variant.before),
                (difference.after, variant.after),
            )
        )
        print(f"{'variant':<8} {plain(variant.variant)}  {variant.fact} {before} -> {after}")
    if difference.card:
        print(plain(f"\n{difference.card}", keep="\n"))
    return DONE


def _query_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", type=query_text, help="SPARQL query, the name of a file with one, or -"
    )
    parser.add_argument(
        "--format",
        choices=["table", *_FORMATS],
        default="table",
        help="format of the result (default: table)",
    )


def _query(options: argparse.Namespace) -> int:
    text = options.query
    name = "json" if options.json else options.format
    if name in _FORMATS:
        _, body = queries.send(api.default_hub(), text, _FORMATS[name])
        output.raw(body.decode("utf-8"))
        return DONE
    answer = queries.query(api.default_hub(), text)
    if isinstance(answer, queries.Solutions):
        _print_solutions(answer)
    else:
        output.raw(output.text(answer) if isinstance(answer, bool) else answer)
    return DONE


def query_text(query: str) -> str:
    """A query as given, or out of a file or standard input; raises InvalidRequest."""
    if query == "-":
        return sys.stdin.read()
    # A query has spaces or braces; what has neither is the name of a file.
    if "{" not in query:
        try:
            return Path(query).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise problems.InvalidRequest(
                f"{query!r} is no query and no readable file ({error})."
            ) from error
    return query


def _print_solutions(answer: queries.Solutions) -> None:
    lines = [
        [
            output.text(str(row[name])) if name in row else output.NOTHING
            for name in answer.variables
        ]
        for row in answer.rows
    ]
    output.aligned([list(answer.variables), *lines])
    if not lines:
        print("hub: no results", file=sys.stderr)


LOGOUT = Task(
    "logout", "remove the stored token of a hub", ("hub logout",), _logout_arguments, _logout
)
DIFF = Task(
    "diff",
    "compare the files, variants and cards of two versions",
    ("hub diff zoo/resnet50@1 @2", "hub diff zoo/resnet50@2 acme/resnet50@1 --json"),
    _diff_arguments,
    _diff,
)
QUERY = Task(
    "query",
    "ask the public graphs a SPARQL query",
    (
        "hub query 'SELECT ?model { ?model a <http://www.w3.org/ns/dcat#Dataset> } LIMIT 5'",
        "hub query --format csv query.rq",
    ),
    _query_arguments,
    _query,
)
