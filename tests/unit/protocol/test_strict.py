"""The strict reader of answers that nobody has checked, and the lenient one of stored documents."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import pytest

from hub.protocol import stored, strict

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Port:
    name: str
    size: int | None = None


@dataclass(frozen=True)
class Answer:
    ports: tuple[Port, ...]
    state: Literal["ran", "refused"]
    seconds: float
    is_whole: bool
    counts: dict[str, int] = field(default_factory=dict)
    type_: str = ""


@dataclass(frozen=True)
class Section:
    name: str = ""
    count: int = 0
    rate: float | None = None
    is_whole: bool = False
    reasons: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)


GOOD = {
    "ports": [{"name": "x", "size": 3}, {"name": "y", "size": None}],
    "state": "ran",
    "seconds": 1,
    "is_whole": True,
    "counts": {"Add": 2},
    "type": "model",
}
READER = strict.Reader()


def test_an_answer_is_read_by_its_types():
    ports = (Port("x", 3), Port("y"))
    assert READER.read(Answer, GOOD) == Answer(ports, "ran", 1.0, True, {"Add": 2}, "model")


def test_unknown_keys_are_left_out():
    assert READER.read(Answer, GOOD | {"new": {"deep": [1]}}) == READER.read(Answer, GOOD)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"ports": {}}, "ports is no list"),
        ({"ports": [1]}, r"ports\[0\] is no object"),
        ({"ports": [{"size": 1}]}, r"ports\[0\].name is missing"),
        ({"ports": [{"name": "x", "size": True}]}, r"ports\[0\].size is no int"),
        ({"state": "unknown"}, "state is none of ran, refused"),
        ({"state": ["ran"]}, "state is none of"),
        ({"seconds": math.nan}, "seconds is not finite"),
        ({"seconds": math.inf}, "seconds is not finite"),
        ({"seconds": 10**400}, "seconds is not finite"),
        ({"seconds": "1"}, "seconds is no float"),
        ({"seconds": True}, "seconds is no float"),
        ({"is_whole": 1}, "is_whole is no bool"),
        ({"counts": {"Add": "two"}}, "counts.Add is no int"),
        ({"counts": [["Add", 2]]}, "counts is no object"),
    ],
)
def test_another_shape_is_refused_with_its_place(change, cause):
    with pytest.raises(strict.UnreadableError, match=cause):
        READER.read(Answer, GOOD | change)


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(strict.UnreadableError, match="the answer is no object"):
        READER.read(Answer, value)


def test_a_complete_reader_asks_for_fields_with_defaults():
    reader = strict.Reader(is_complete=True)
    with pytest.raises(strict.UnreadableError, match="counts is missing"):
        reader.read(Answer, {key: value for key, value in GOOD.items() if key != "counts"})
    assert reader.read(Port, {"name": "x"}) == Port("x")


def test_an_origin_has_its_own_readers_and_bounds():
    reader = strict.Reader({int: strict.count}, limit=lambda _, values, __: values[:1])
    assert reader.read(Answer, GOOD).ports == (Port("x", 3),)
    with pytest.raises(strict.UnreadableError, match=r"counts\.Add is below 0"):
        reader.read(Answer, GOOD | {"counts": {"Add": -1}})


def test_a_stored_section_is_never_refused():
    document = {
        "name": 1, "count": True, "rate": math.inf, "is_whole": 1, "reasons": "none",
        "figures": {"p50": 1.5, "p99": "late", "p95": math.nan}, "new": 1,
    }  # fmt: skip
    reader = stored.Reader()
    assert reader.read(Section, document) == Section(figures={"p50": 1.5})
    assert reader.read(Section, "text", count=2) == Section(count=2)
    assert stored.Reader({"int": lambda _: 7}).read(Section, {"count": 1}).count == 7


class Word(StrEnum):
    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class Reply:
    word: Word
    text: str = "none"
    parts: tuple[str, ...] = field(default_factory=tuple)


def test_a_missing_field_has_its_default_unless_the_reader_is_complete():
    assert READER.read(Reply, {"word": "no"}) == Reply(Word.NO)
    with pytest.raises(strict.UnreadableError, match="text is missing"):
        strict.Reader(is_complete=True).read(Reply, {"word": "no"})


def test_a_member_of_an_enum_is_read_by_its_value():
    assert READER.read(Reply, {"word": "yes"}).word is Word.YES
    for value in ("maybe", None, ["yes"]):
        with pytest.raises(strict.UnreadableError, match="word is none of yes, no"):
            READER.read(Reply, {"word": value})
