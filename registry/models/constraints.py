"""Constraints that tables share: an enumeration is one thing in code and database."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

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
