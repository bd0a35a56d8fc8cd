"""Reads a question in words as filters of the list: "fast image classifier under 20 MB".

The grammar is small and fixed: phrases of `registry.catalogue.phrases`, and quantities with a
comparison and a unit. What it does not know stays text, as does a single word, a word that is part
of a name (`fast-rcnn`), and whatever stands in quotation marks. Time is linear in the text: each
word is looked at in windows of a fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from hub.protocol import filters, problems
from hub.protocol.accuracy import ERRORS, SHARES
from registry.catalogue import accuracies, phrases
from registry.catalogue.phrases import Phrase

LONGEST: Final = 200
_TOKEN = re.compile(r'"[^"]*"?|[<>≤≥]=?|[^\s"<>≤≥]+')
_NUMBER = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([a-zµμ%]*)", re.ASCII | re.IGNORECASE)
_EDGES = ",.;:!?()[]'"
# Filters of which a list has several; of every other one the first counts.
MANY: Final = frozenset((*filters.CHOICES, "min", "max"))
_MOST = 2**63 - 1
_NO_METRIC = "The order by accuracy needs a limit of it, such as “over 90 % on digits”."


@dataclass(frozen=True, slots=True)
class Part:
    """Words of a question, and the parameter of the list and its value that they mean."""

    words: str
    parameter: str
    value: str


@dataclass(frozen=True, slots=True)
class Unused:
    """Words that name a filter that cannot be applied, and why."""

    words: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as filters, and the text that is still searched for."""

    parts: tuple[Part, ...] = ()
    unused: tuple[Unused, ...] = ()
    rest: str = ""

    @property
    def values(self) -> dict[str, list[str]]:
        """The parameters of the list that the question means, without its text."""
        values: dict[str, list[str]] = {}
        for part in self.parts:
            values.setdefault(part.parameter, []).append(part.value)
        return values

    def beside(self, choices: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The parameters with those that were chosen apart from the question.

        Values of a filter that takes several are added; a choice of any other filter wins.
        """
        merged = {name: [value for value in values if value] for name, values in choices.items()}
        for name, values in self.values.items():
            own = merged.get(name, [])
            merged[name] = [*own, *values] if name in MANY or not own else own
        return merged | {"q": [self.rest]}


@dataclass(frozen=True, slots=True)
class _Token:
    raw: str
    word: str


@dataclass(frozen=True, slots=True)
class _Span:
    """A part that ends before the token ``stop``; several where words mean several filters."""

    stop: int
    meanings: tuple[tuple[str, str], ...]


def is_limit(parameter: str, text: str) -> bool:
    """Whether this hub has the metric and the data set that a limit of accuracy names."""
    try:
        accuracies.limits(*([text], []) if parameter == "min" else ([], [text]))
    except problems.InvalidRequest:
        return False
    return True


def read(
    text: str,
    *,
    devices: Mapping[str, str],
    accepts: Callable[[str, str], bool] = is_limit,
) -> Reading:
    """The filters that a text asks for; what is left keeps its order.

    ``devices`` are device classes by the names that people write, in lower case; ``accepts`` says
    whether a limit of accuracy, by its parameter, names data of this hub.
    """
    reading = _Reader(text[:LONGEST], devices, accepts).read()
    if reading.parts and _Reader(reading.rest, devices, accepts).read().parts:
        # Words that stand beside each other only now are no phrase of the question.
        return replace(reading, rest=f'"{reading.rest.replace(chr(34), "")}"')
    return reading


class _Reader:
    def __init__(
        self, text: str, devices: Mapping[str, str], accepts: Callable[[str, str], bool]
    ) -> None:
        self.text = text
        self.devices = devices
        self.accepts = accepts
        self.tokens = [_token(raw) for raw in _TOKEN.findall(text)]

    def read(self) -> Reading:
        spans = self._spans()
        self._describe(spans)
        if len(self.tokens) < 2:
            spans = {}  # one word is a name
        parts: list[Part] = []
        unused: list[Unused] = []
        rest: list[_Token] = []
        at = 0
        while at < len(self.tokens):
            span = spans.get(at)
            if span is None:
                rest.append(self.tokens[at])
                at += 1
                continue
            words = " ".join(token.raw for token in self.tokens[at : span.stop]).strip(_EDGES + " ")
            for parameter, value in span.meanings:
                if parameter in MANY or all(part.parameter != parameter for part in parts):
                    parts.append(Part(words, parameter, value))
                else:
                    unused.append(Unused(words, "The question has another such filter."))
            at = span.stop
        if not parts:
            return Reading(rest=self.text.strip())
        parts, refused = _orderable(parts)
        left = [token for token in rest if token.word not in phrases.FILLERS]
        left_text = " ".join(token.raw.strip(",;") for token in left).strip()
        return Reading(tuple(dict.fromkeys(parts)), (*unused, *refused), left_text)

    def _spans(self) -> dict[int, _Span]:
        spans: dict[int, _Span] = {}
        at = 0
        while at < len(self.tokens):
            span = self._quantity(at) or self._phrase(at) or self._device(at)
            if span:
                spans[at] = span
            at = span.stop if span else at + 1
        return spans

    def _describe(self, spans: dict[int, _Span]) -> None:
        """Add the adjectives that stand before something that was read, or before `model`."""
        # From the end, so that each of several adjectives in a row stands before what was read.
        for at in range(len(self.tokens) - 2, -1, -1):
            word = self.tokens[at].word
            if word not in phrases.ADJECTIVES or at in spans:
                continue
            after = at + 1
            if self._word(after) in phrases.BETWEEN and after + 1 in spans:
                after += 1
            if after in spans or self._word(after) in phrases.DESCRIBED:
                spans[at] = _Span(at + 1, (phrases.ADJECTIVES[word],))

    def _word(self, at: int) -> str:
        return self.tokens[at].word if 0 <= at < len(self.tokens) else ""

    def _longest(
        self, at: int, vocabulary: AbstractSet[Phrase] | Mapping[Phrase, object], most: int
    ) -> Phrase:
        """The longest of the phrases that begins at a token; empty for none."""
        words = tuple(token.word for token in self.tokens[at : at + most])
        lengths = range(len(words), 0, -1)
        return next((words[:many] for many in lengths if words[:many] in vocabulary), ())

    def _phrase(self, at: int) -> _Span | None:
        phrase = self._longest(at, phrases.PHRASES, phrases.LONGEST)
        return _Span(at + len(phrase), (phrases.PHRASES[phrase],)) if phrase else None

    def _device(self, at: int) -> _Span | None:
        """A device class after `on` or `measured on`."""
        start = at + 1 if self._word(at) == "measured" else at
        stop, device = self._on_device(start)
        if not device:
            return None
        return _Span(stop, ((filters.MEASURED_ON.name if start > at else "device", device),))

    def _on_device(self, at: int) -> tuple[int, str]:
        if self._word(at) != "on":
            return at, ""
        words = [token.word for token in self.tokens[at + 1 : at + 9]]
        for many in range(len(words), 0, -1):
            if device := self.devices.get(" ".join(words[:many]), ""):
                return at + 1 + many, device
        return at, ""

    def _quantity(self, at: int) -> _Span | None:
        """A limit: a comparison, a number and a unit; what it is of stands before or after."""
        # Subject ("latency"), data of an accuracy ("on digits"), comparison ("under"), number and
        # unit ("20 MB"); what is not said before the number may follow it ("20 MB of memory",
        # "20 ms at most"). Without subject, comparison and unit a number is a word like others.
        start = at
        subject = self._longest(at, phrases.SUBJECTS, 3)
        at += len(subject)
        data, at = self._data(at) if subject else ("", at)
        if subject and self._word(at) in ("of", "is", "="):
            at += 1
        sign, at = self._sign(at, phrases.MAXIMA, phrases.MINIMA)
        number = _NUMBER.fullmatch(self._word(at))
        if number is None or not (subject or sign or self._has_unit(at, number[2])):
            return None
        value, unit = float(number[1]), number[2].lower()
        at += 1
        if not unit and self._word(at) in phrases.UNITS:
            unit, at = self._word(at), at + 1
        if not subject:
            skip = 1 if self._word(at) in ("of", "in") else 0
            subject = self._longest(at + skip, phrases.SUBJECTS, 3)
            at += len(subject) + skip if subject else 0
        if not sign:
            sign, at = self._sign(at, phrases.AFTER_MAXIMA, phrases.AFTER_MINIMA)
        of = phrases.SUBJECTS[subject] if subject else ""
        if of in SHARES or of in ERRORS or of == "r2" or unit in phrases.SHARE:
            return self._accuracy(at, of or "accuracy", sign, (value, unit), data)
        meaning = _limit(of, sign, value, unit) if not data else None
        if meaning is None or at == start:
            return None
        if meaning[0] == filters.MAX_LATENCY.name:
            stop, device = self._on_device(at)
            if device:
                return _Span(stop, (meaning, ("device", device)))
        return _Span(at, (meaning,))

    def _has_unit(self, at: int, unit: str) -> bool:
        return unit in phrases.UNITS or self._word(at + 1) in phrases.UNITS

    def _sign(
        self, at: int, maxima: AbstractSet[Phrase], minima: AbstractSet[Phrase]
    ) -> tuple[str, int]:
        for sign, vocabulary in (("max", maxima), ("min", minima)):
            if phrase := self._longest(at, vocabulary, 3):
                return sign, at + len(phrase)
        return "", at

    def _data(self, at: int) -> tuple[str, int]:
        """The data set after `on`, as it is written; empty where none stands there."""
        name = self.tokens[at + 1].word if at + 1 < len(self.tokens) else ""
        if self._word(at) == "on" and re.fullmatch(r"[a-z0-9][\w.:@-]{0,150}", name, re.ASCII):
            return name, at + 2
        return "", at

    def _accuracy(
        self, at: int, metric: str, sign: str, amount: tuple[float, str], data: str
    ) -> _Span | None:
        value, unit = amount
        parameter = "max" if metric in ERRORS else "min"
        if unit and unit not in phrases.SHARE:
            return None
        if sign not in ("", parameter) or (not sign and metric in ERRORS):
            return None
        value *= phrases.SHARE.get(unit, 1)
        named, stop = (data, at) if data else self._data(at)
        # With the data set that is named, if this hub has it. Else the limit is of the metric
        # alone, unless a data set stood before the number.
        for where, end in ((named, stop), ("", at)):
            limit = f"{metric}{f'@{where}' if where else ''}={value:.6g}"
            if self.accepts(parameter, limit) and not (data and not where):
                return _Span(end, ((parameter, limit),))
        return None


def _token(raw: str) -> _Token:
    return _Token(raw, "" if raw.startswith('"') else raw.lower().strip(_EDGES))


def _limit(subject: str, sign: str, value: float, unit: str) -> tuple[str, str] | None:
    """The filter that a quantity means; None where the list has no such filter."""
    if subject == filters.OPSET.subject:
        if unit or value % 1 or not 1 <= value < 1e5 or sign == "min":
            return None
        return (filters.OPSET_MAX if sign else filters.OPSET).name, str(int(value))
    for bound in filters.BOUNDS.values():
        units = _units(bound, subject)
        if unit not in units:
            continue
        if sign != "max" and (sign or not subject or not bound.means_maximum):
            return None
        if bound.quantity.is_whole:
            number = int(value * units[unit])
            return (bound.name, str(number)) if number <= _MOST else None
        text = f"{value * units[unit]:.9f}".rstrip("0").rstrip(".")
        return (bound.name, text) if value < 1e6 else None
    return None


def _units(bound: filters.Bound, subject: str) -> Mapping[str, float]:
    """The units in which a quantity of this subject is a limit of a filter; none for another."""
    if subject:
        return bound.quantity.named if subject == bound.subject else {}
    return {} if bound.needs_subject else bound.quantity.alone


def _orderable(parts: list[Part]) -> tuple[list[Part], tuple[Unused, ...]]:
    """Without an order by accuracy where no limit says of which metric and data."""
    has_limit = any(part.parameter in ("min", "max") for part in parts)
    refused = [
        part
        for part in parts
        if part.parameter == "sort" and part.value == "accuracy" and not has_limit
    ]
    left = [part for part in parts if part not in refused]
    return left, tuple(Unused(part.words, _NO_METRIC) for part in refused)
