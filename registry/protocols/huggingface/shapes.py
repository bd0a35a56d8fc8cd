"""A model as the protocol shows it, in one shape for its own address and for lists.

Keys inside nested objects are exactly the documented ones: an unknown one has broken clients.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac

from hub.protocol.cards import Card
from registry.cards import licences, result_files
from registry.catalogue import tags
from registry.models import Check, CommitFile, File, RegisteredModel, Version
from registry.protocols.huggingface.revisions import Revision
from registry.storage.files import store
from registry.versions import git_names, implied_terms
from registry.versions.deprecations import Notice

Entry = File | CommitFile

CONFIG_PATH = "config.json"
CONFIG_LIMIT_BYTES = 1_000_000
CONFIG_KEYS = ("architectures", "model_type")


def moment(at: datetime) -> str:
    """A time in UTC; clients read nothing but a `Z` at its end."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def opaque_id(row_id: int, kind: str = "") -> str:
    """An id that says nothing, not even how many models (or rows of a kind) there are."""
    return salted_hmac("registry.api.huggingface", f"{kind}{row_id}").hexdigest()[:24]


def tags_of(
    keywords: Iterable[Any], license_: str, task: str, card: Card, *, has_onnx: bool
) -> list[str]:
    """The flat list that `filter` is compared with."""
    words = [str(word) for word in keywords]
    for word in tags.of_card(card):
        prefix, _, value = word.partition(":")
        words.append(value if prefix in tags.BARE else word)
    if has_onnx:
        words.append("onnx")
    if task:
        words.append(task)
    names = licences.named(*card.licenses) or licences.named(license_)
    words += [f"license:{name.lower()}" for name in names]
    return list(dict.fromkeys(words))


def model_info(at: Revision, *, blobs: bool, security: bool) -> dict[str, Any]:
    """A model at a commit, with its files."""
    model, version = at.model, at.version
    files = list(at.files())
    front = at.front
    card = Card.read(front)
    task, keywords = model.task, model.keywords
    if version is not None and version.state not in version.VISIBLE:
        # What only its writers see says of itself what its card says.
        task, keywords = card.task or task, list(card.keywords) or keywords
    info = {
        "_id": opaque_id(model.pk),
        "id": model.ref,
        "modelId": model.ref,
        "author": model.namespace.slug,
        "sha": at.commit_id,
        "lastModified": moment(at.at),
        "createdAt": moment(model.created_at),
        "private": model.visibility == "private",
        "gated": gated(model.gate),
        "disabled": False,
        "downloads": model.downloads,
        "downloadsAllTime": model.downloads,
        "likes": 0,
        "tags": tags_of(
            keywords,
            model.license,
            task,
            card,
            has_onnx=any(file.path.lower().endswith(".onnx") for file in files),
        ),
        **described(task, card, version),
        "cardData": result_files.without_files(front),
        "siblings": [sibling(file, blobs=blobs) for file in files],
        "spaces": [],
        "xetEnabled": False,
    }
    if config := config_of(files):
        info["config"] = config
    if front.get("model-index"):
        info["model-index"] = front["model-index"]
    if security:
        info["securityRepoStatus"] = security_of(version)
    return info


def deprecated(front: dict[str, Any], ref: str, notices: Sequence[Notice]) -> dict[str, Any]:
    """The front matter of a card with the deprecations of its version and of its model, `ref`.

    `new_version` is the protocol's word for the model that replaces another.
    """
    words = {"deprecated": " ".join(notice.sentence for notice in notices)}
    models = {notice.successor.partition("@")[0] for notice in notices} - {"", ref}
    return front | words | ({"new_version": min(models)} if models else {})


def gated(gate: str) -> str | bool:
    """How the protocol gives access to the files: `auto`, `manual`, or false for everyone."""
    return False if gate == RegisteredModel.Gate.OPEN else gate


def described(task: str, card: Card, version: Version | None = None) -> dict[str, str]:
    """Task and library, as declared or else implied by the files of a version.

    Clients go by them to choose a loader.
    """
    library = card.library
    if version is not None and not (task and library):
        implied = implied_terms.of(version)
        task, library = task or implied[0], library or implied[1]
    words = {"pipeline_tag": task, "library_name": library}
    return {name: value for name, value in words.items() if value}


def sibling(file: Entry, *, blobs: bool) -> dict[str, Any]:
    """A file in a model's own list; here the key of an LFS object's digest is `sha256`."""
    entry: dict[str, Any] = {"rfilename": file.path}
    if blobs:
        entry |= {"size": file.blob.size, "blobId": file.git_oid}
        if file.lfs:
            entry["lfs"] = lfs_of(file, "sha256")
    return entry


def lfs_of(file: Entry, key: str) -> dict[str, Any]:
    """What is said of an LFS object; its digest is under ``key``."""
    return {
        key: file.blob_id,
        "size": file.blob.size,
        "pointerSize": len(git_names.pointer(file.blob_id, file.blob.size)),
    }


def config_of(files: Sequence[Entry]) -> dict[str, Any]:
    """What `config.json` says of the architecture; empty where there is none that can be read."""
    file = next((file for file in files if file.path == CONFIG_PATH), None)
    if file is None or file.blob.size > CONFIG_LIMIT_BYTES:
        return {}
    try:
        config = json.loads(store().read(file.blob_id, CONFIG_LIMIT_BYTES))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(config, dict):
        return {}
    return {key: config[key] for key in CONFIG_KEYS if key in config}


def security_of(version: Version | None) -> dict[str, Any]:
    """Whether the checks of a version have ended; one that failed them is never a commit."""
    checks = version.checks.all() if version else []
    done = all(check.outcome != Check.Outcome.PENDING for check in checks)
    return {"scansDone": done, "filesWithIssues": []}
