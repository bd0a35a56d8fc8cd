"""Changing fields of a card and nothing else: comments, order and prose stay byte for byte.

The lines of a changed field are rewritten; PyYAML's marks say which lines those are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from hub.protocol import problems
from registry.cards import source
from registry.core import parsing

_WIDTH = 100
_SHORT = 88
_ODD_BREAK = re.compile("[\x85\u2028\u2029]")


@source.with_exponents
class _Dumper(yaml.SafeDumper):
    """Block style, short lists of words on one line, long texts as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
        """Indent lists below their field, as people write them."""
        super().increase_indent(flow, False)


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    is_block = "\n" in value and value.strip() and not value[0].isspace()
    # Breaks that are not \n are read back as others unless they are escaped.
    style = '"' if _ODD_BREAK.search(value) else "|" if is_block else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: _Dumper, value: list[Any]) -> yaml.SequenceNode:
    plain = all(isinstance(item, str | int | float) for item in value)
    short = plain and sum(len(str(item)) + 2 for item in value) <= _SHORT
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def written(name: str, value: Any) -> str:
    """One field as lines of YAML."""
    return yaml.dump(
        {name: value},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=_WIDTH,
    )


def as_yaml(value: Any) -> str:
    """A value alone as YAML, for a field of a form."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False
    )


def change(text: str, changes: Mapping[str, Any]) -> str:
    """The README with these fields set, or taken away where the value is None.

    A field that is there is replaced in its place, a new one goes to the end of the front matter.
    Raises CardInvalid where the front matter cannot be read.
    """
    newline = "\r\n" if "\r\n" in text[:10_000] else "\n"
    body = source.split(text).body
    head = text[:body] if body else text
    return parsing.run(_changed, head, dict(changes), newline) + text[len(head) :]


def _changed(text: str, changes: Mapping[str, Any], newline: str) -> str:
    front = source.read(text)
    if not front.readable:
        finding = front.notes.in_order()[0]
        raise problems.CardInvalid(
            f"Fix the YAML of the card before you edit single fields. {finding.detail}",
            errors=[{"pointer": finding.pointer, "detail": finding.detail}],
        )
    changes = {
        name: value for name, value in changes.items() if value is not None or name in front.values
    }
    if not changes:
        return text
    if not front.parts.start:
        fresh = "".join(written(*item) for item in changes.items() if item[1] is not None)
        start = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix("\ufeff")
        gap = "" if body.startswith(("\n", "\r")) or not body else newline
        return f"{start}{_lines(f'---{chr(10)}{fresh}---{chr(10)}', newline)}{gap}{body}"
    if front.in_braces:
        source_text = _rewritten(front, changes)
    else:
        source_text = _replaced(front, changes, newline)
    parts = front.parts
    changed = text[: parts.start] + source_text + text[parts.stop :]
    # Lines say where a field ends in all YAML that people write; for others there is the long way.
    removed = {name for name, value in changes.items() if value is None}
    values = {**front.values, **changes}
    if source.read(changed).values != {name: values[name] for name in values.keys() - removed}:
        return text[: parts.start] + _rewritten(front, changes) + text[parts.stop :]
    return changed


def _rewritten(front: source.Front, changes: Mapping[str, Any]) -> str:
    """A front matter in braces has no lines of its own for a field: all of it is rewritten."""
    values = {
        name: value for name, value in {**front.values, **changes}.items() if value is not None
    }
    newline = "\r\n" if "\r\n" in front.parts.front else "\n"
    return _lines("".join(written(*item) for item in values.items()), newline)


def _replaced(front: source.Front, changes: Mapping[str, Any], newline: str) -> str:
    text = front.parts.front
    waiting = dict(changes)
    pieces: list[str] = []
    done = 0
    ends = [*(key.start_mark.index for _, key, _ in front.fields), len(text)][1:]
    for (name, key, value), stop in zip(front.fields, ends, strict=True):
        if name not in waiting:
            continue
        start = key.start_mark.index
        end, tail = _end(text, value, stop)
        fresh = waiting.pop(name)
        pieces.append(text[done:start])
        if fresh is not None:
            lines = _lines(written(name, fresh), newline)
            one_line = tail and lines.count("\n") == 1
            pieces.append(lines.rstrip("\r\n") + tail + newline if one_line else lines)
        done = end
    pieces.append(text[done:])
    fresh = "".join(
        _lines(written(name, value), newline)
        for name, value in waiting.items()
        if value is not None
    )
    result = "".join(pieces)
    if fresh and result and not result.endswith("\n"):
        result += newline
    return result + fresh


def _end(text: str, value: yaml.Node, stop: int) -> tuple[int, str]:
    """Where the lines of a value end, before what stands above the next field; its own comment."""
    end = min(value.end_mark.index, stop)
    is_block = (
        value.style in ("|", ">")
        if isinstance(value, yaml.ScalarNode)
        else not getattr(value, "flow_style", False)
    )
    if not is_block:
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 or line_end >= stop else line_end + 1
        tail = text[end : min(line_end, stop)].rstrip()
        # An empty value's mark may lie behind its comment's line; then nothing follows it.
        return min(line_end, stop), tail if tail.lstrip().startswith("#") else ""
    lines = text[:end].splitlines(keepends=True) if end else []
    # A block's mark lies at the next token: blank lines and comments before it are not its own.
    if end and text[end - 1] != "\n":
        rest = text.find("\n", end)
        end = len(text) if rest < 0 else rest + 1
        return min(end, stop), ""
    while lines and (not lines[-1].strip() or lines[-1].startswith("#")):
        end -= len(lines.pop())
    return end, ""


def _lines(text: str, newline: str) -> str:
    return text.replace("\n", newline) if newline != "\n" else text
