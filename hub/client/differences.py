"""What differs between two versions: their files, variants and cards."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hub.client.hub import Hub
from hub.protocol import problems, refs

if TYPE_CHECKING:
    from hub.client.rest.shared import Version

_FACTS: Final = ("opset", "precision", "parameters", "macs", "memory_bytes", "size")
_COSTS: Final = frozenset({"macs", "memory_bytes"})
_COUNTING: Final = "skeleton"
# Kinds of jobs that make a variant.
_MAKING: Final = frozenset({"describe", "upgrade", "convert"})
_UNFINISHED: Final = frozenset({"queued", "running"})


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A path whose content differs; its sizes in bytes, None where a version lacks it."""

    path: str
    before: int | None
    after: int | None

    @property
    def change(self) -> str:
        """`added`, `removed` or `changed`."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """A fact of a variant that differs; None where a version lacks the variant or the fact.

    ``pending`` names the versions, of before and after, whose job about it has not ended.
    """

    variant: str
    fact: str
    before: str | int | None
    after: str | int | None
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs from one version to another; `card` is a unified diff, empty without any."""

    before: str
    after: str
    files: tuple[FileDifference, ...]
    variants: tuple[VariantDifference, ...]
    card: str

    def __bool__(self) -> bool:
        return bool(self.files or self.variants or self.card)


def diff(hub: Hub, before: str, after: str) -> Difference:
    """Compare two versions, of one model or of two; without a number it is the newest.

    Raises NotFound.
    """
    first, second = _read(hub, before), _read(hub, after)
    return Difference(
        before=first.ref,
        after=second.ref,
        files=_files(first, second),
        variants=_variants(first, second),
        card=_card(hub, first, second),
    )


def _read(hub: Hub, ref: str) -> Version:
    parsed = refs.parse(ref)
    number = parsed.number or hub.versions.resolve(ref=ref).number
    return hub.versions.read(parsed.name, number)


def _files(first: Version, second: Version) -> tuple[FileDifference, ...]:
    before = {file.path: file for file in first.files if not file.derived}
    after = {file.path: file for file in second.files if not file.derived}
    return tuple(
        FileDifference(
            path,
            before[path].size if path in before else None,
            after[path].size if path in after else None,
        )
        for path in sorted(before.keys() | after.keys())
        if path not in before or path not in after or before[path].sha256 != after[path].sha256
    )


def _variants(first: Version, second: Version) -> tuple[VariantDifference, ...]:
    before = {variant.name: variant for variant in first.variants}
    after = {variant.name: variant for variant in second.variants}
    differences = []
    for name in sorted(before.keys() | after.keys()):
        for fact in _FACTS:
            old, new = (getattr(side.get(name), fact, None) for side in (before, after))
            if old != new:
                pending = tuple(
                    version.ref
                    for version, value in ((first, old), (second, new))
                    if value is None and _is_pending(version, name, fact)
                )
                differences.append(VariantDifference(name, fact, old, new, pending))
    return tuple(differences)


def _is_pending(version: Version, variant: str, fact: str) -> bool:
    """Whether a job may still give a version this fact, or the variant itself."""
    if version.state == "submitted":
        return True
    is_there = any(each.name == variant for each in version.variants)
    if is_there and fact not in _COSTS:
        return False
    kinds = {_COUNTING} if is_there else _MAKING
    states = [job.state for job in version.jobs if job.kind in kinds]
    # Counting is queued for each variant when its version is published.
    return not _UNFINISHED.isdisjoint(states) or (is_there and not states)


def _card(hub: Hub, first: Version, second: Version) -> str:
    texts = []
    for version in (first, second):
        try:
            texts.append(hub.cards.read(refs.parse(version.ref).name, version.number))
        except problems.NotFound:
            texts.append("")
    return "\n".join(
        difflib.unified_diff(
            texts[0].splitlines(), texts[1].splitlines(), first.ref, second.ref, n=2, lineterm=""
        )
    )
