"""The front matter as its author wrote it: every value with the line on which it stands.

Nothing here makes objects of YAML but plain JSON values; aliases are refused, since a few of them
can make a small file enormous.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

import yaml

from registry.cards.findings import Notes, escaped

LIMIT_DEPTH = 32
LIMIT_FRONT_BYTES = 200_000
LIMIT_NODES = 20_000
_PIECES = 300
_PLAIN_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
# In characters; to make a number of more takes the square of them.
_LONGEST_NUMBER = 300
_ERRORS = 20
_FENCE = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OPEN = re.compile(r"\A\ufeff?---[ \t]*\r?\n")
# Where a field begins: in the first column, and not a comment, a list item or the end of a bracket.
_FIELD_START = re.compile(r"^(?![\s#\-\]}])", re.MULTILINE)
_EXPONENT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+\Z")
_UNFIT = re.compile("[\x00\ud800-\udfff]")
_ALIAS = "aliases (*name) are not allowed in a card"


class TooMuchError(ValueError):
    """YAML that is nested deeper, or has more parts, than any card."""


_Resolver = TypeVar("_Resolver", bound=type[yaml.resolver.Resolver])


def with_exponents(resolver: _Resolver) -> _Resolver:
    """Let a reader or writer of YAML take `1.2e3` for a number, as JSON and YAML 1.2 do.

    PyYAML follows YAML 1.1, which asks for a point and a sign: `1.2e+3`.
    Source: YAML 1.2.2, 10.3.2.
    """
    resolver.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+.0123456789"))
    return resolver


@with_exponents
class Loader(yaml.SafeLoader):
    """Safe YAML without aliases, which is all that a card needs."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, _ALIAS, event.start_mark)
        return super().compose_node(parent, index)


class _Bounded(Loader):
    """The same within limits, for new uploads."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        if self._depth >= LIMIT_DEPTH or self._nodes > LIMIT_NODES:
            raise TooMuchError(
                f"it is nested deeper than {LIMIT_DEPTH} levels or has more than "
                f"{LIMIT_NODES:,} values"
            )
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the front matter and the body of a README lie; ``start`` is 0 where it has none."""

    text: str
    start: int = 0
    stop: int = 0
    body: int = 0

    @property
    def front(self) -> str:
        return self.text[self.start : self.stop]

    @property
    def first_line(self) -> int:
        """The number of the line that the front matter begins on."""
        return self.text.count("\n", 0, self.start) + 1


@dataclass(slots=True)
class Front:
    """The front matter: its values as JSON has them, and the nodes they were made of."""

    parts: Parts
    values: dict[str, Any] = field(default_factory=dict)
    fields: list[tuple[str, yaml.Node, yaml.Node]] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    readable: bool = True
    in_braces: bool = False


def split(text: str) -> Parts:
    """Find the front matter of a README."""
    fence = _FENCE.match(text)
    return Parts(text, fence.start(1), fence.end(1), fence.end()) if fence else Parts(text)


def read(text: str) -> Front:
    """Read the front matter, noting everything that is wrong with its YAML; never raises.

    Where the YAML cannot be read as a whole, each field is read on its own, so that one slip does
    not hide the others.
    """
    front = Front(split(text))
    parts = front.parts
    if not parts.start:
        if _OPEN.match(text):
            front.readable = False
            front.notes.error(
                "/line/1", "The front matter is not closed.", "End it with a line of ---.", line=1
            )
        return front
    if len(parts.front) > LIMIT_FRONT_BYTES:
        front.readable = False
        front.notes.error(
            "/line/1",
            f"The front matter may have at most {LIMIT_FRONT_BYTES:,} characters.",
            "Move long tables to a file or to the prose.",
            line=1,
        )
        return front
    try:
        _take(front, compose(parts.front), parts.first_line - 1)
    except TooMuchError as error:
        front.readable = False
        _tell(front.notes, error, parts.front, parts.first_line - 1)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        front.readable = False
        _salvage(front, error)
    return front


def compose(source: str) -> yaml.Node | None:
    """YAML as nodes with their places; raises yaml.YAMLError, TooMuchError, RecursionError."""
    loader = _Bounded(source)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def plain(node: yaml.Node, notes: Notes, pointer: str, above: int) -> Any:
    """A node as JSON has it; ``above`` lines stand before it. What JSON lacks is noted, as None."""
    if isinstance(node, yaml.CollectionNode) and node.tag not in _PLAIN_TAGS:
        _refuse_tag(notes, pointer, node)
        return None
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, notes, pointer, above)
    if isinstance(node, yaml.SequenceNode):
        items = []
        for index, item in enumerate(node.value):
            place = f"{pointer}/{index}"
            notes.lines[place] = item.start_mark.line + 1 + above
            items.append(plain(item, notes, place, above))
        return items
    return _scalar(node, notes, pointer)


def _mapping(node: yaml.MappingNode, notes: Notes, pointer: str, above: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1 + above
        if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":merge"):
            notes.error(
                pointer or f"/line/{line}",
                "A field's name must be plain text.",
                "Write `name: value`.",
                line=line,
            )
            continue
        name = str(_scalar(key, notes, pointer))
        place = f"{pointer}/{escaped(name)}"
        if name in values:
            notes.error(
                place,
                f"{name} is given twice, first on line {notes.lines[place]}.",
                "Keep one of the two.",
                line=line,
            )
            continue
        notes.lines[place] = line
        values[name] = plain(value, notes, place, above)
    return values


def _scalar(node: yaml.Node, notes: Notes, pointer: str) -> Any:
    maker = yaml.constructor.SafeConstructor()
    if node.tag.endswith((":int", ":float")) and len(node.value) > _LONGEST_NUMBER:
        notes.error(
            pointer,
            f"{node.value[:20]}… is not a number to store.",
            "Put it in quotes if it is text.",
        )
        return None
    try:
        value = maker.construct_object(node, deep=True)
    except yaml.YAMLError:
        _refuse_tag(notes, pointer, node)
        return None
    except ValueError as error:
        notes.error(
            pointer,
            f"{str(node.value)[:80]} is no such date or number: {error}.",
            "Correct it, or put it in quotes if it is text.",
        )
        return None
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if problem := _unfit(value, node):
        notes.error(pointer, *problem)
        return None
    return value


def _refuse_tag(notes: Notes, pointer: str, node: yaml.Node) -> None:
    notes.error(
        pointer,
        f"The YAML tag {node.tag!r} means nothing in a card.",
        "Write plain text, a number, a list or a mapping.",
    )


def _unfit(value: Any, node: yaml.Node) -> tuple[str, str] | None:
    """What keeps a scalar out of JSON and databases, and the cure; None where it is welcome."""
    if isinstance(value, float) and not math.isfinite(value):
        cure = "Leave out what is not known; put text in quotes."
        return f"{node.value} is not a number to store.", cure
    if isinstance(value, str) and _UNFIT.search(value):
        return "It holds a character that no text has.", "Write it without that character."
    if isinstance(value, bytes):
        return "This is binary; a card holds text.", "Put it in a file."
    return None


def _take(front: Front, node: yaml.Node | None, above: int) -> None:
    """Add the fields of one composed mapping to the front matter."""
    if node is None or (isinstance(node, yaml.ScalarNode) and node.value == ""):
        return
    line = node.start_mark.line + 1 + above
    if not isinstance(node, yaml.MappingNode):
        front.readable = False
        front.notes.error(
            f"/line/{line}",
            "The front matter must be `field: value` lines.",
            "Write a field's name, a colon, a space and its value.",
            line=line,
        )
        return
    front.in_braces = bool(node.flow_style)
    front.fields += [
        (str(key.value), key, value)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    ]
    lines = dict(front.notes.lines)
    for name, value in _mapping(node, front.notes, "", above).items():
        if name in front.values:
            first = lines[f"/{escaped(name)}"]
            front.notes.error(
                f"/{escaped(name)}",
                f"{name} is given twice, first on line {first}.",
                "Keep one of the two.",
                line=line,
            )
        else:
            front.values[name] = value


def _salvage(front: Front, whole: Exception) -> None:
    """Read each field of YAML that is broken somewhere, and say of each what is wrong."""
    before = len(front.notes.findings)
    for first, source in islice(_pieces(front.parts.front), _PIECES):
        if len(front.notes.findings) - before >= _ERRORS:
            break
        above = front.parts.first_line - 1 + first
        try:
            _take(front, compose(source), above)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            _tell(front.notes, error, source, above)
    if len(front.notes.findings) == before:
        _tell(front.notes, whole, front.parts.front, front.parts.first_line - 1)
    front.fields.clear()


def _pieces(source: str) -> Iterator[tuple[int, str]]:
    starts = [
        match.start() for match in _FIELD_START.finditer(source) if match.start() < len(source)
    ]
    for start, stop in zip([0, *starts], [*starts, len(source)], strict=True):
        if source[start:stop].strip():
            yield source.count("\n", 0, start), source[start:stop]


def _tell(notes: Notes, error: Exception, source: str, above: int) -> None:
    mark = getattr(error, "problem_mark", None)
    # What is never closed is noticed at the end; the line with its last words says more.
    last = source.rstrip().count("\n")
    line = (min(mark.line, last) if mark else 0) + 1 + above
    words = getattr(error, "problem", None) or str(error)
    lines = source.splitlines() or [""]
    written = lines[min(mark.line, len(lines) - 1)] if mark else ""
    notes.error(
        f"/line/{line}", f"This is not valid YAML: {words}.", _cure(words, written), line=line
    )


def _cure(words: str, written: str) -> str:
    if "\t" in written[: len(written) - len(written.lstrip())] or "'\\t'" in words:
        return "Indent with spaces instead of tabs."
    if words == _ALIAS:
        return "Write out the value each time."
    if "mapping values are not allowed" in words:
        return "Put a text that has a colon in quotes, or correct the indentation."
    if "nested" in words:
        return "Make it flatter, or move it to a file."
    if "expected ',' or" in words or "expected the node content" in words:
        return "Close the bracket, or put the text in quotes."
    return "Fix the YAML between the --- lines."
