"""What every import shares: limits, text, YAML and JSON that may be hostile, and the proposal."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from hub.protocol import phrases, problems, stored
from registry.cards import source
from registry.cards.findings import Notes

LIMIT_BYTES = 2_000_000
LIMIT_TEXT = 2_000
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(slots=True)
class Proposal:
    """Fields of a card that a file suggests, and what a person should know before taking them."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def refused(kind: str, why: str) -> problems.InvalidRequest:
    """The problem of a file that is not what it should be."""
    return problems.InvalidRequest(f"This is not a readable {kind} file: {why}")


def json_of(text: str, kind: str) -> Any:
    """JSON without NaN, not nested deeper than the reader goes; raises InvalidRequest."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise refused(kind, f"line {error.lineno}: {error.msg}.") from error
    except RecursionError as error:
        raise refused(kind, "it is nested too deeply.") from error
    except ValueError as error:
        raise refused(kind, f"{error}.") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def yaml_of(text: str, kind: str) -> Any:
    """YAML as JSON has it, without aliases; raises InvalidRequest naming the line."""
    if len(text) > source.LIMIT_FRONT_BYTES:
        raise refused(kind, f"it has more than {source.LIMIT_FRONT_BYTES:,} characters.")
    notes = Notes()
    try:
        node = source.compose(text)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise refused(kind, f"{line}{error.problem or error}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise refused(kind, f"{error}.") from error
    value = source.plain(node, notes, "", 0) if node is not None else None
    if notes.findings:
        raise refused(kind, notes.in_order()[0].detail)
    return value


def words(value: Any, limit: int = LIMIT_TEXT) -> str:
    """Text of a file, on one line and of a length that a card can hold; empty for anything else."""
    if not stored.is_scalar(value):
        return ""
    text = " ".join(_UNFIT.sub(" ", str(value)).split())
    return phrases.ellipsis(text, limit)


def rows(value: Any) -> list[Any]:
    """One thing or a list of them, as a list of at most 200."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items[:200] if item not in (None, "")]
