"""The command `hub import zoo`, its options and what it prints."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hub import counting
from hub.client import api
from hub.client.imports.zoo import ImportStatus, Options, Outcome, import_zoo
from hub.protocol import refs
from hub.terminal import DONE, PROBLEM, add_flags, plain


def add_to(origins: Any) -> None:
    zoo = origins.add_parser(
        "zoo",
        help="import the models of an ONNX Model Zoo manifest, such as another hub's",
        description="Publish the models of an ONNX Model Zoo manifest with their test data. All "
        "opsets of a model become one version. Run the command again to resume an interrupted "
        "import; models already published are skipped.",
    )
    zoo.add_argument("manifest", help="path or URL of ONNX_HUB_MANIFEST.json")
    zoo.add_argument(
        "--files",
        metavar="PLACE",
        help="folder or URL of the files (default: beside the manifest)",
    )
    zoo.add_argument(
        "--namespace", default=refs.DEFAULT_NAMESPACE, help="target namespace (default: zoo)"
    )
    zoo.add_argument(
        "--only",
        metavar="MODEL",
        action="append",
        default=[],
        help="import only this model; repeatable",
    )
    zoo.add_argument(
        "--license", default="", metavar="SPDX", help="licence for models that do not state one"
    )
    zoo.add_argument("--private", action="store_true", help="create new models as private")
    add_flags(zoo, "quiet", "json")
    zoo.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Import, print a line for each model and what failed; return the exit code."""
    settings = Options(
        namespace=options.namespace,
        only=tuple(options.only),
        license=options.license,
        visibility="private" if options.private else "public",
        progress=not options.quiet,
    )
    outcomes = import_zoo(
        api.default_hub(),
        options.manifest,
        options.files,
        settings,
        on_outcome=_pass if options.json else _print,
    )
    failed = [
        outcome for outcome in outcomes if outcome.failures or outcome.status == ImportStatus.FAILED
    ]
    words = [outcome.status for outcome in outcomes]
    counts = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
    if options.json:
        rows = [
            {
                "ref": outcome.ref,
                "outcome": outcome.status,
                "detail": outcome.text,
                "failures": outcome.failures,
            }
            for outcome in outcomes
        ]
        print(json.dumps(rows, indent=2))
    else:
        print(f"{counting.plural(len(outcomes), 'model')}: {counts or 'none'}")
    for outcome in failed:
        for reason in outcome.failures or ["no file could be imported"]:
            print(f"hub: {plain(outcome.ref)}: {plain(reason)}", file=sys.stderr)
    return PROBLEM if failed else DONE


def _pass(_: Outcome) -> None:
    """With --json all outcomes are printed at the end."""


def _print(outcome: Outcome) -> None:
    note = f"  ({len(outcome.failures)} failed)" if outcome.failures else ""
    print(f"{plain(str(outcome))}{note}", flush=True)
