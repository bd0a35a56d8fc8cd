"""The command `hub import hf`, its options and what it prints."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hub.client import api
from hub.terminal import DONE, add_flags, plain


def add_to(origins: Any) -> None:
    mirror = origins.add_parser(
        "hf",
        help="mirror a model from Hugging Face or a compatible server",
        description="Mirror one commit of a model, with its card and a record of its source. "
        "Every file is verified. Run the command again to resume an interrupted import.",
    )
    mirror.add_argument("repo", help="namespace/model on the source")
    mirror.add_argument(
        "--from",
        dest="url",
        metavar="URL",
        help="source server (default: $HF_ENDPOINT or https://huggingface.co)",
    )
    mirror.add_argument("--revision", default="main", help="branch, tag or commit (default: main)")
    mirror.add_argument("--namespace", help="target namespace (default: your own)")
    mirror.add_argument("--name", help="name on this hub (default: as on the source)")
    mirror.add_argument(
        "--card", metavar="FILE", help="use this model card instead of the source's README.md"
    )
    for word, text in (("include", "import only"), ("exclude", "skip")):
        mirror.add_argument(
            f"--{word}",
            action="append",
            default=[],
            metavar="PATTERN",
            help=f"{text} paths that match, such as 'onnx/*'; repeatable",
        )
    mirror.add_argument(
        "--token",
        help="token for the source; '-' reads it from standard input, hidden from other users. "
        "Default: $HF_TOKEN for HF_ENDPOINT or huggingface.co, else the token of `hub login`",
    )
    visibility = mirror.add_mutually_exclusive_group()
    for word in ("private", "public"):
        visibility.add_argument(
            f"--{word}",
            dest="visibility",
            action="store_const",
            const=word,
            help=f"create a new model as {word}",
        )
    add_flags(mirror, "no-publish", "no-wait", "quiet", "json")
    mirror.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Mirror what the options name, print where it is; return the exit code."""
    from hub.client.imports import hf  # noqa: PLC0415  (each command imports what it needs)

    hub = api.default_hub()
    token = sys.stdin.readline() if options.token == "-" else options.token  # noqa: S105
    source = hf.open_source(hub, options.repo, options.url, token)
    mirror = hf.Mirror(hub, source, progress=not options.quiet)
    mirrored = mirror.run(
        revision=options.revision,
        namespace=options.namespace,
        name=options.name,
        card=options.card,
        include=options.include,
        exclude=options.exclude,
        visibility=options.visibility,
        publish=not options.no_publish,
        wait=not options.no_wait,
    )
    version = mirrored.version
    if options.json:
        print(json.dumps({"version": version, "is_new": mirrored.is_new}, indent=2))
        return DONE
    note = "" if mirrored.is_new else ", already imported"
    print(plain(f"{version['ref']} {version['state']}{note}"))
    if version.get("url"):
        print(plain(str(version["url"])))
    return DONE
