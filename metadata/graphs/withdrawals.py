"""Withdrawn sources of a version, and the versions that depend on a withdrawn data set.

Data of a version's own training and of its ancestors' counts, and so do the ancestors themselves.
What the actor may not see is not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from metadata.graphs import relatives
from metadata.graphs.relatives import LineageNode
from registry.cards import mentions, resolution
from registry.core.permissions import Actor
from registry.models import Dataset, Version

_MOST_DEPENDANTS = 200


@dataclass(frozen=True, slots=True)
class WithdrawnSource:
    """A data set or an ancestor that was withdrawn; ``through`` is the ancestor whose data it is.

    Of a data set ``dataset`` is the entry, of an ancestor ``version`` is the version.
    """

    at: datetime
    reason: str
    dataset: Dataset | None = None
    version: Version | None = None
    through: Version | None = None

    @property
    def sentence(self) -> str:
        """The source and the reason of its withdrawal, as the end of a sentence."""
        if self.dataset is None:
            name = self.version.ref if self.version else "a model"
            is_deleted = self.version is not None and self.version.model.deleted_at is not None
            end = "deleted" if is_deleted else "withdrawn"
            return f"derived from {name}, which was {end}: {self.reason}"
        data = f"{self.dataset.public_title}, a data set that was withdrawn: {self.reason}"
        if self.through is None:
            return f"trained on {data}"
        return f"derived from {self.through.ref}, which was trained on {data}"


def sources_of(actor: Actor, version: Version) -> list[WithdrawnSource]:
    """The withdrawn things that a version rests on, its own data first; each once."""
    sources = list(_data_of(version, through=None))
    for ancestor in versions_in(relatives.ancestors(actor, version).relatives):
        if ancestor.state == Version.State.WITHDRAWN and ancestor.ended_at is not None:
            sources.append(WithdrawnSource(ancestor.ended_at, ancestor.reason, version=ancestor))
        elif ancestor.model.deleted_at is not None:
            reason = ancestor.model.deletion_reason or "no reason was given"
            sources.append(WithdrawnSource(ancestor.model.deleted_at, reason, version=ancestor))
        sources += _data_of(ancestor, through=ancestor)
    distinct: dict[tuple[int | None, int | None], WithdrawnSource] = {}
    for source in sources:
        key = (
            source.dataset.pk if source.dataset else None,
            source.version.pk if source.version else None,
        )
        distinct.setdefault(key, source)
    return list(distinct.values())


def dependants_of(actor: Actor, dataset: Dataset) -> list[Version]:
    """The served versions that were trained on a data set, or come from such; newest first."""
    rows = resolution.meanings([dataset]).values("version")
    visible = Version.objects.visible_to(actor).filter(state__in=Version.VISIBLE)
    direct = [
        version
        for version in visible.filter(pk__in=rows).select_related("model__namespace")[
            :_MOST_DEPENDANTS
        ]
        if _is_training(version, dataset)
    ]
    versions = {version.pk: version for version in direct}
    for version in direct:
        for descendant in versions_in(relatives.descendants(actor, version).relatives):
            versions.setdefault(descendant.pk, descendant)
    served = (row for row in versions.values() if row.state in Version.SERVED)
    return sorted(served, key=lambda row: -row.pk)


def _is_training(version: Version, dataset: Dataset) -> bool:
    names = mentions.training_names(version.typed_card)
    return dataset in resolution.datasets_of(version.model, names).values()


def _data_of(version: Version, *, through: Version | None) -> Iterator[WithdrawnSource]:
    names = mentions.training_names(version.typed_card)
    if not names:
        return
    entries = resolution.datasets_of(version.model, names)
    for entry in sorted(set(entries.values()), key=lambda entry: entry.slug):
        if entry.withdrawn_at is not None:
            yield WithdrawnSource(entry.withdrawn_at, entry.reason, dataset=entry, through=through)


def versions_in(nodes: Iterable[LineageNode]) -> Iterator[Version]:
    """The versions of a side of the lineage, each level after the one above it."""
    for node in nodes:
        if node.version is not None and not node.again:
            yield node.version
        yield from versions_in(node.relatives)
