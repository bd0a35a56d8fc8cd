"""The command `hub import hf`, its options and what it prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hub.client import api
from hub.terminal import DONE, plain

if TYPE_CHECKING:
    import argparse


def add_to(origins: Any) -> None:
    """Add the command to the parser of `hub import`."""
    mirror = origins.add_parser(
        "hf",
        help="mirror a model of a server that speaks the Hub protocol",
        description="Mirror one commit of a model, verified, with its card and where it came from. "
        "Run again it goes on where it was cut, or says that the model is there already.",
    )
    mirror.add_argument("repo", help="namespace/model, as the source has it")
    mirror.add_argument(
        "--from", dest="url", metavar="URL", help="default HF_ENDPOINT, or https://huggingface.co"
    )
    mirror.add_argument("--revision", default="main", help="a branch, tag or commit (main)")
    mirror.add_argument("--namespace", help="where it goes; your own when it is not given")
    mirror.add_argument("--name", help="its name here; the source's when it is not given")
    mirror.add_argument("--card", metavar="FILE", help="use this card, not the source's README.md")
    for word, text in (("include", "only"), ("exclude", "all but")):
        mirror.add_argument(
            f"--{word}", action="append", default=[], metavar="PATTERN",
            help=f"{text} paths like 'onnx/*'; may be repeated",
        )  # fmt: skip
    mirror.add_argument(
        "--token",
        help="of the source; '-' reads it from standard input, which no other user sees. "
        "Default: HF_TOKEN for HF_ENDPOINT or huggingface.co, else that of `hub login`",
    )
    seen = mirror.add_mutually_exclusive_group()
    for word in ("private", "public"):
        seen.add_argument(
            f"--{word}", dest="visibility", action="store_const", const=word,
            help=f"make a new model {word}",
        )  # fmt: skip
    mirror.add_argument("--no-publish", action="store_true", help="have it checked, publish later")
    mirror.add_argument("--no-wait", action="store_true", help="do not wait for the checks")
    mirror.add_argument("--quiet", action="store_true", help="no progress")
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
    there = "" if mirrored.is_new else ", there already"
    for line in (f"{version['ref']} {version['state']}{there}", str(version.get("url") or "")):
        if line:
            print(plain(line))
    return DONE
