"""Two models on the same rows: on how many only one of them is right, and what that proves.

Intervals of two accuracies overlap long before a difference on the same rows is chance, since most
rows are right or wrong for both. Source: McNemar (1947), in its exact form (Agresti, Categorical
Data Analysis, section 11.1).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Final

from hub.protocol import intervals

# Rows whose bits a report may hold: 12.5 kB.
MOST_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Pairs:
    """The same ``rows`` for two models; ``gains`` only the second has right, ``losses`` the first.

    The test takes the rows for independent of one another.
    """

    rows: int
    gains: int
    losses: int

    @property
    def difference(self) -> float:
        """The accuracy of the second model minus that of the first."""
        return (self.gains - self.losses) / self.rows

    @property
    def p_value(self) -> float:
        """The two-sided p of McNemar's exact test, that gains and losses are as likely."""
        fewer, total = min(self.gains, self.losses), self.gains + self.losses
        if 2 * fewer == total:
            return 1.0
        return min(1.0, 2 * intervals.binomial_tail(fewer, total, 0.5))


def compare(first: bytes, second: bytes, rows: int) -> Pairs:
    """Compare bits of right rows, as `read` gives them, of two models."""
    one, other = int.from_bytes(first), int.from_bytes(second)
    return Pairs(rows, gains=(other & ~one).bit_count(), losses=(one & ~other).bit_count())


def write(bits: bytes) -> str:
    """Bits of right rows as a text of a report: the first row is the highest bit of a byte."""
    return base64.b64encode(bits).decode()


def read(text: object, rows: int, right: int) -> bytes | None:
    """The bits of a report; None where they are not those of so many right ones of ``rows``."""
    if not isinstance(text, str) or not text or rows > MOST_ROWS:
        return None
    try:
        bits = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    fits = len(bits) == (rows + 7) // 8 and int.from_bytes(bits).bit_count() == right
    return bits if fits else None
