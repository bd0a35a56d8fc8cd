"""Constraints that tables share: an enumeration is one thing in code and database."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from hub.protocol.intervals import OF_ROWS, IntervalMethod

HEX64 = r"^[0-9a-f]{64}$"
HEX40 = r"^[0-9a-f]{40}$"
# The column ``path`` is relative, and stays within its folder.
RELATIVE_PATH = (
    ~models.Q(path="")
    & ~models.Q(path__startswith="/")
    & ~models.Q(path__endswith="/")
    & ~models.Q(path__contains="//")
    & ~models.Q(path__contains="\\")
    & ~models.Q(path__regex=r"(^|/)\.\.?(/|$)")
)


def one_of(field: str, choices: type[models.TextChoices], table: str) -> models.CheckConstraint:
    """A check that ``field`` holds one of ``choices``."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{field}__in": choices.values}), name=f"{table}_{field}_known"
    )


def matches(field: str, pattern: str, table: str) -> models.CheckConstraint:
    """A check that ``field`` matches the regular expression ``pattern``."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{field}__regex": pattern}), name=f"{table}_{field}_pattern"
    )


def or_empty(field: str, pattern: str, table: str) -> models.CheckConstraint:
    """A check that ``field`` is empty, or matches the regular expression ``pattern``."""
    return models.CheckConstraint(
        condition=models.Q(**{field: ""}) | models.Q(**{f"{field}__regex": pattern}),
        name=f"{table}_{field}_pattern",
    )


def at_most(field: str, length: int, table: str) -> models.CheckConstraint:
    """A check that ``field`` has at most ``length`` characters, also where the column has none."""
    return models.CheckConstraint(
        condition=LessThanOrEqual(Length(field), length), name=f"{table}_{field}_length"
    )


def method_of_interval() -> models.CharField[str, str]:
    """The column of the method of an interval; empty for none.

    Rows without it were made when every interval was a percentile bootstrap.
    """
    return models.CharField(
        max_length=64, blank=True, default="", db_default=str(IntervalMethod.PERCENTILES)
    )


def known_interval(table: str) -> models.CheckConstraint:
    """A check that the column `interval_method` is one of the hub's, or empty."""
    return models.CheckConstraint(
        condition=models.Q(interval_method__in=["", *map(str, OF_ROWS)]),
        name=f"{table}_interval_method_known",
    )
