"""What becomes of a file of a package: its copy, or another file made from it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from runners.engine.starter import efficientnet, torch_weights


class Recipe(StrEnum):
    """How a file of a version is made from one of a package."""

    COPY = "copy"
    JSON_LINES = "json-lines"
    MAGIKA_LABELS = "magika-labels"
    EFFICIENTNET_LITE0 = "efficientnet-lite0"


class ContentError(Exception):
    """The content is not what the recipe needs."""


def _lines(content: bytes) -> bytes:
    """A JSON list of texts as one line each."""
    return _text(json.loads(content))


def _magika_labels(content: bytes) -> bytes:
    """The labels in the configuration of a Magika model as one line each."""
    whole = json.loads(content)
    return _text(whole.get("target_labels_space") if isinstance(whole, dict) else None)


def _text(names: object) -> bytes:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ContentError("The file holds no list of texts.")
    return "".join(f"{' '.join(name.split())}\n" for name in names).encode()


def _efficientnet(content: bytes) -> bytes:
    model = efficientnet.convert(torch_weights.read(io.BytesIO(content)))
    return bytes(model.SerializeToString(deterministic=True))


# What a recipe makes of the content of a file; a copy is made without holding it in memory.
RECIPES: Final[dict[Recipe, Callable[[bytes], bytes]]] = {
    Recipe.JSON_LINES: _lines,
    Recipe.MAGIKA_LABELS: _magika_labels,
    Recipe.EFFICIENTNET_LITE0: _efficientnet,
}
ERRORS: Final = (ContentError, torch_weights.WeightsError, ValueError, RecursionError)
