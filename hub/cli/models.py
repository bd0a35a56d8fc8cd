"""The commands that look for models and fetch them: get, search, info."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from importlib import import_module
from typing import Any

from hub.client import api, extensions
from hub.protocol import deprecations, digests, filters, sorts
from hub.protocol.figures import Status
from hub.terminal import DONE, USAGE, add_flags, add_variant_options, plain, positive, size

_FILTERS = (
    filters.NAMESPACE,
    filters.LICENCE,
    filters.TASK,
    filters.KEYWORD,
    filters.PRECISION,
    filters.OPSET_MAX,
    filters.DERIVED_FROM,
    filters.RISK,
    filters.PUBLISHED_SINCE,
    filters.PUBLISHED_UNTIL,
)
_PARAMETERS = (*(row.name for row in _FILTERS), "sort", "device", "runtime", "provider")


def add_get(commands: Any) -> None:
    layouts = _layouts()
    get = commands.add_parser(
        "get",
        help="download the files of a version and print the folder",
        description="Download and verify every file of a version, and print the folder that "
        "holds them.",
    )
    get.add_argument(
        "ref", help="a model, such as resnet50, zoo/resnet50@3 or zoo/resnet50@stable:int8"
    )
    add_variant_options(get)
    get.add_argument("--to", metavar="FOLDER", help="also write the files to this folder")
    get.add_argument(
        "--signed-by",
        metavar="SIGNER",
        action="append",
        help="download only what this signer signed: fingerprint of a key, PEM file of a key or of "
        'certificate authorities, name in a certificate, or identity and issuer ("ada@zoo.example '
        'via https://accounts.example"); may be repeated, one is enough',
    )
    get.add_argument(
        "--layout",
        choices=list(layouts),
        help="write the model at --to as another tool reads it: "
        + "; ".join(f"{name}, {layout.layout}" for name, layout in layouts.items()),
    )
    get.add_argument(
        "--max-batch-size",
        type=positive,
        metavar="COUNT",
        help="let Triton batch requests, at most this many; the first dimension must be free",
    )
    add_flags(get, "quiet", "json")
    get.add_argument(
        "--wait", action="store_true", help="wait for the checks of a version that is not published"
    )
    get.set_defaults(command=_get)


def _layouts() -> dict[str, extensions.Extension]:
    """The layouts that `hub get` writes, by name."""
    return {layout.name: layout for layout in extensions.load() if layout.layout}


def _get(options: argparse.Namespace) -> int:
    if options.layout:
        return _write_layout(options)
    hub = api.default_hub()
    resolved = hub.resolve(
        options.ref,
        opset=options.opset,
        variant=options.variant,
        strength=options.strength,
        signed_by=options.signed_by,
        wait=options.wait,
    )
    folder = hub.download_resolved(resolved, options.to, progress=False if options.quiet else None)
    if not options.json:
        print(folder)
        return DONE
    files = [
        {"path": file.path, "size": file.size, "sha256": digests.format(file.sha256)}
        for file in resolved.files
    ]
    row = {
        "ref": str(resolved.ref),
        "variant": resolved.variant,
        "entry": resolved.entry,
        "folder": str(folder),
        "files": files,
    }
    print(json.dumps(row, indent=2))
    return DONE


def _write_layout(options: argparse.Namespace) -> int:
    if not options.to:
        print("hub: --layout needs --to, the folder to write to", file=sys.stderr)
        return USAGE
    write = import_module(_layouts()[options.layout].path).write
    batches = {"max_batch_size": options.max_batch_size} if options.max_batch_size else {}
    if not batches.keys() <= inspect.signature(write).parameters.keys():
        print(f"hub: --layout {options.layout} takes no --max-batch-size", file=sys.stderr)
        return USAGE
    folder = write(
        api.default_hub(),
        options.ref,
        options.to,
        opset=options.opset,
        variant=options.variant,
        strength=options.strength,
        **batches,
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
    for row in _FILTERS:
        kind = int if isinstance(row, filters.Bound) else str
        search.add_argument(f"--{row.name.replace('_', '-')}", type=kind, help=row.description)
    search.add_argument(
        "--sort",
        choices=tuple(sorts.SORTS),
        help="order of the results; fastest compares speeds of one setup",
    )
    search.add_argument("--device", help="show speeds on this class of device")
    search.add_argument("--runtime", help="show speeds with this runtime")
    search.add_argument("--provider", help="show speeds with this execution provider")
    add_flags(search, "json")
    search.set_defaults(command=_search)


def _search(options: argparse.Namespace) -> int:
    parameters = {name: getattr(options, name) for name in _PARAMETERS}
    rows = list(api.list_models(" ".join(options.query) or None, limit=options.limit, **parameters))
    if options.json:
        print(json.dumps(rows, indent=2))
        return DONE
    width = max((len(str(model["ref"])) for model in rows), default=0)
    for model in rows:
        latest = model.get("latest") or {}
        facts = f"v{latest['number']} {size(latest.get('size'))}" if latest else "no version"
        facts = f"{facts:<14}  {_speed(model['speed']):<16}" if "speed" in model else f"{facts:<14}"
        summary = plain(str(model.get("summary") or ""))
        summary = f"[deprecated] {summary}" if model.get("deprecated_at") else summary
        print(f"{plain(str(model['ref'])):<{width}}  {facts}  {summary}".rstrip())
    if not rows:
        print("hub: no models found", file=sys.stderr)
    return DONE


def _speed(result: dict[str, Any] | None) -> str:
    """The median time of one run, with its status where it is not ranked."""
    if not result:
        return str(Status.UNMEASURED)
    status = "" if result["status"] == Status.ACCEPTED else f" {result['status']}"
    p50 = result["p50_ms"]
    return f"{p50:.3g} ms{status}" if p50 < 1000 else f"{p50:.0f} ms{status}"


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
        *(
            ("deprecated", deprecations.read(str(row.get("ref")), row.get("deprecation")))
            for row in (model, version)
        ),
        ("label", version.get("label")),
        ("versions", versions_line(model.get("versions") or [])),
        ("aliases", _names(model, "alias")),
        ("tags", _names(model, "tag")),
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


def _names(model: dict[str, Any], kind: str) -> str:
    """The aliases or tags of a model in a line, each with the version that it names."""
    rows = [row for row in model.get("refs") or [] if row.get("kind") == kind]
    return ", ".join(f"{row.get('name')} ({row.get('number')})" for row in rows)


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
