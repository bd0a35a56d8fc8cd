"""Numbers, sizes and times in the words that every page uses.

Decimal multiples only (1 M = 10^6, 1 MB = 10^6 bytes), narrow no-break spaces between thousands and
before units, a real minus sign, and three significant digits where a number is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from hub import counting
from hub.protocol import stored

NARROW = "\u202f"
MINUS = "\u2212"

_MULTIPLES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# As reports write what JSON cannot.
_UNENDING = {"inf": "infinite", "-inf": "infinite", "nan": "not a number"}
_SPANS = (
    (365 * 86400, "year"),
    (30 * 86400, "month"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
)


def grouped(number: int) -> str:
    """Whole number with narrow spaces between thousands: 1 234 567."""
    text = f"{abs(number):,}".replace(",", NARROW)
    return f"{MINUS}{text}" if number < 0 else text


def spread(numbers: Collection[int], noun: str) -> str:
    """The least and the most of some counts: 3 to 7 rounds; 1 round where all are equal."""
    least, most = min(numbers), max(numbers)
    return plural(most, noun) if least == most else f"{grouped(least)} to {plural(most, noun)}"


def rounded(number: float) -> str:
    """Three significant digits, without an exponent and without trailing zeros: 7.06, 12, 0.042."""
    if number == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(number))))
    text = f"{abs(number):.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if number < 0 else text


def quantity(number: int) -> str:
    """A count with its decimal multiple: 2.78 M, 61.1 k, 640."""
    return _multiple(number, "")


def size(count: int) -> str:
    """A number of bytes: 11.2 MB, 5 kB, 980 B."""
    return _multiple(count, "B")


def carbon(kilograms: float) -> str:
    """Emissions of CO2 equivalents: 20.5 g CO₂e, 1.5 kg CO₂e, 3.2 t CO₂e."""
    for factor, unit in ((1e3, "t"), (1.0, "kg")):
        if kilograms >= factor * 0.9995:
            return f"{rounded(kilograms / factor)}{NARROW}{unit}{NARROW}CO₂e"
    return f"{figure(kilograms * 1e3)}{NARROW}g{NARROW}CO₂e"


def _multiple(number: int, unit: str) -> str:
    for factor, letter in _MULTIPLES:
        # 999 500 rounds to 1 M, never to 1000 k
        if abs(number) >= factor * (0.9995 if factor > 1e3 else 1):
            return f"{rounded(number / factor)}{NARROW}{letter}{unit}"
    return f"{grouped(number)}{NARROW}{unit}" if unit else grouped(number)


def figure(value: Any) -> str:
    """A measured number of any size: 0, 0.012, 99.6, 2.4e-7, infinite; empty for none."""
    if isinstance(value, str):
        return _UNENDING.get(value, "")
    if not stored.is_number(value):
        return ""
    if not math.isfinite(value):
        return _UNENDING[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return grouped(value) if isinstance(value, int) else rounded(value)
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", MINUS)


def share(part: float) -> str:
    """A share of one as a percentage, never rounded up to all of it: 100 %, 99.99 %, 84 %."""
    text = f"{math.floor(part * 1e4 + 1e-6) / 100:.2f}".rstrip("0").rstrip(".")
    return f"{text}{NARROW}%"


def duration(seconds: float) -> str:
    """A span of time: 42 µs, 7.06 ms, 3.2 s, 2 min 5 s, 3 h 20 min."""
    if seconds < 1e-4:
        return f"{rounded(seconds * 1e6)}{NARROW}µs"
    if seconds < 1:
        return f"{rounded(seconds * 1e3)}{NARROW}ms"
    if seconds < 60:
        return f"{rounded(seconds)}{NARROW}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{NARROW}min {rest}{NARROW}s" if rest else f"{minutes}{NARROW}min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{NARROW}h {minutes}{NARROW}min" if minutes else f"{hours}{NARROW}h"


def relative(moment: datetime, now: datetime) -> str:
    """How long ago, or in how long: 2 days ago, in 3 months, just now."""
    seconds = (now - moment).total_seconds()
    for span, word in _SPANS:
        many = int(abs(seconds) // span)
        if many:
            # What has just been set for 7 days ends in 7 days, and not in 6.
            many = many if seconds > 0 else round(-seconds / span)
            text = f"{many} {word}{'' if many == 1 else 's'}"
            return f"{text} ago" if seconds > 0 else f"in {text}"
    return "just now" if seconds >= 0 else "in less than a minute"


def exact(moment: datetime) -> str:
    """Date and time in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 model, 12 models."""
    return f"{grouped(number)} {counting.noun(number, one, many)}"
