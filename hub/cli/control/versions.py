"""The commands of versions: list, publish, deprecate, yank, restore, withdraw."""

from __future__ import annotations

from typing import Any

from hub.cli.control.verbs import Noun, Verb
from hub.client.hub import Hub

_VERSION_COLUMNS = (
    "number=version",
    "state",
    "branch",
    "aliases",
    "tags",
    "label",
    "created_by=by",
    "published_at=published",
    "message",
)

VERSIONS = Noun(
    "versions",
    "list and show versions; open, publish and delete drafts",
    (
        Verb(
            "list",
            "versions.list",
            "list the versions of a model, newest first",
            ("hub versions list zoo/resnet50", "hub versions list zoo/resnet50 --json"),
            columns=_VERSION_COLUMNS,
        ),
        Verb(
            "show",
            "versions.read",
            "show a version with its files, variants, checks and jobs",
            ("hub versions show zoo/resnet50@3",),
        ),
        Verb(
            "resolve",
            "versions.resolve",
            "show the version and variant that a reference means",
            ("hub versions resolve zoo/resnet50@champion:int8",),
            positional=("ref",),
            texts={"ref": "a reference, such as zoo/resnet50@champion:int8"},
        ),
        Verb(
            "downloads",
            "models.downloads",
            "list the downloads of ONNX files by week and version, newest first",
            ("hub versions downloads zoo/resnet50",),
            columns=("week", "version", "downloads"),
        ),
        Verb(
            "create",
            "versions.create",
            "open a draft under the next number; hub push does it for you",
            ("hub versions create zoo/resnet50 --message 'Retrained'",),
        ),
        Verb(
            "submit",
            "versions.submit",
            "freeze a draft and start its checks",
            (
                "hub versions submit zoo/resnet50@4",
                "hub versions submit zoo/resnet50@4 --no-publish",
            ),
            pinned=True,
            texts={"publish": "publish the version when its checks pass"},
        ),
        Verb(
            "publish",
            "versions.publish",
            "publish a version whose checks have passed",
            ("hub versions publish zoo/resnet50@4",),
            pinned=True,
        ),
        Verb(
            "delete",
            "versions.delete",
            "delete a draft",
            ("hub versions delete zoo/resnet50@4 --yes",),
            pinned=True,
            question="Delete the draft {model}@{number} with its files and card? This cannot be "
            "undone.",
            message="Deleted the draft {model}@{number}",
        ),
        Verb(
            "dependents",
            "versions.dependents",
            "list what depends on a version, which a yank or withdrawal would break",
            ("hub versions dependents zoo/resnet50@3",),
            ("kind", "name"),
            pinned=True,
        ),
        Verb(
            "shapes",
            "versions.shape_report",
            "show the MLDCAT-AP validation of a version's metadata",
            ("hub versions shapes zoo/resnet50@3",),
        ),
        Verb(
            "costs",
            "versions.costs",
            "show operations, memory and bytes of a run",
            (
                "hub versions costs zoo/resnet50",
                "hub versions costs zoo/bert@2 --size sequence:256",
            ),
        ),
    ),
)

_STATE = ("ref", "state", "reason", "url")

_DEPRECATED = ("ref", "deprecation.message=message", "deprecation.successor=successor", "url")


def _yank(hub: Hub, values: dict[str, Any]) -> str:
    names = _breaks(hub, values)
    return f"{names}Yank {values['model']}@{values['number']} all the same?" if names else ""


def _withdrawal(hub: Hub, values: dict[str, Any]) -> str:
    return (
        f"{_breaks(hub, values)}Withdraw {values['model']}@{values['number']}? Its files are "
        "deleted permanently; page, number and digests remain. This cannot be undone."
    )


def _breaks(hub: Hub, values: dict[str, Any]) -> str:
    """What depends on the version, a line each; the request then says that it may break."""
    model, number = values["model"], values["number"]
    dependents = hub.versions.dependents(model, number)
    if not dependents:
        return ""
    values["breaks_dependents"] = True
    lines = [f"  {dependent.kind} {dependent.name}\n" for dependent in dependents]
    return f"These depend on {model}@{number}:\n{''.join(lines)}"


YANK = Verb(
    "yank",
    "versions.yank",
    "remove a version from lists; its exact number still resolves, with a warning",
    ("hub yank zoo/resnet50@3 --reason 'Wrong labels' --yes",),
    _STATE,
    pinned=True,
    fixed={"breaks_dependents": None},
    question=_yank,
)

RESTORE = Verb(
    "restore",
    "versions.restore",
    "undo a yank",
    ("hub restore zoo/resnet50@3",),
    _STATE,
    pinned=True,
)

DEPRECATE = Verb(
    "deprecate",
    "versions.deprecate",
    "deprecate a model or version; it still resolves, with a warning",
    (
        "hub deprecate zoo/resnet50@3 --message 'Wrong labels' --successor zoo/resnet50@4",
        "hub deprecate zoo/resnet50 --message 'No longer maintained' --successor zoo/resnet101",
    ),
    _DEPRECATED,
    model_operation="models.deprecate",
    texts={"message": "the reason, which is shown to users"},
)

UNDEPRECATE = Verb(
    "undeprecate",
    "versions.undeprecate",
    "undo the deprecation of a model or version",
    ("hub undeprecate zoo/resnet50@3",),
    _DEPRECATED,
    model_operation="models.undeprecate",
)

WITHDRAW = Verb(
    "withdraw",
    "versions.withdraw",
    "delete the files of a version; page and digests remain",
    ("hub withdraw zoo/resnet50@3 --reason 'Licence revoked' --yes",),
    _STATE,
    pinned=True,
    fixed={"breaks_dependents": None},
    question=_withdrawal,
)
