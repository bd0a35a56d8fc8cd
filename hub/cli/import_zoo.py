"""The command `hub import zoo`, its options and what it prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hub.client import api
from hub.client.imports.zoo import FAILED, Outcome, Wishes, import_zoo
from hub.protocol import refs
from hub.terminal import DONE, PROBLEM, plain

if TYPE_CHECKING:
    import argparse


def add_to(origins: Any) -> None:
    """Add the command to the parser of `hub import`."""
    zoo = origins.add_parser(
        "zoo",
        help="models of a Model Zoo manifest, such as another hub's",
        description="Publish the models of a Model Zoo manifest with their test data. All opsets "
        "of a model become one version. Run it again after a cut: what is there is passed over.",
    )
    zoo.add_argument("manifest", help="ONNX_HUB_MANIFEST.json: a path, or an address")
    zoo.add_argument(
        "--files",
        metavar="PLACE",
        help="folder or address of the files (where the manifest lies, if nothing is said)",
    )
    zoo.add_argument("--namespace", default=refs.DEFAULT_NAMESPACE, help="where to (zoo)")
    zoo.add_argument(
        "--only", metavar="MODEL", action="append", default=[], help="this model; may be repeated"
    )
    zoo.add_argument(
        "--license", default="", metavar="SPDX", help="licence of models that name none themselves"
    )
    zoo.add_argument("--private", action="store_true", help="make new models private")
    zoo.add_argument("--quiet", action="store_true", help="no progress bars")
    zoo.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Import, print a line for each model and what failed; return the exit code."""
    wishes = Wishes(
        namespace=options.namespace,
        only=tuple(options.only),
        license=options.license,
        visibility="private" if options.private else "public",
        progress=not options.quiet,
    )
    outcomes = import_zoo(api.default_hub(), options.manifest, options.files, wishes, tell=_print)
    failed = [outcome for outcome in outcomes if outcome.failures or outcome.word == FAILED]
    words = [outcome.word for outcome in outcomes]
    counts = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
    print(f"{len(outcomes)} models: {counts or 'none'}")
    for outcome in failed:
        for reason in outcome.failures or ["nothing of it could be imported"]:
            print(f"hub: {plain(outcome.ref)}: {plain(reason)}", file=sys.stderr)
    return PROBLEM if failed else DONE


def _print(outcome: Outcome) -> None:
    note = f"  ({len(outcome.failures)} failed)" if outcome.failures else ""
    print(f"{plain(str(outcome))}{note}", flush=True)
