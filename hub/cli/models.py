"""The commands that look for models and fetch them: get, search, info."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from hub.client import api
from hub.protocol import digests
from hub.terminal import DONE, USAGE, add_flags, plain, positive, size

if TYPE_CHECKING:
    import argparse

# The orders of the API's list of models.
SORTS = (
    "updated",
    "downloads",
    "name",
    "size",
    "carbon",
    "macs",
    "memory",
    "parameters",
    "fastest",
    "accuracy",
)
_FILTERS = (
    "namespace", "license", "task", "keyword", "precision", "opset_max",
    "sort", "device", "runtime", "provider",
)  # fmt: skip


def add_get(commands: Any) -> None:
    get = commands.add_parser(
        "get",
        help="download the files of a version and print the folder",
        description="Download and verify every file of a version, and print the folder that "
        "holds them.",
    )
    get.add_argument(
        "ref", help="a model, such as resnet50, zoo/resnet50@3 or zoo/resnet50@stable:int8"
    )
    get.add_argument("--opset", type=int, help="choose a variant with exactly this opset")
    get.add_argument("--variant", help="choose the variant with this name")
    get.add_argument("--to", metavar="FOLDER", help="also write the files to this folder")
    get.add_argument(
        "--layout",
        choices=("triton",),
        help="write the model into a model repository of Triton at --to, with a config.pbtxt",
    )
    get.add_argument(
        "--max-batch-size",
        type=positive,
        metavar="COUNT",
        help="let Triton batch requests, at most this many; the first dimension must be free",
    )
    add_flags(get, "quiet", "json")
    get.set_defaults(command=_get)


def _get(options: argparse.Namespace) -> int:
    if options.layout:
        return _write_layout(options)
    hub = api.default_hub()
    resolved = hub.resolve(options.ref, opset=options.opset, variant=options.variant)
    folder = hub.download_resolved(resolved, options.to, progress=False if options.quiet else None)
    if not options.json:
        print(folder)
        return DONE
    files = [
        {"path": file.path, "size": file.size, "sha256": digests.format(file.sha256)}
        for file in resolved.files
    ]
    row = {
        "ref": str(resolved.ref), "variant": resolved.variant, "entry": resolved.entry,
        "folder": str(folder), "files": files,
    }  # fmt: skip
    print(json.dumps(row, indent=2))
    return DONE


def _write_layout(options: argparse.Namespace) -> int:
    from hub.bridges import triton  # noqa: PLC0415  (each command imports what it needs)

    if not options.to:
        print("hub: --layout needs --to, the folder of the model repository", file=sys.stderr)
        return USAGE
    folder = triton.write(
        api.default_hub(),
        options.ref,
        options.to,
        opset=options.opset,
        variant=options.variant,
        max_batch_size=options.max_batch_size or 0,
        progress=False if options.quiet else None,
    )
    row = {"ref": options.ref, "layout": options.layout, "folder": str(folder)}
    print(json.dumps(row, indent=2) if options.json else folder)
    return DONE


def add_search(commands: Any) -> None:
    search = commands.add_parser("search", help="search for models")
    search.add_argument(
        "query", nargs="*", help="words to search for; without any, list every model"
    )
    search.add_argument(
        "--limit", type=positive, default=20, help="maximum number of results (default: 20)"
    )
    search.add_argument("--namespace", help="only models of this namespace")
    search.add_argument("--license", help="SPDX identifier of the licence")
    search.add_argument("--task", help="such as image-classification")
    search.add_argument("--keyword", help="only models with this keyword")
    search.add_argument("--precision", help="such as fp32 or int8")
    search.add_argument(
        "--opset-max",
        type=int,
        help="only models that have a variant for this opset or an older one",
    )
    search.add_argument(
        "--sort", choices=SORTS, help="order of the results; fastest compares speeds of one setup"
    )
    search.add_argument("--device", help="show speeds on this class of device")
    search.add_argument("--runtime", help="show speeds with this runtime")
    search.add_argument("--provider", help="show speeds with this execution provider")
    add_flags(search, "json")
    search.set_defaults(command=_search)


def _search(options: argparse.Namespace) -> int:
    filters = {name: getattr(options, name) for name in _FILTERS}
    rows = list(api.list_models(" ".join(options.query) or None, limit=options.limit, **filters))
    if options.json:
        print(json.dumps(rows, indent=2))
        return DONE
    width = max((len(str(model["ref"])) for model in rows), default=0)
    for model in rows:
        latest = model.get("latest") or {}
        facts = f"v{latest['number']} {size(latest.get('size'))}" if latest else "no version"
        facts = f"{facts:<14}  {_speed(model['speed']):<16}" if "speed" in model else f"{facts:<14}"
        summary = plain(str(model.get("summary") or ""))
        print(f"{plain(str(model['ref'])):<{width}}  {facts}  {summary}".rstrip())
    if not rows:
        print("hub: no models found", file=sys.stderr)
    return DONE


def _speed(result: dict[str, Any] | None) -> str:
    """The median time of one run, which is not ranked where it is noisy."""
    if not result:
        return "not measured"
    noisy = "" if result["status"] == "accepted" else f" {result['status']}"
    p50 = result["p50_ms"]
    return f"{p50:.3g} ms{noisy}" if p50 < 1000 else f"{p50:.0f} ms{noisy}"


def add_info(commands: Any) -> None:
    info = commands.add_parser("info", help="show details of a model and one of its versions")
    info.add_argument("ref", help="a model, such as resnet50 or zoo/resnet50@3")
    add_flags(info, "json")
    info.set_defaults(command=_info)


def _info(options: argparse.Namespace) -> int:
    model = api.info(options.ref)
    if options.json:
        print(json.dumps(model, indent=2))
        return DONE
    version = model.get("version") or {}
    lines = [
        ("model", model["ref"]),
        ("summary", model.get("summary")),
        ("license", model.get("license")),
        ("task", model.get("task")),
        ("keywords", ", ".join(model.get("keywords") or [])),
        (
            "version",
            f"{version['number']} ({version['state']})" if version else "no published version",
        ),
        ("label", version.get("label")),
        ("versions", versions_line(model.get("versions") or [])),
        ("digest", version.get("manifest_sha256")),
        ("published", version.get("published_at")),
        ("page", version.get("url") or model.get("url")),
    ]
    lines += [("variant", variant_line(variant)) for variant in version.get("variants") or []]
    lines += [
        ("file", f"{file['path']}  {size(file['size'])}") for file in version.get("files") or []
    ]
    for name, text in lines:
        if text:
            print(f"{name:<10} {plain(str(text))}")
    return DONE


def versions_line(versions: list[dict[str, Any]]) -> str:
    """The versions of a model in a line, newest first, with the state of what is not published."""
    return ", ".join(
        f"{version['number']}"
        + (f" ({version['state']})" if version.get("state") != "published" else "")
        for version in versions
    )


def variant_line(variant: dict[str, Any]) -> str:
    """One variant in a line: its name, entry, opset, precision, and proof where it has one."""
    facts = [f"opset {variant.get('opset')}", str(variant.get("precision") or "")]
    line = f"{variant.get('name')}  {variant.get('entry')}  {', '.join(filter(None, facts))}"
    proof = variant.get("proof") or {}
    if not proof:
        return line
    rest = "" if proof.get("chosen") else "; not the default for its opset"
    return f"{line}  ({proof.get('strength')}: {proof.get('sentence')}{rest})"
