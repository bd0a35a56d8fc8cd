"""The command that finds models by what they must achieve: find."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hub import counting
from hub.client import api
from hub.protocol.filters import CHOICES, LIMITS, MAX_PARAMETERS, Bound, Choice
from hub.terminal import DONE, interval, plain, positive, size

_CHOICES = [choice for choice in CHOICES.values() if choice.option]


def add_find(commands: Any) -> None:
    """Add the command to the parser of `hub`."""
    find = commands.add_parser(
        "find",
        help="find models by latency, accuracy, memory, operations, size and licence",
        description="Find models that keep every limit, the best first: sorted by latency, else by "
        "accuracy, else by the only limit. Models without the measurement or the count that a "
        "limit needs are left out.",
    )
    find.add_argument(
        "query",
        nargs="*",
        help="words to search for, or a question such as 'fast image classifier under 20 MB'",
    )
    find.add_argument(
        "--literal", action="store_true", help="search for all words as text, read no filters"
    )
    for choice in _CHOICES:
        find.add_argument(_flag(choice), help=choice.description)
    find.add_argument(
        "--on",
        metavar="DEVICE",
        help="class of device on which latency is measured; 'this machine' for that of this one",
    )
    find.add_argument("--runtime", help="runtime with which latency is measured")
    for bound in LIMITS.values():
        words = f"{bound.description}; such as {bound.example}".replace("%", "%%")
        find.add_argument(_flag(bound), metavar="LIMIT", help=words)
    find.add_argument(
        "--min",
        action="append",
        metavar="METRIC[@DATASET[:SPLIT]]=VALUE",
        help="minimum accuracy that the hub measured, such as accuracy@digits=0.9 or top1=90%%; "
        "can be repeated",
    )
    find.add_argument(
        "--max",
        action="append",
        metavar="METRIC[@DATASET[:SPLIT]]=VALUE",
        help="maximum of a metric of which less is better, such as rmse@prices=3.5",
    )
    find.add_argument(
        "--predicted",
        action="store_true",
        help="include models that were not measured there, if the upper end of the predicted "
        "latency keeps the limit",
    )
    find.add_argument(
        "--limit", type=positive, default=20, help="maximum number of results (default: 20)"
    )
    find.add_argument("--json", action="store_true", help="print JSON")
    find.set_defaults(command=_find)


def _flag(filter_: Choice | Bound) -> str:
    return f"--{filter_.option.replace('_', '-')}"


def _find(options: argparse.Namespace) -> int:
    names = (
        *("on", "runtime", "predicted", "min", "max", "limit", "literal"),
        *(choice.option for choice in _CHOICES),
        *LIMITS,
    )
    question = " ".join(options.query)
    if len(question.split()) > 1 and not options.literal:
        _print_understood(question)
    models = api.find(question or None, **{name: getattr(options, name) for name in names})
    if options.json:
        print(json.dumps(models, indent=2))
        return DONE
    width = max((len(str(model["ref"])) for model in models), default=0)
    for model in models:
        print(f"{plain(str(model['ref'])):<{width}}  {', '.join(_reasons(model))}")
    if not models:
        print("hub: no model keeps every limit", file=sys.stderr)
    return DONE


def _print_understood(question: str) -> None:
    """Say on stderr which filters a question was read as; nothing where it is text alone."""
    understood = api.understand(question)
    filters = [f"{part['parameter']}={part['value']}" for part in understood["parts"]]
    if filters:
        text = [f"text {understood['text']!r}"] if understood["text"] else []
        print(plain(f"hub: understood as {', '.join([*filters, *text])}"), file=sys.stderr)
    for unused in understood["unused"]:
        print(plain(f"hub: {unused['words']!r} was not used. {unused['reason']}"), file=sys.stderr)


def _reasons(model: dict[str, Any]) -> list[str]:
    """Why a model fits, in figures; what is not known is left out."""
    latest = model.get("latest") or {}
    reasons = []
    if speed := model.get("speed"):
        reasons.append(_latency(speed))
    reasons += [_accuracy(fit) for fit in model.get("fits") or () if fit.get("evaluated")]
    if latest.get("memory_bytes") is not None:
        reasons.append(f"{size(latest['memory_bytes'])} of memory")
    if latest.get("macs") is not None:
        reasons.append(f"{counting.quantity(latest['macs'])} MACs")
    if any(fit["constraint"] == MAX_PARAMETERS.name for fit in model.get("fits") or ()):
        reasons.append(f"{counting.quantity(latest['parameters'])} parameters")
    reasons.append(f"{size(latest.get('size'))} of files")
    if model.get("license"):
        reasons.append(plain(str(model["license"])))
    return reasons


def _accuracy(fit: dict[str, Any]) -> str:
    """A measured figure with its interval and the data that it is of."""
    of = fit["evaluated"]
    figure = f"{of['metric']} {fit['value']:.4g} {interval(fit)}".rstrip()
    return plain(f"{figure} on {of['dataset']}@{of['version']}:{of['split']}")


def _latency(speed: dict[str, Any]) -> str:
    """The p50 with its interval; a noisy or predicted one says so."""
    about = "\N{ALMOST EQUAL TO} " if speed.get("predicted") else ""
    words = f"p50 {about}{speed['p50_ms']:.3g} ms"
    words = f"{words} {interval(speed, '.3g', '_ms')}".rstrip()
    if speed.get("device"):
        words += f" on {plain(str(speed['device']))}"
    return words if speed["status"] == "accepted" else f"{words} {speed['status']}"
