"""Conditions of aliases: the evidence that a version needs before an alias may name it.

A rule is stored as a list of objects, such as `{"kind": "conformance", "runtimes": 2}`, and read
into conditions here, where it enters. A package that can answer a question about versions registers
a kind (docs/ports.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from hub.protocol import problems, strict
from hub.protocol.ports import Port
from registry.models import Version

MOST = 20
_READER = strict.Reader()


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a version meets a condition, and the figures that say so."""

    is_met: bool
    detail: str


class Condition(ABC):
    """A demand; a subclass is a frozen dataclass whose fields are texts and whole numbers.

    Its method `__post_init__` raises ValueError, with the reason, for values that mean nothing.
    """

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The demand in a few words."""

    @abstractmethod
    def answer(self, version: Version, present: Version | None) -> Answer:
        """Whether a version meets it; ``present`` is the version that the alias names now."""


@dataclass(frozen=True, slots=True)
class ConditionKind:
    """A kind of evidence that a rule of an alias may demand: its name, and how it is checked."""

    name: str
    condition: type[Condition]


condition_kinds = Port(ConditionKind)


@dataclass(frozen=True, slots=True)
class UnknownCondition(Condition):
    """A stored condition of a kind that this hub does not offer (any more): no version meets it."""

    kind: str

    @property
    def sentence(self) -> str:
        return f"condition {self.kind}"

    def answer(self, version: Version, present: Version | None) -> Answer:
        return Answer(is_met=False, detail="this hub cannot check it")


def parse(documents: Sequence[Any]) -> list[dict[str, Any]]:
    """The conditions of a request as they are stored, each with all of its values.

    Raises InvalidRequest, with the place and what is known, for an unknown kind or value.
    """
    return [_document(place, document) for place, document in enumerate(documents)]


def stored(documents: Sequence[dict[str, Any]]) -> list[Condition]:
    """The conditions of a stored rule."""
    kinds = {kind.name: kind.condition for kind in condition_kinds}
    conditions: list[Condition] = []
    for document in documents:
        values = dict(document)
        kind = str(values.pop("kind", ""))
        try:
            conditions.append(_READER.read(kinds[kind], values))
        except (KeyError, ValueError):
            conditions.append(UnknownCondition(kind))
    return conditions


def _document(place: int, document: Any) -> dict[str, Any]:
    pointer = f"/conditions/{place}"
    if not isinstance(document, dict):
        raise problems.InvalidRequest.at(pointer, "A condition is an object with a kind.")
    values = dict(document)
    name = values.pop("kind", None)
    kinds = {kind.name: kind.condition for kind in condition_kinds}
    if not isinstance(name, str) or name not in kinds:
        offers = "; ".join(f"{kind} ({_values(condition)})" for kind, condition in kinds.items())
        raise problems.InvalidRequest.at(
            pointer, f"{str(name)[:60]!r} is no kind of condition. Known: {offers}."
        )
    condition = kinds[name]
    unknown = sorted(set(values) - {field.name for field in fields(condition)})  # type: ignore[arg-type]
    if unknown:
        raise problems.InvalidRequest.at(
            pointer,
            f"The condition {name} has no value {unknown[0][:60]!r}. Its values: "
            f"{_values(condition)}.",
        )
    try:
        return {"kind": name, **asdict(_READER.read(condition, values))}  # type: ignore[call-overload]
    except ValueError as error:
        raise problems.InvalidRequest.at(pointer, f"{name}: {error}.") from error


def _values(condition: type[Condition]) -> str:
    return ", ".join(field.name for field in fields(condition))  # type: ignore[arg-type]
