"""The commands that add to a hub: push, variant."""

from __future__ import annotations

import argparse
import json
from typing import Any

from hub.cli.models import variant_line
from hub.cli.signing import add_key, key_of
from hub.client import api
from hub.protocol import arithmetic
from hub.protocol.variants import KINDS, Option, with_option
from hub.terminal import DONE, add_flags, plain, positive, size

_PARITY = ("max_abs", "max_rel", "ulp_max", "cosine", "top1")


def add_push(commands: Any) -> None:
    push = commands.add_parser(
        "push",
        help="publish files or a folder as the next version",
        description="Upload files or a folder, wait for the checks, and publish the next version "
        "of a model. A README.md among the files is the model card.",
    )
    push.add_argument("ref", help="namespace/model")
    push.add_argument(
        "paths",
        nargs="+",
        metavar="path",
        help="a file or a folder; a single folder is sent without its own name",
    )
    push.add_argument("--card", metavar="FILE", help="model card: Markdown with YAML front matter")
    push.add_argument("--message", "-m", help="describe what this version changes")
    push.add_argument("--label", help="a name for the version, such as 1.4.0")
    push.add_argument("--no-create", action="store_true", help="fail if the model does not exist")
    push.add_argument(
        "--resume", action="store_true", help="resume your newest draft, even with other files"
    )
    push.add_argument(
        "--force",
        action="store_true",
        help="publish a new version even if the newest one is identical",
    )
    push.add_argument(
        "--follow-links",
        action="store_true",
        help="follow symbolic links that lead out of the folder",
    )
    push.add_argument(
        "--strict",
        action="store_true",
        help="do not publish a package with errors, such as a config that names a missing file",
    )
    add_key(push, "--sign")
    add_flags(push, "private", "no-publish", "no-wait", "quiet", "json")
    push.set_defaults(command=_push)


def _push(options: argparse.Namespace) -> int:
    version = api.push(
        options.ref,
        *options.paths,
        card=options.card,
        message=options.message,
        label=options.label,
        publish=not options.no_publish,
        create=not options.no_create,
        visibility="private" if options.private else "public",
        wait=not options.no_wait,
        resume=options.resume,
        force=options.force,
        follow_links=options.follow_links,
        sign=key_of(options, options.sign),
        strict=options.strict,
        progress=False if options.quiet else None,
    )
    if options.json:
        print(json.dumps(version, indent=2))
        return DONE
    print(f"{version['ref']} {version['state']}")
    if version.get("url"):
        print(plain(str(version["url"])))
    return DONE


def add_variant(commands: Any) -> None:
    variant = commands.add_parser(
        "variant",
        help="have the hub create a variant with another opset or precision",
        description="Have the hub create a variant of a version and show how its size and "
        "outputs compare.",
    )
    variant.add_argument(
        "ref", help="a model, such as zoo/resnet50, zoo/resnet50@3 or zoo/resnet50:tiny"
    )
    variant.add_argument("kind", choices=list(KINDS), help="how the variant is derived")
    variant.add_argument(
        "--opset", type=positive, help="target opset of an upgrade, newer or older"
    )
    variant.add_argument(
        "--sample",
        metavar="FILE",
        help=f".npz file with sample inputs for {with_option(Option.CALIBRATION)}",
    )
    variant.add_argument(
        "--keep-float32",
        metavar="NODE",
        action="append",
        default=[],
        help=f"a node that stays in float32, for {with_option(Option.KEEP_FLOAT32)}; may be "
        "repeated",
    )
    variant.add_argument(
        "--no-wait", action="store_true", help="print the job and return without waiting"
    )
    add_flags(variant, "quiet", "json")
    variant.set_defaults(command=_variant)


def _variant(options: argparse.Namespace) -> int:
    result = api.make_variant(
        options.ref,
        options.kind,
        opset=options.opset,
        sample=options.sample,
        keep_float32=options.keep_float32,
        wait=not options.no_wait,
        progress=False if options.quiet else None,
    )
    if options.json:
        print(json.dumps(result, indent=2))
    elif options.no_wait:
        print(f"{result['kind']} {result['state']}\n{result['url']}")
    else:
        print(variant_line(result))
        for line in _price_lines(result.get("derivation") or {}):
            print(plain(line))
    return DONE


def _price_lines(derivation: dict[str, Any]) -> list[str]:
    """What a variant costs against the one it was made from, in figures."""
    sizes = derivation.get("sizes") or {}
    lines = []
    if sizes.get("before") and sizes.get("after"):
        ratio = sizes["after"] / sizes["before"]
        lines.append(f"size    {size(sizes['before'])} -> {size(sizes['after'])} ({ratio:.2f})")
    parity = derivation.get("parity") or {}
    worst = parity.get("worst") or parity
    figures = [f"{name} {worst[name]}" for name in _PARITY if worst.get(name) is not None]
    if figures:
        lines.append(f"parity  {', '.join(figures)} (worst of all outputs)")
    if how := arithmetic.sentence(parity):
        lines.append(f"        {how}")
    nodes = derivation.get("in_float32") or []
    return [*lines, *(f"float32 {row.get('node')}: {row.get('reason')}" for row in nodes)]
