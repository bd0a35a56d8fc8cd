"""The commands of models and versions: create, edit, move, versions, refs, cards, files, access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub import counting
from hub.cli.control import output
from hub.cli.control.verbs import Noun, Verb

if TYPE_CHECKING:
    from hub.client.hub import Hub

_FILE = f'{{"path": "a.onnx", "blob": "sha256:{"0" * 63}1"}}'
_CONFORMANCE = '{"kind": "conformance", "runtimes": 2}'
_METRIC = '{"kind": "metric", "metric": "accuracy", "dataset": "digits"}'
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
ALIAS = Noun(
    "alias",
    "list, set and delete aliases, movable names of versions",
    (
        Verb(
            "list",
            "refs.list",
            "list the aliases of a model with their versions, and who moved them last, and why",
            ("hub alias list zoo/resnet50",),
            ("name=alias", "number=version", "state", "moved_at=moved", "moved_by=by", "message"),
            fixed={"kind": "alias"},
        ),
        Verb(
            "history",
            "refs.history",
            "list the moves of aliases, newest first: who moved which, when, and why",
            (
                "hub alias history zoo/resnet50 champion",
                "hub alias history zoo/resnet50 champion --at 2026-05-03",
            ),
            ("alias", "number=version", "previous=from", "at", "until", "moved_by=by", "message"),
            positional=("alias",),
            texts={"alias": "name of the alias"},
        ),
        Verb(
            "set",
            "refs.put",
            "create an alias, or move it to another version",
            ("hub alias set zoo/resnet50@3 champion --message 'Best on the new data'",),
            fixed={"kind": "alias"},
            pinned=True,
            version_parameter="version",
            names={"ref": "alias"},
            texts={
                "ref": "name of the alias",
                "message": "why, for the history of the alias",
                "allow_yanked": "let the alias name a yanked version",
                "force": "move it although its rule demands more; needs --message",
            },
        ),
        Verb(
            "delete",
            "refs.delete",
            "delete an alias",
            ("hub alias delete zoo/resnet50 champion --yes",),
            names={"ref": "alias"},
            texts={"ref": "name of the alias"},
            question="Delete the alias {ref} of {model}? References to it stop working.",
            message="Deleted the alias {ref} of {model}",
        ),
        Verb(
            "rules",
            "alias_rules.list",
            "list what aliases demand of a version before they may name it",
            ("hub alias rules zoo/resnet50",),
            ("alias", "sentences=demands", "author=by", "updated_at=set"),
        ),
        Verb(
            "set-rule",
            "alias_rules.put",
            "set what an alias demands of a version before it may name it",
            (
                f"hub alias set-rule zoo/resnet50 champion --condition '{_CONFORMANCE}'",
                f"hub alias set-rule zoo/resnet50 champion --condition '{_METRIC}'",
            ),
            names={"ref": "alias", "conditions": "condition"},
            texts={
                "ref": "name of the alias",
                "conditions": "JSON object with the kind and values of a condition; repeatable",
            },
        ),
        Verb(
            "delete-rule",
            "alias_rules.delete",
            "delete the rule of an alias, which may then name any published version",
            ("hub alias delete-rule zoo/resnet50 champion --yes",),
            names={"ref": "alias"},
            texts={"ref": "name of the alias"},
            question="Delete the rule of {ref}? It may then name any published version of {model}.",
            message="Deleted the rule of {ref} of {model}",
        ),
    ),
)
TAG = Noun(
    "tag",
    "list, set and delete tags, permanent names of versions",
    (
        Verb(
            "list",
            "refs.list",
            "list the tags of a model with their versions",
            ("hub tag list zoo/resnet50",),
            ("name=tag", "number=version", "state"),
            fixed={"kind": "tag"},
        ),
        Verb(
            "set",
            "refs.put",
            "create a tag",
            ("hub tag set zoo/resnet50@3 1.4.0",),
            pinned=True,
            version_parameter="version",
            fixed={"kind": "tag", "message": None, "allow_yanked": None, "force": None},
            names={"ref": "tag"},
            texts={"ref": "name of the tag"},
        ),
        Verb(
            "delete",
            "refs.delete",
            "delete a tag",
            ("hub tag delete zoo/resnet50 1.4.0 --yes",),
            names={"ref": "tag"},
            texts={"ref": "name of the tag"},
            question="Delete the tag {ref} of {model}? References to it stop working.",
            message="Deleted the tag {ref} of {model}",
        ),
    ),
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

FILES = Noun(
    "files",
    "download single files; change the files of a draft",
    (
        Verb(
            "get",
            "files.read",
            "download one file of a version",
            ("hub files get zoo/resnet50@3 README.md --to card.md",),
            names={"to": "to"},
        ),
        Verb(
            "get-blob",
            "files.read_blob",
            "download a file by its SHA-256",
            (f"hub files get-blob sha256:{'0' * 63}1 --to model.onnx",),
        ),
        Verb(
            "put",
            "files.put",
            "set a file of a draft to an uploaded blob",
            (f"hub files put zoo/resnet50@4 model.onnx --blob sha256:{'0' * 63}1",),
            pinned=True,
            texts={"blob": "sha256:<hex> of the uploaded file"},
        ),
        Verb(
            "put-all",
            "files.put_all",
            "set several files of a draft, all or none",
            (f"hub files put-all zoo/resnet50@4 --file '{_FILE}'",),
            pinned=True,
            names={"files": "file"},
            texts={
                "files": "JSON object with path and blob, or small content in base64; repeatable"
            },
        ),
        Verb(
            "delete",
            "files.delete",
            "remove a file from a draft",
            ("hub files delete zoo/resnet50@4 notes.txt --yes",),
            pinned=True,
            question="Remove {path} from the draft {model}@{number}?",
            message="Removed {path} from {model}@{number}",
        ),
    ),
)

CARD = Noun(
    "card",
    "show, check and write model cards",
    (
        Verb(
            "show",
            "cards.read",
            "print the card of a version",
            ("hub card show zoo/resnet50@3",),
        ),
        Verb(
            "check",
            "cards.check",
            "check a card without storing it",
            ("hub card check README.md",),
            positional=("content",),
            names={"content": "file"},
        ),
        Verb(
            "put",
            "cards.put",
            "write the card of a draft",
            ("hub card put zoo/resnet50@4 README.md",),
            pinned=True,
            positional=("content",),
            names={"content": "file"},
        ),
        Verb(
            "import",
            "cards.import_file",
            "fill a draft's card from emissions, evaluations or a citation",
            ("hub card import zoo/resnet50@4 emissions.csv --filename emissions.csv --apply",),
            pinned=True,
            positional=("content",),
            names={"content": "file"},
        ),
        Verb(
            "refused",
            "refused_cards.list",
            "list the cards that were refused because of errors",
            ("hub card refused zoo/resnet50",),
            show=lambda answer: output.table(
                answer.items,
                ("id", "sent_at=sent", "author", "number=version", "detail"),
                "no refused cards",
            ),
        ),
        Verb(
            "show-refused",
            "refused_cards.read",
            "show a refused card with its findings",
            ("hub card show-refused zoo/resnet50 7",),
            names={"card_id": "id"},
        ),
        Verb(
            "delete-refused",
            "refused_cards.delete",
            "delete a refused card",
            ("hub card delete-refused zoo/resnet50 7 --yes",),
            names={"card_id": "id"},
            question="Delete the refused card {card_id} of {model}? This cannot be undone.",
            message="Deleted the refused card {card_id}",
        ),
    ),
)

NAMES = Noun(
    "names",
    "confirm which entries the names in a card refer to",
    (
        Verb(
            "list",
            "names.list",
            "list the data sets and base models that the cards of a model name",
            ("hub names list zoo/resnet50",),
        ),
        Verb(
            "confirm",
            "names.confirm",
            "confirm which entry a name refers to",
            ("hub names confirm zoo/resnet50 --kind dataset --name MNIST --target mnist",),
            texts={"name": "the name, as the card writes it"},
        ),
        Verb(
            "withdraw",
            "names.withdraw",
            "remove a confirmation",
            ("hub names withdraw zoo/resnet50 --kind dataset --name MNIST",),
            texts={"name": "the name, as the card writes it"},
            message="Removed the confirmation of {name}",
        ),
    ),
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
