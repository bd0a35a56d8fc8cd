"""The batch of the offline scenario: the one of the highest throughput, unless the model fixes it.

Batches of 1, 2, 4 … are tried, each in a fresh process, up to a maximum or what memory allows. The
choice is a pure function of what was tried, so that it can be made again from a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

CHOSEN, FIXED = "highest throughput", "fixed by the model"
ENDS = ("maximum", "memory", "slower", "failed", "time", "fixed")
RULE = "the smallest batch within 3 % of the highest throughput"
_WITHIN = 0.97
# Two larger batches in a row that are this much slower end the trials.
_SLOWER = 0.9
_MOST_MEMORY = 0.8


def row_of(batch: int, process: dict[str, Any]) -> dict[str, Any]:
    """What the process of one batch gave, for the record."""
    return {
        "batch": batch,
        "inferences": process["inferences"],
        "wall_s": process["wall_s"],
        "peak_rss_bytes": process["peak_rss_bytes"],
    }


def throughput(row: dict[str, Any]) -> float:
    """Rows per second of a batch that was tried."""
    seconds = row["wall_s"]
    return row["batch"] * row["inferences"] / seconds if seconds else 0.0


def best(rows: Sequence[dict[str, Any]]) -> int:
    """The batch that RULE chooses; 1 where nothing was tried."""
    most = max(map(throughput, rows), default=0.0)
    return min((row["batch"] for row in rows if throughput(row) >= _WITHIN * most), default=1)


def is_slower(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether the last two batches are so much slower than the best that the trials end."""
    most = max(map(throughput, rows), default=0.0)
    return len(rows) > 2 and all(throughput(row) < _SLOWER * most for row in rows[-2:])


def is_too_large(rows: Sequence[dict[str, Any]], memory_bytes: int) -> bool:
    """Whether twice the last batch would come near the limit of memory, by the growth until now.

    A batch adds what its rows need, so that the step to twice the batch is twice the last step.
    """
    peaks = [row["peak_rss_bytes"] for row in rows if isinstance(row["peak_rss_bytes"], int)]
    if len(peaks) < 2:
        return False
    step = max(peaks[-1] - peaks[-2], 0)
    return peaks[-1] + 2 * step > _MOST_MEMORY * memory_bytes
