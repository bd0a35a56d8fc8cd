"""How often the versions of a model were downloaded, by week: counts alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from registry.core.usage import week
from registry.models import DownloadWeek, RegisteredModel, Version

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from registry.core.permissions import Actor


@dataclass(frozen=True, slots=True)
class Week:
    """The downloads of a week, from its Monday; ``by_version`` are pairs, the newest first."""

    monday: date
    by_version: tuple[tuple[int, int], ...]

    @property
    def downloads(self) -> int:
        return sum(count for _, count in self.by_version)


def rows(actor: Actor, of: RegisteredModel) -> QuerySet[DownloadWeek]:  # noqa: ARG001 - a selector
    """The counts of a visible model, the newest week and version first."""
    counts = DownloadWeek.objects.filter(
        version__model=of, version__state__in=Version.VISIBLE
    ).select_related("version")
    return counts.order_by("-week", "-version__number")


def weeks(actor: Actor, of: RegisteredModel, *, most: int) -> list[Week]:
    """The last ``most`` weeks without a gap, this one first; none without any download in them."""
    this_week = week(datetime.now(UTC).date())
    mondays = [this_week - timedelta(weeks=ago) for ago in range(most)]
    counts: dict[date, Counter[int]] = defaultdict(Counter)
    recent = rows(actor, of).filter(week__gte=mondays[-1])
    for monday, number, downloads in recent.values_list("week", "version__number", "downloads"):
        counts[monday][number] += downloads
    if not counts:
        return []
    return [Week(monday, tuple(sorted(counts[monday].items(), reverse=True))) for monday in mondays]
