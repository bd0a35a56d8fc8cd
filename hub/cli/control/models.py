"""The commands of models: create, edit, move, delete, share, like, watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub import counting
from hub.cli.control.verbs import Noun, Verb
from hub.client.hub import Hub


def _what_a_model_loses(hub: Hub, values: Mapping[str, Any]) -> str:
    model = values["model"]
    count = sum(1 for _ in hub.versions.list(model))
    versions = counting.plural(count, "version")
    return (
        f"Delete {model} with {versions}, its cards, files and results? If it was published, the "
        "name can never be used again. With a token of scope admin this cannot be undone; else an "
        "owner can restore it for some days: hub deletions."
    )


DELETE = Verb(
    "delete",
    "models.delete",
    "delete a model with all of its versions",
    ("hub delete zoo/resnet50 --yes",),
    question=_what_a_model_loses,
    message="Deleted {model}",
)

_DELETED_NAMES = {"slug": "namespace", "model_id": "id"}

_DELETED_TEXTS = {"model_id": "id of the deleted model, as `hub deletions list` shows it"}

DELETIONS = Noun(
    "deletions",
    "restore models that a token without the scope admin deleted; for owners",
    (
        Verb(
            "list",
            "deleted_models.list",
            "list the deleted models of a namespace that can be restored",
            ("hub deletions list acme",),
            columns=("id", "model", "deleted_at=deleted", "restorable_until=until"),
            names=_DELETED_NAMES,
        ),
        Verb(
            "restore",
            "deleted_models.restore",
            "restore a deleted model with its name, files and discussions",
            ("hub deletions restore acme 7",),
            names=_DELETED_NAMES,
            texts=_DELETED_TEXTS,
        ),
        Verb(
            "erase",
            "deleted_models.erase",
            "delete a deleted model permanently, before its time is up",
            ("hub deletions erase acme 7 --yes",),
            names=_DELETED_NAMES,
            texts=_DELETED_TEXTS,
            question="Delete the model {model_id} of {slug} permanently? This cannot be undone.",
            message="Deleted the model {model_id} of {slug} permanently",
        ),
    ),
)

MOVE = Verb(
    "move",
    "models.move",
    "rename a model, or move it to another namespace; the old name redirects",
    (
        "hub move zoo/resnet50 --name resnet50-v2",
        "hub move ada/resnet50 --namespace acme --name resnet50",
    ),
    texts={"name": "new name", "namespace": "new namespace"},
)

VISIBILITY = Verb(
    "visibility",
    "models.edit",
    "make a model public or private",
    ("hub visibility zoo/resnet50 private",),
    positional=("visibility",),
    fixed=dict.fromkeys(("gate", "summary", "license", "task", "keywords")),
)

EDIT = Verb(
    "edit",
    "models.edit",
    "change the description, visibility or gate of a model",
    (
        "hub edit zoo/resnet50 --summary 'Image classification' --keywords vision",
        "hub edit zoo/resnet50 --gate manual",
    ),
)

CREATE = Verb(
    "create",
    "models.create",
    "create a model without versions",
    ("hub create zoo/resnet50 --visibility private",),
    creates="model",
)

LIKE = Verb("like", "likes.put", "like a model", ("hub like zoo/resnet50",))

UNLIKE = Verb(
    "unlike",
    "likes.delete",
    "remove your like of a model",
    ("hub unlike zoo/resnet50",),
    message="Removed your like of {model}",
)

LIKES = Verb("likes", "likes.read", "show the likes of a model", ("hub likes zoo/resnet50",))

WATCH = Verb(
    "watch",
    "watches.put",
    "watch a model: see its new versions and evidence on your page",
    ("hub watch zoo/resnet50",),
    message="Watching {model}",
)

UNWATCH = Verb(
    "unwatch",
    "watches.delete",
    "stop watching a model",
    ("hub unwatch zoo/resnet50",),
    message="No longer watching {model}",
)

WATCHING = Verb(
    "watching",
    "watches.list",
    "list the models that you watch",
    ("hub watching",),
    ("model", "created_at=since"),
)

DIGEST = Noun(
    "digest",
    "news of the models that you watch, by mail",
    (
        Verb("show", "watches.digest", "show how often it comes", ("hub digest show",)),
        Verb(
            "set",
            "watches.set_digest",
            "choose how often it comes: daily, weekly or never",
            ("hub digest set weekly",),
            positional=("interval",),
        ),
    ),
)

ACCESS = Noun(
    "access",
    "request, grant and revoke access to gated and private models",
    (
        Verb(
            "show",
            "access.read",
            "show whether you can download the files of a model",
            ("hub access show acme/private-llm",),
        ),
        Verb(
            "request",
            "access.ask",
            "request access to the files of a gated model",
            ("hub access request acme/private-llm --message 'For evaluation'",),
            texts={"message": "message to the owner"},
        ),
        Verb(
            "withdraw",
            "access.withdraw",
            "withdraw your request and the access granted by it",
            ("hub access withdraw acme/private-llm --yes",),
            question="Withdraw your access to {model}? You must request it again to download its "
            "files.",
            message="Withdrew your request for {model}",
        ),
        Verb(
            "list",
            "access_requests.list",
            "list access requests, newest first; for maintainers",
            ("hub access list acme/private-llm --status pending",),
            columns=(
                "user",
                "status",
                "covers_private=private",
                "asked_at=requested",
                "decided_by",
                "message",
            ),
        ),
        Verb(
            "grant",
            "access_requests.decide",
            "grant a user access to a gated or private model, requested or not; for maintainers",
            ("hub access grant acme/private-llm ada",),
            fixed={"status": "accepted", "reason": None},
            names={"username": "user"},
        ),
        Verb(
            "revoke",
            "access_requests.decide",
            "reject a request, or revoke access; for maintainers",
            ("hub access revoke acme/private-llm ada --reason 'Project ended' --yes",),
            fixed={"status": "rejected"},
            names={"username": "user"},
            question="Revoke the access of {username} to {model}?",
        ),
    ),
)
