"""The commands of data sets: push, get, show, ls, and those of one operation each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from hub.cli.control import datasets as operations
from hub.client import api
from hub.terminal import DONE, add_flags, plain, positive, size


def add_to(commands: Any) -> None:
    """Add `hub dataset` with its commands."""
    dataset = commands.add_parser("dataset", help="publish, download and show data sets")
    verbs = dataset.add_subparsers(metavar="command", required=True)
    _add_push(verbs)
    get = verbs.add_parser("get", help="download the files of a version into a folder")
    get.add_argument("name", help="a data set, such as digits or digits@1")
    get.add_argument(
        "--to", metavar="FOLDER", help="the folder (default: one with the name of the data set)"
    )
    add_flags(get, "quiet", "json")
    get.set_defaults(command=_get)
    show = verbs.add_parser("show", help="show a data set and one of its versions")
    show.add_argument("name", help="a data set, such as digits or digits@1")
    add_flags(show, "json")
    show.set_defaults(command=_show)
    for verb in operations.VERBS:
        verb.add_to(verbs)
    listing = verbs.add_parser("list", aliases=["ls"], help="list data sets")
    listing.add_argument("query", nargs="*", help="words to search for; without any, list all")
    listing.add_argument(
        "--limit", type=positive, default=100, help="maximum number of results (default: 100)"
    )
    add_flags(listing, "json")
    listing.set_defaults(command=_list)


def _add_push(verbs: Any) -> None:
    push = verbs.add_parser(
        "push",
        help="publish a file or a folder as the next version of a data set",
        description="Upload a file or a folder and publish it as the next version of a data set. "
        "Data sets are public.",
    )
    push.add_argument("name", help="the name of the data set, such as digits")
    push.add_argument("path", help="a file or a folder, which is sent without its own name")
    push.add_argument(
        "--splits",
        metavar="FILE",
        help="YAML or JSON file that describes the splits (default: splits.yaml or splits.json in "
        "the folder)",
    )
    push.add_argument("--message", "-m", default="", help="describe what this version changes")
    push.add_argument("--namespace", help="create the entry in this namespace if it does not exist")
    push.add_argument(
        "--follow-links",
        action="store_true",
        help="follow symbolic links that lead out of the folder",
    )
    add_flags(push, "quiet", "json")
    push.set_defaults(command=_push)


def _push(options: argparse.Namespace) -> int:
    version = api.push_dataset(
        options.name,
        options.path,
        splits=options.splits,
        message=options.message,
        namespace=options.namespace,
        follow_links=options.follow_links,
        progress=False if options.quiet else None,
    )
    if options.json:
        print(json.dumps(version, indent=2))
        return DONE
    print(f"{options.name}@{version['number']} {plain(str(version['sha256']))}")
    return DONE


def _get(options: argparse.Namespace) -> int:
    folder = options.to or options.name.partition("@")[0]
    path = api.download_dataset(options.name, folder, progress=False if options.quiet else None)
    row = {"name": options.name, "folder": str(path)}
    print(json.dumps(row, indent=2) if options.json else path)
    return DONE


def _show(options: argparse.Namespace) -> int:
    entry = api.dataset(options.name)
    if options.json:
        print(json.dumps(entry, indent=2))
        return DONE
    for name, text in _lines(entry):
        if text:
            print(f"{name:<13} {plain(str(text))}")
    return DONE


def _lines(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    version = entry["version"] or {}
    yield "data set", entry["slug"]
    yield "title", entry["title"]
    yield "namespace", entry["namespace"]
    yield "license", entry["license"]
    yield "iri", entry["iri"]
    yield "personal data", entry["personal_data"]
    yield "withdrawn", entry["reason"] if entry["withdrawn_at"] else ""
    yield "versions", ", ".join(str(row["number"]) for row in entry["versions"])
    yield "version", version.get("number") or "no version"
    yield "message", version.get("message")
    yield "digest", version.get("sha256")
    yield "published", version.get("created_at")
    for split in version.get("splits") or []:
        yield "split", _split(split)
    for file in version.get("files") or []:
        yield "file", f"{file['path']}  {size(file['size'])}"
    yield "page", entry["url"]


def _split(split: dict[str, Any]) -> str:
    inputs = ", ".join(str(port["name"]) for port in split["inputs"])
    target = split["target"]["column"] or "the folder's name"
    labels = len(split["target"]["labels"])
    classes = f" ({labels} labels)" if labels else ""
    return (
        f"{split['name']}: {split['task']} by {split['reader']}, inputs {inputs}, "
        f"target {target}{classes}"
    )


def _list(options: argparse.Namespace) -> int:
    rows = list(api.list_datasets(" ".join(options.query) or None, limit=options.limit))
    if options.json:
        print(json.dumps(rows, indent=2))
        return DONE
    width = max((len(row["slug"]) for row in rows), default=0)
    for row in rows:
        print(
            f"{plain(row['slug']):<{width}}  {plain(row['license'] or 'not declared'):<14}  "
            f"{plain(row['title'])}"
        )
    if not rows:
        print("hub: no data sets found", file=sys.stderr)
    return DONE
