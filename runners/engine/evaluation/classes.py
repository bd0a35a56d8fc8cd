"""Class names and class numbers: which class a text stands for.

A text that is a label means that class: names decide. Otherwise it is the number of a class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hub.protocol.splits import MOST_LABELS

_NUMBER = re.compile(r"(0|[1-9][0-9]{0,8})(\.0)?")


class UnknownClassError(ValueError):
    """Texts that are neither labels nor class numbers, or that may be either."""


def table(texts: Iterable[str], labels: Sequence[str], *, of_model: bool) -> dict[str, int]:
    """The class number of each different text: all are labels, or all are class numbers.

    Labels that are numbers themselves may be meant either way by a model (``of_model``): where the
    two readings differ, raises UnknownClassError, as for texts of neither kind. In a data set the
    names decide.
    """
    different = sorted(set(texts))
    places = {label: place for place, label in enumerate(labels)}
    names = {text: places[text] for text in different if text in places}
    most = len(labels) or MOST_LABELS
    numbers = {
        text: int(match[1])
        for text in different
        if (match := _NUMBER.fullmatch(text)) and int(match[1]) < most
    }
    if len(names) == len(different):
        if of_model and len(numbers) == len(different) and names != numbers:
            raise UnknownClassError(
                "the numbers may be labels of the split or positions in its list of labels"
            )
        return names
    if len(numbers) == len(different):
        return numbers
    classes = names.keys() | numbers.keys()
    unknown = next(text for text in different if text not in classes or text not in names)
    place = "labels of the split" if labels else "class numbers, and the split names no labels"
    raise UnknownClassError(f"{unknown[:60]!r} is not among the {place}")
