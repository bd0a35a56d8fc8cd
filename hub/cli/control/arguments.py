"""Arguments of commands, from the signatures of the operations."""

from __future__ import annotations

import argparse
import functools
import json
import operator
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hub.protocol import problems, refs

# What a parameter means wherever it occurs, unless its operation describes it.
HELP = {
    "author": "name of the user who opened it",
    "batch": "batch size",
    "body": "Markdown text",
    "call_style": "how the runtime is called",
    "card_id": "id of the rejected card",
    "categories": "category of personal data; repeatable",
    "certificate": "SHA-256 of the certificate that its requests must present; empty for any",
    "collection": "a collection, such as zoo/small-classifiers",
    "collected_on": "date, such as 2026-01-31; none to remove it",
    "comment": "number of the comment",
    "content": "file to send; - for standard input",
    "description": "Markdown text",
    "device": "class of device; see hub devices list",
    "digest": "digest of the environment",
    "discussion": "number of the discussion",
    "display_name": "name that pages show",
    "effort": "number of samples",
    "email": "e-mail address",
    "entry": "path of the model file in the version",
    "expires_days": "days until it expires",
    "files": "JSON list of files",
    "filename": "name of the file",
    "fleet": "name of the fleet",
    "group": "name of a group of participants",
    "id": "id; see the list",
    "iri": "persistent identifier, such as a DOI as URL",
    "is_active": "whether the user can sign in",
    "key": "comparability key, or id of the invitation",
    "keywords": "search keyword; repeatable",
    "kind": "kind",
    "label": "a name for the version, such as 1.4.0",
    "legal_basis": "legal basis for processing personal data",
    "license": "SPDX identifier of the licence",
    "max_bytes": "maximum size in bytes",
    "max_parameters": "maximum number of parameters",
    "mirror_id": "id of the mirror; see hub mirror list",
    "webhook_id": "id of a webhook, as hub webhooks list shows it",
    "delivery_id": "id of a delivery, as hub webhooks deliveries shows it",
    "message": "message that is stored with it",
    "name": "name",
    "namespace": "name of a namespace",
    "node": "name of a node of the graph",
    "number": "number of the version",
    "operator": "only cases of this operator; repeatable",
    "opset": "version of ai.onnx",
    "outcome": "only cases with this outcome",
    "path": "path of the file in the version",
    "percent": "share of the devices, 0 to 100 (default: 100)",
    "personal_data": "whether it contains personal data",
    "pool": "name of a pool of workers",
    "precision": "such as fp32 or int8",
    "provider": "execution provider",
    "pseudonym": "pseudonym of the participant",
    "quota_bytes": "storage limit in bytes; none for no limit",
    "reason": "the reason, which is shown to users",
    "ref": "name of the alias or tag",
    "result": "status of the device",
    "release_publishes": "publish released versions",
    "required_by": "deadline for the devices, such as 2026-12-31T00:00:00Z",
    "round_number": "number of the round",
    "role": "role of the member",
    "rows": "number of rows; none to remove it",
    "runtime": "name of a runtime; see hub runtimes list",
    "scenario": "benchmark scenario",
    "score": "the score",
    "scopes": "permission of the token; repeatable",
    "sha256": "SHA-256 of the file",
    "size": "size of a free dimension",
    "size_bytes": "size in bytes; none to remove it",
    "slug": "name, as in addresses",
    "sort": "order of the results",
    "source": "URL where the data comes from",
    "state": "state",
    "status": "status",
    "successor": "the model or version to use, such as zoo/resnet50@4",
    "summary": "one line that lists show",
    "sweep_batch": "batch size to measure; repeatable",
    "sweep_threads": "number of threads to measure; repeatable",
    "target": "data set or model that the name refers to",
    "task": "such as image-classification",
    "threads": "number of threads",
    "title": "title that pages show",
    "session_id": "id of the session; see hub sessions list",
    "token_id": "id of the token; see hub token list",
    "username": "name of the user",
    "uses": "number of devices that can join with it (default: 1)",
    "uuid": "id of the job",
    "variant": "name of the variant (default: the first)",
    "version": "number of the version",
    "visibility": "who can see the model",
}
_TRAINING = re.compile(r"(?P<model>.+)/trainings/(?P<number>[1-9][0-9]{0,8})")


def add(
    parser: argparse.ArgumentParser,
    name: str,
    hint: Any,
    *,
    required: bool,
    positional: bool,
    text: str,
    option: str,
) -> None:
    """Add one parameter of an operation as a positional argument or an option."""
    kind, described = _plain(hint)
    settings: dict[str, Any] = {"help": (text or described or HELP[name]).replace("%", "%%")}
    origin = typing.get_origin(kind)
    if kind is bool:
        parser.add_argument(
            f"--{option}",
            dest=name,
            action=argparse.BooleanOptionalAction,
            default=None,
            **settings,
        )
        return
    if origin in {Sequence, tuple}:
        item = typing.get_args(kind)[0]
        settings |= _values(item) | ({"nargs": "+"} if positional else {"action": "append"})
    else:
        settings |= _values(kind)
    if kind == bytes | str | Path:
        settings["type"] = content
    if name in {"public_key", "authorities"}:
        settings["type"] = pem
    if name == "token":
        settings["type"] = _secret
        settings["help"] += "; - reads it from standard input"
    if positional:
        if "choices" not in settings:
            settings["metavar"] = option.replace("-", "_")
        settings |= {} if required else {"nargs": "?"}
        parser.add_argument(name, **settings)
    else:
        parser.add_argument(f"--{option}", dest=name, required=required, **settings)


def pem(text: str) -> str:
    """A text, or `@` and the name of a file with it."""
    try:
        return Path(text[1:]).read_text("ascii") if text.startswith("@") else text
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"cannot be read ({error})") from error


def _secret(text: str) -> str:
    """A token as given, or the first line of standard input: arguments are seen by others."""
    return sys.stdin.readline().strip() if text == "-" else text


def _plain(hint: Any) -> tuple[Any, str]:
    """A hint without None, `...` and its description; and the description."""
    text = ""
    if typing.get_origin(hint) is typing.Annotated:
        hint, text = typing.get_args(hint)[:2]
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        kinds = [
            kind
            for kind in typing.get_args(hint)
            if kind not in {types.NoneType, types.EllipsisType}
        ]
        if len(kinds) < len(typing.get_args(hint)):
            is_nullable = types.EllipsisType in typing.get_args(hint)
            hint = functools.reduce(operator.or_, kinds)
            if is_nullable:
                hint = typing.Annotated[hint, "nullable"]
    return hint, text


def _values(kind: Any) -> dict[str, Any]:
    """How the values of an option are read."""
    is_nullable = typing.get_origin(kind) is typing.Annotated
    if is_nullable:
        kind = typing.get_args(kind)[0]
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return {"choices": [value for value in typing.get_args(kind) if value]}
    if origin is Mapping or kind is Any:
        return {"type": document, "metavar": "JSON"}
    reader = kind if kind in {int, float} else str
    return {"type": _nullable(reader) if is_nullable else reader}


def _nullable(reader: type) -> Any:
    def read(text: str) -> Any:
        return NULL if text == "none" else reader(text)

    read.__name__ = reader.__name__
    return read


# The value of an option that removes something.
NULL = object()


def document(text: str) -> Any:
    """JSON, or `@` and the name of a file with it."""
    try:
        return json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"is no JSON, and no @ with the name of a JSON file ({error})"
        ) from error


def content(text: str) -> bytes | Path:
    """The file of this name; the bytes of standard input for `-`."""
    if text == "-":
        return sys.stdin.buffer.read()
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def training(text: str) -> tuple[str, int]:
    """`zoo/digits/trainings/7` as model and number; raises InvalidReference."""
    match = problems.expect(
        _TRAINING.fullmatch(text),
        problems.InvalidReference(
            f"{text[:120]!r} is not a training. Write for example zoo/digits/trainings/7."
        ),
    )
    return refs.parse(match["model"]).name, int(match["number"])
