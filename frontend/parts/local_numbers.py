"""Numbers that browsers write in the format of their reader: ``local.js`` finds ``<data>``.

Pages hold one format for everybody, so that shared caches keep one copy of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.utils.html import format_html

from frontend.parts import formatting

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

# What readers write differently: a number with groups of thousands or decimals.
_NUMBER = re.compile(rf"{formatting.MINUS}?\d+(?:{formatting.NARROW}\d{{3}})*(?:\.\d+)?(?![\d.e])")
_SEPARATORS = (".", formatting.NARROW)


def mark(text: str) -> SafeString | str:
    """The text with its number as the value of ``<data>``, if it begins with one to be adapted."""
    match = _NUMBER.match(text)
    if match is None or not any(mark in match.group() for mark in _SEPARATORS):
        return text
    value = match.group().replace(formatting.NARROW, "").replace(formatting.MINUS, "-")
    return format_html('<data value="{}">{}</data>', value, text)


def of(write: Callable[[Any], str]) -> Callable[[Any], SafeString | str]:
    """A filter that writes a value as ``write`` does, and marks its number."""

    @wraps(write)
    def marked(value: Any) -> SafeString | str:
        return mark(write(value))

    return marked
