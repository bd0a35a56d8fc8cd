"""The `hub` command: what a user of hubs does, and on a server what its operator does.

The only file that reaches both halves; the server is imported by the commands that need it.
Exit codes: 0 done, 1 a problem (one message on standard error), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, TextIO

import hub
from hub import counting
from hub.client import api
from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DONE, PROBLEM, USAGE, INTERRUPTED = 0, 1, 2, 130
SERVER_COMMANDS = {
    "serve": "start the hub on this machine: a web process and its workers",
    "worker": "start one more worker for a hub, of another runtime if you like",
    "graphs": "keep the store that SPARQL queries ask; `hub serve` does it by itself",
    "token": "make a token for scripts, on the hub of this machine",
    "manage": "run a command of the hub's upkeep, such as verify_blobs; alone, list them",
}
# The orders of the API's list of models.
SORTS = ("updated", "downloads", "name", "size", "carbon", "fastest")
_FILTERS = (
    "namespace", "license", "task", "keyword", "precision", "opset_max",
    "sort", "device", "runtime", "provider",
)  # fmt: skip
_PARITY = ("max_abs", "max_rel", "ulp_max", "cosine", "top1")
_OWN_ROOMS = frozenset({"hub", "registry", "metadata", "runners", "frontend"})
_ENVIRONMENT = (
    "environment: HUB_URL (default http://127.0.0.1:8000), HUB_TOKEN, HUB_CACHE, HUB_OFFLINE, "
    "HUB_CLIENT_CERTIFICATE, HUB_CLIENT_KEY"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            return _run(arguments)
    except problems.HubError as error:
        _complain(error)
        return PROBLEM
    except KeyboardInterrupt as error:
        _say_notes(error)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`hub search | head`): nothing left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        print(f"hub: {_plain(str(error))}", file=sys.stderr)
        return PROBLEM


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] in SERVER_COMMANDS:
        return _run_server(arguments[0], arguments[1:])
    if arguments and arguments[0] == "bench":
        return _run_bench(arguments[1:])
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.command
    return command(parsed)


def _run_server(command: str, arguments: list[str]) -> int:
    try:
        if command == "serve":
            from hub.server.serve import main as run  # noqa: PLC0415  (needs the server extra)
        elif command == "worker":
            from hub.server.worker import main as run  # noqa: PLC0415
        elif command == "graphs":
            from hub.server.graphs import main as run  # noqa: PLC0415
        elif command == "manage":
            from hub.server.manage import main as run  # noqa: PLC0415
        else:
            from hub.server.tokens import main as run  # noqa: PLC0415
        return int(run(arguments))
    except ModuleNotFoundError as error:
        # One of our own that is missing is a fault of ours and has to show itself.
        if (error.name or "").partition(".")[0] in _OWN_ROOMS:
            raise
        print(
            f"hub {command} needs the server ({error.name} is missing): "
            "pip install 'onnx-hub[server]'",
            file=sys.stderr,
        )
        return PROBLEM


def _run_bench(arguments: list[str]) -> int:
    try:
        from hub.bench.command import main as run  # noqa: PLC0415  (reaches the engine)

        return run(arguments)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OWN_ROOMS:
            raise
        print(f"hub bench needs {error.name}: pip install 'onnx-hub[cpu]'", file=sys.stderr)
        return PROBLEM


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hub", description="Load, publish and serve ONNX models.", epilog=_ENVIRONMENT
    )
    parser.add_argument("--version", action="version", version=f"hub {hub.__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    _add_get(commands)
    _add_push(commands)
    _add_import(commands)
    _add_variant(commands)
    _add_search(commands)
    _add_info(commands)
    _add_login(commands)
    _add_cache(commands)
    commands.add_parser("bench", help="time a model on this machine", add_help=False)
    for name, text in SERVER_COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _add_get(commands: Any) -> None:
    get = commands.add_parser(
        "get",
        help="fetch every file of a version and print the folder",
        description="Fetch every file of a version, verified, and print the folder it lies in.",
    )
    get.add_argument("ref", help="such as resnet50, zoo/resnet50@3 or zoo/resnet50@stable:int8")
    get.add_argument("--opset", type=int, help="resolve to a variant of exactly this opset")
    get.add_argument("--variant", help="resolve to the variant of this name")
    get.add_argument("--to", metavar="FOLDER", help="write the files here, not only to the cache")
    get.add_argument("--quiet", action="store_true", help="no progress bars")
    get.set_defaults(command=_get)


def _get(options: argparse.Namespace) -> int:
    folder = api.download(
        options.ref,
        options.opset,
        options.variant,
        options.to,
        progress=False if options.quiet else None,
    )
    print(folder)
    return DONE


def _add_push(commands: Any) -> None:
    push = commands.add_parser(
        "push",
        help="publish files or a folder as the next version",
        description="Send files or a folder, have them checked, and publish them as the next "
        "version of a model. A README.md among them is the card.",
    )
    push.add_argument("ref", help="namespace/model")
    push.add_argument("paths", nargs="+", metavar="path", help="a file, or a folder with all files")
    push.add_argument("--card", metavar="FILE", help="the card, Markdown with YAML front matter")
    push.add_argument("--message", "-m", help="what this version changes")
    push.add_argument("--label", help="a name for the version, such as 1.4.0")
    push.add_argument("--private", action="store_true", help="make a new model private")
    push.add_argument("--no-create", action="store_true", help="fail when the model is missing")
    push.add_argument("--no-publish", action="store_true", help="have it checked, publish later")
    push.add_argument("--no-wait", action="store_true", help="do not wait for the checks")
    push.add_argument("--resume", action="store_true", help="go on with the draft of a cut push")
    push.add_argument("--quiet", action="store_true", help="no progress")
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
        progress=False if options.quiet else None,
    )
    print(f"{version['ref']} {version['state']}")
    if version.get("url"):
        print(_plain(str(version["url"])))
    return DONE


def _add_import(commands: Any) -> None:
    from hub.client import hf_command, zoo_command  # noqa: PLC0415  (each imports what it needs)

    importing = commands.add_parser("import", help="bring models from elsewhere into the hub")
    kinds = importing.add_subparsers(metavar="source", required=True)
    hf_command.add(kinds).set_defaults(command=_import_hf)
    zoo_command.add_to(kinds)


def _import_hf(options: argparse.Namespace) -> int:
    from hub.client import hf_command  # noqa: PLC0415  (each command imports what it needs)

    for line in hf_command.run(options):
        print(_plain(line))
    return DONE


def _add_variant(commands: Any) -> None:
    variant = commands.add_parser(
        "variant",
        help="have the hub make a variant: another opset or precision",
        description="Have the hub make a variant of a version and say what it costs.",
    )
    variant.add_argument("ref", help="such as zoo/resnet50, zoo/resnet50@3 or zoo/resnet50:tiny")
    variant.add_argument("kind", choices=["upgrade", "fp16", "int8", "int8-qdq"])
    variant.add_argument("--opset", type=_positive, help="for upgrade: to this one, up or down")
    variant.add_argument("--sample", metavar="FILE", help="for int8-qdq: an .npz with inputs")
    variant.add_argument("--no-wait", action="store_true", help="print the job and return")
    variant.add_argument("--quiet", action="store_true", help="no progress")
    variant.add_argument("--json", action="store_true", help="print JSON")
    variant.set_defaults(command=_variant)


def _variant(options: argparse.Namespace) -> int:
    made = api.make_variant(
        options.ref,
        options.kind,
        opset=options.opset,
        sample=options.sample,
        wait=not options.no_wait,
        progress=False if options.quiet else None,
    )
    if options.json:
        print(json.dumps(made, indent=2))
    elif options.no_wait:
        print(f"{made['kind']} {made['state']}\n{made['url']}")
    else:
        print(_variant_line(made))
        for line in _price_lines(made.get("derivation") or {}):
            print(_plain(line))
    return DONE


def _price_lines(derivation: dict[str, Any]) -> list[str]:
    """What a variant costs against the one it was made from, in figures."""
    sizes = derivation.get("sizes") or {}
    lines = []
    if sizes.get("before") and sizes.get("after"):
        ratio = sizes["after"] / sizes["before"]
        lines.append(f"size    {_size(sizes['before'])} -> {_size(sizes['after'])} ({ratio:.2f})")
    parity = derivation.get("parity") or {}
    worst = parity.get("worst") or parity
    figures = [f"{name} {worst[name]}" for name in _PARITY if worst.get(name) is not None]
    return [*lines, *([f"parity  {', '.join(figures)} (worst of all outputs)"] if figures else [])]


def _add_search(commands: Any) -> None:
    search = commands.add_parser("search", help="find models")
    search.add_argument("query", nargs="*", help="words; none lists every model")
    search.add_argument("--limit", type=_positive, default=20, help="at most so many (20)")
    search.add_argument("--namespace")
    search.add_argument("--license", help="an SPDX identifier")
    search.add_argument("--task")
    search.add_argument("--keyword")
    search.add_argument("--precision", help="such as fp32 or int8")
    search.add_argument("--opset-max", type=int, help="runs on this opset or an older one")
    search.add_argument("--sort", choices=SORTS, help="fastest: by speed in one setup")
    search.add_argument("--device", help="show speeds on this class of devices")
    search.add_argument("--runtime", help="show speeds with this runtime")
    search.add_argument("--provider", help="show speeds with this execution provider")
    search.add_argument("--json", action="store_true", help="print a JSON list")
    search.set_defaults(command=_search)


def _search(options: argparse.Namespace) -> int:
    filters = {name: getattr(options, name) for name in _FILTERS}
    found = list(api.list_models(" ".join(options.query) or None, limit=options.limit, **filters))
    if options.json:
        print(json.dumps(found, indent=2))
        return DONE
    width = max((len(str(model["ref"])) for model in found), default=0)
    for model in found:
        latest = model.get("latest") or {}
        facts = f"v{latest['number']} {_size(latest.get('size'))}" if latest else "no version"
        facts = f"{facts:<14}  {_speed(model['speed']):<16}" if "speed" in model else f"{facts:<14}"
        summary = _plain(str(model.get("summary") or ""))
        print(f"{_plain(str(model['ref'])):<{width}}  {facts}  {summary}".rstrip())
    if not found:
        print("hub: no model matches", file=sys.stderr)
    return DONE


def _speed(told: dict[str, Any] | None) -> str:
    """The middle time of one run, which has no place in any order where it is noisy."""
    if not told:
        return "not measured"
    noisy = " noisy" if told["status"] == "noisy" else ""
    p50 = told["p50_ms"]
    return f"{p50:.3g} ms{noisy}" if p50 < 1000 else f"{p50:.0f} ms{noisy}"


def _add_info(commands: Any) -> None:
    info = commands.add_parser("info", help="show a model and one of its versions")
    info.add_argument("ref", help="such as resnet50 or zoo/resnet50@3")
    info.add_argument("--json", action="store_true", help="print JSON")
    info.set_defaults(command=_info)


def _info(options: argparse.Namespace) -> int:
    found = api.info(options.ref)
    if options.json:
        print(json.dumps(found, indent=2))
        return DONE
    version = found.get("version") or {}
    lines = [
        ("model", found["ref"]),
        ("summary", found.get("summary")),
        ("license", found.get("license")),
        ("task", found.get("task")),
        ("keywords", ", ".join(found.get("keywords") or [])),
        ("version", f"{version['number']} ({version['state']})" if version else "none published"),
        ("label", version.get("label")),
        ("digest", version.get("manifest_sha256")),
        ("published", version.get("published_at")),
        ("page", version.get("url") or found.get("url")),
    ]
    lines += [("variant", _variant_line(variant)) for variant in version.get("variants") or []]
    lines += [
        ("file", f"{file['path']}  {_size(file['size'])}") for file in version.get("files") or []
    ]
    for name, text in lines:
        if text:
            print(f"{name:<10} {_plain(str(text))}")
    return DONE


def _variant_line(variant: dict[str, Any]) -> str:
    facts = [f"opset {variant.get('opset')}", str(variant.get("precision") or "")]
    return f"{variant.get('name')}  {variant.get('entry')}  {', '.join(filter(None, facts))}"


def _add_login(commands: Any) -> None:
    login = commands.add_parser(
        "login",
        help="verify a token and keep it",
        description="Verify a token and keep it for this hub, readable by you alone. It is read "
        "from HUB_TOKEN, from standard input, or asked for on a terminal.",
    )
    login.add_argument("--url", help="the hub's address; it becomes the default")
    login.set_defaults(command=_login)


def _login(options: argparse.Namespace) -> int:
    # Never an option: command lines are seen by every user of a machine.
    token = None
    if not os.environ.get("HUB_TOKEN") and not sys.stdin.isatty():
        token = sys.stdin.readline().strip()
    who = api.login(token, options.url)
    print(f"signed in as {_plain(str(who['username']))}")
    return DONE


def _add_cache(commands: Any) -> None:
    cache = commands.add_parser("cache", help="list, clean or verify the cache")
    verbs = cache.add_subparsers(metavar="verb", required=True)
    verbs.add_parser("list", help="what is in it").set_defaults(command=_cache_list)
    clean = verbs.add_parser("clean", help="remove left-overs and what nothing refers to")
    clean.add_argument(
        "--unused-days", type=float, metavar="DAYS", help="also versions unused for so long"
    )
    clean.add_argument("--all", action="store_true", help="empty the cache")
    clean.set_defaults(command=_cache_clean)
    verify = verbs.add_parser("verify", help="hash every file; remove what is damaged")
    verify.set_defaults(command=_cache_verify)


def _cache_list(options: argparse.Namespace) -> int:
    del options
    from hub.client import housekeeping  # noqa: PLC0415  (each command imports what it needs)

    cache = api.default_hub().cache
    for held in housekeeping.holdings(cache):
        used = time.strftime("%Y-%m-%d", time.localtime(held.used_at))
        part = "" if held.bytes_held == held.bytes_total else f" of {_size(held.bytes_total)}"
        print(f"{held.ref}  {_size(held.bytes_held)}{part}  used {used}")
    print(f"{_size(housekeeping.size(cache))} in {cache.folder}")
    return DONE


def _cache_clean(options: argparse.Namespace) -> int:
    from hub.client import housekeeping  # noqa: PLC0415  (each command imports what it needs)

    freed = housekeeping.clean(
        api.default_hub().cache, unused_days=options.unused_days, everything=options.all
    )
    print(f"removed {freed.files} files, {_size(freed.bytes)}")
    return DONE


def _cache_verify(options: argparse.Namespace) -> int:
    del options
    from hub.client import housekeeping  # noqa: PLC0415  (each command imports what it needs)

    right = wrong = 0
    cache = api.default_hub().cache
    damaged = []
    total = housekeeping.bytes_to_verify(cache)
    with counting.Counter("read", total, words=counting.size) as counter:
        for path, is_right in housekeeping.verify(cache, counter.advance):
            right, wrong = right + is_right, wrong + (not is_right)
            damaged += [] if is_right else [path]
    for path in damaged:
        print(f"hub: damaged, removed: {path}", file=sys.stderr)
    print(f"{right} files are right, {wrong} were damaged")
    return PROBLEM if wrong else DONE


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _size(count: int | None) -> str:
    return counting.size(count or 0)


def _complain(error: problems.HubError) -> None:
    lines = _plain(str(error), keep="\n")
    print(f"hub: {lines}", file=sys.stderr)
    if isinstance(error, problems.Problem) and error.instance:
        print(f"(request {_plain(error.instance)})", file=sys.stderr)
    _say_notes(error)


def _say_notes(error: BaseException) -> None:
    for note in getattr(error, "__notes__", ()):
        print(_plain(str(note)), file=sys.stderr)


def _plain(text: str, *, keep: str = "") -> str:
    """Drop control characters: what a server says must not drive the terminal."""
    return "".join(char if char.isprintable() or char in keep else " " for char in text)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line
    print(f"hub: warning: {_plain(str(message))}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
