"""JSON in one form only (RFC 8785), so that a digest or a signature of it means the same anywhere.

Names are sorted by their UTF-16 code units, numbers are written as ECMAScript writes them.
"""

from __future__ import annotations

import json
import math
from typing import Any

_EXACT = 1 << 53


class NotCanonicalError(ValueError):
    """The value has no canonical form: an unsafe integer, no number, or text that is no Unicode."""


def encode(value: Any) -> bytes:
    """Write plain data (None, bool, int, float, str, list, dict) in its canonical form."""
    try:
        return _text(value).encode("utf-8")
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotCanonicalError(f"The value cannot be written: {error}.") from None


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return f"{{{','.join(f'{_text(name)}:{_text(value[name])}' for name in names)}}}"
    raise NotCanonicalError(f"A {type(value).__name__} is not a JSON value.")


def _number(value: float) -> str:
    if isinstance(value, int):
        if abs(value) >= _EXACT:
            raise NotCanonicalError("Integers beyond 2^53 are not exact in every JSON parser.")
        return str(value)
    if not math.isfinite(value):
        raise NotCanonicalError("A number must be finite.")
    return _ecmascript(value)


def _ecmascript(value: float) -> str:
    """Write a finite number as Number::toString does: shortest digits, exponents at the ends."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    power = int(exponent or 0) + len(whole)
    digits = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(digits) if whole.strip("0") == "" else 0
    digits = digits.rstrip("0")
    count = len(digits)
    if 0 < power <= 21:
        if count <= power:
            return f"{sign}{digits}{'0' * (power - count)}"
        return f"{sign}{digits[:power]}.{digits[power:]}"
    if -6 < power <= 0:
        return f"{sign}0.{'0' * -power}{digits}"
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{power - 1:+d}"
