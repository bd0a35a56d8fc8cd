"""The commands of mirrors: what a namespace takes from other servers, and folders between them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hub.cli.control import output
from hub.cli.control.verbs import Noun, Task, Verb
from hub.client import api, folders
from hub.protocol import problems, refs
from hub.terminal import DONE, PROBLEM, plain

if TYPE_CHECKING:
    from hub.client.rest.mirrors import MirrorDetail

_COLUMNS = (
    "id",
    "source",
    "into",
    "synced_at=synced",
    "next_at=next",
    "is_paused=paused",
    "error",
)
_NAMES = {"mirror_id": "id"}


def _show(mirror: MirrorDetail) -> None:
    for title, value in (
        ("id", mirror.id),
        ("source", mirror.source),
        ("into", mirror.into),
        ("pull-through", "yes" if mirror.pull_through else "no"),
        ("synced", mirror.synced_at or "not yet"),
        ("next", "paused" if mirror.is_paused else mirror.next_at),
        ("now", mirror.step or "idle"),
        ("error", mirror.error or "none"),
    ):
        print(f"{title:<13} {plain(str(value))}")
    if mirror.models:
        print()
        columns = ("source_ref=source", "ref=model", "synced_at=synced", "problem")
        output.table(mirror.models, columns, "")
    if mirror.problems:
        print()
        output.table(mirror.problems, ("ref=version", "state", "problem"), "")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", help="a model, such as zoo/resnet50, or a namespace")
    parser.add_argument("folder", type=Path, help="folder to write to; made if it is missing")
    parser.add_argument("--search", help="export the results of a search instead")
    parser.add_argument("--quiet", action="store_true", help="hide progress output")


def _export(options: argparse.Namespace) -> int:
    hub = api.default_hub()
    if bool(options.what) == bool(options.search):
        raise problems.InvalidRequest(
            "Name a model or a namespace, or use --search: hub mirror export zoo/resnet50 FOLDER."
        )
    if options.search or "/" not in options.what:
        space = [refs.check_name(options.what)] if options.what else None
        names = [model.ref for model in hub.models.list(q=options.search, namespace=space)]
    else:
        names = [refs.parse(options.what).name]
    if not names:
        raise problems.NotFound("No model matches. Check the name; private ones need a token.")
    holdings = folders.export_models(hub, options.folder, names, progress=not options.quiet)
    if options.json:
        output.as_json(
            [{"ref": holding.model.ref, "versions": len(holding.versions)} for holding in holdings]
        )
    else:
        for holding in holdings:
            count = len(holding.versions)
            print(f"{plain(holding.model.ref)}  {count} version{'' if count == 1 else 's'}")
    return DONE


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="folder that hub mirror export wrote")
    parser.add_argument("--into", default="", help="target namespace (default: the same name)")
    parser.add_argument("--quiet", action="store_true", help="hide progress output")


def _import(options: argparse.Namespace) -> int:
    """Import every model; 1 where a version conflicts or was refused, and its reason."""
    hub = api.default_hub()
    results = [
        result
        for holding in folders.holdings(options.folder)
        for result in folders.FolderImport(
            hub, options.folder, holding, options.into, progress=not options.quiet
        ).run()
    ]
    if options.json:
        output.as_json(results)
    else:
        output.table(results, ("ref=version", "state", "problem"), "no versions")
    return PROBLEM if any(result.problem for result in results) else DONE


MIRROR = Noun(
    "mirror",
    "mirror models of other servers; export and import folders of models",
    (
        Verb(
            "add",
            "mirrors.create",
            "mirror a model, a namespace or a search into a namespace",
            (
                "hub mirror add https://hub.example.org/zoo/resnet50 --into zoo",
                "hub mirror add https://hub.example.org/zoo --into zoo --interval-seconds 86400",
                "hub mirror add https://huggingface.co/acme --into acme --pull-through",
            ),
            positional=("source",),
            show=_show,
        ),
        Verb(
            "list",
            "mirrors.list",
            "list the mirrors of your namespaces",
            ("hub mirror list",),
            columns=_COLUMNS,
        ),
        Verb(
            "show",
            "mirrors.read",
            "show a mirror with its models, progress and problems",
            ("hub mirror show 3",),
            names=_NAMES,
            show=_show,
        ),
        Verb(
            "sync",
            "mirrors.sync",
            "start a synchronisation now",
            ("hub mirror sync 3",),
            names=_NAMES,
            show=_show,
        ),
        Verb(
            "edit",
            "mirrors.edit",
            "change the interval, the visibility of new models or the token",
            ("hub mirror edit 3 --interval-seconds 86400",),
            names=_NAMES,
            fixed={"is_paused": None},
            show=_show,
        ),
        Verb(
            "pause",
            "mirrors.edit",
            "stop synchronisations until you resume them",
            ("hub mirror pause 3",),
            names=_NAMES,
            show=_show,
            fixed={"is_paused": True, "token": None, "visibility": None, "interval_seconds": None},
        ),
        Verb(
            "resume",
            "mirrors.edit",
            "resume a paused mirror",
            ("hub mirror resume 3",),
            names=_NAMES,
            show=_show,
            fixed={"is_paused": False, "token": None, "visibility": None, "interval_seconds": None},
        ),
        Verb(
            "remove",
            "mirrors.remove",
            "stop mirroring; models and versions stay",
            ("hub mirror remove 3 --yes",),
            names=_NAMES,
            question="Remove the mirror {mirror_id}? Its models and versions stay.",
            message="Removed the mirror {mirror_id}",
        ),
        Task(
            "export",
            "write models with their history and evidence into a folder",
            ("hub mirror export zoo/resnet50 /media/disk", "hub mirror export zoo /media/disk"),
            _export_arguments,
            _export,
        ),
        Task(
            "import",
            "store the models of an exported folder; files that are there are skipped",
            ("hub mirror import /media/disk", "hub mirror import /media/disk --into zoo"),
            _import_arguments,
            _import,
        ),
    ),
)
