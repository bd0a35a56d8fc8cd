"""What the evidence says of a version in one sentence, each part with the page that proves it.

A part without a stored result is left out; where none is left, the sentence says what is under way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils import timezone

from frontend.parts import formatting, labels
from frontend.presenters import figures, measurements, parity_figures, version_head
from hub.protocol.vocabularies import REFERENCE
from registry.versions import evidence
from runners.models import ConformanceResult, ConformanceVerdict
from runners.proofs import verdicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from frontend.presenters.evaluations import Line
    from registry.models import Variant, Version
    from runners.models import Measurement

_Check = ConformanceResult.Check
# Check -> what its figure is about, and what its inputs are called.
_COMPARED = {
    _Check.REFERENCE: ("equals the ONNX reference", "generated input"),
    _Check.BUNDLED: ("equals its stored test data", "data set"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the sentence: ``linked`` leads to its evidence; ``tone`` is pass, part or fail."""

    before: str
    linked: str
    after: str
    url: str
    tone: str = "pass"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.before, self.linked, self.after)))

    def at_the_beginning(self) -> Part:
        """The same part with a capital letter."""
        if self.before:
            return replace(self, before=self.before[:1].upper() + self.before[1:])
        return replace(self, linked=self.linked[:1].upper() + self.linked[1:])


@dataclass(frozen=True, slots=True)
class Sentence:
    """All parts, what fails first, and when the newest of the conformance results was stored."""

    parts: tuple[Part, ...]
    at: datetime | None = None

    @property
    def tone(self) -> str:
        """The worst tone of a part: fail, part, pass, or none where nothing was measured."""
        tones = {part.tone for part in self.parts}
        return next((tone for tone in ("fail", "part", "pass") if tone in tones), "")

    def __str__(self) -> str:
        words = [str(part) for part in self.parts]
        if self.at is not None:
            words.append(f"verified {self.at:%Y-%m-%d}")
        return f"{'; '.join(words)}." if words else ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is stored about one variant of a version, and the kinds of job that are still live."""

    results: Sequence[ConformanceResult] = ()
    fastest: Measurement | None = None
    timed: int = 0
    accuracy: Sequence[Line] = ()
    live: Collection[str] = ()


def write(
    version: Version, variant: Variant | None, of: Evidence, *, may_have: bool = True
) -> Sentence:
    """The sentence about a version and its chosen variant."""
    sentence = _write(version, variant, of, may_have=may_have)
    first, *rest = sentence.parts
    return replace(sentence, parts=(first.at_the_beginning(), *rest))


def _write(version: Version, variant: Variant | None, of: Evidence, *, may_have: bool) -> Sentence:
    if version.state == "withdrawn":
        url = version_head.place(version, "version-files")
        return Sentence((Part("withdrawn: its", "files", "were deleted", url, "fail"),))
    if version.state in ("draft", "submitted"):
        url = version_head.place(version, "version-checks")
        words = "conformance, latency and accuracy are measured after publication:"
        return Sentence((Part(words, "view checks", "", url, ""),))
    own = [row for row in of.results if variant is not None and row.variant_id == variant.pk]
    runtimes = _runtimes(version, own, is_live="conformance" in of.live)
    clauses = [*runtimes, *_equality(version, own), *_proof(version, variant)]
    clauses += [*_speed(version, of), *_accuracy(of.accuracy, variant)]
    parts = [*clauses, *_under_way(version, of, own), *_about(version, variant)]
    if version.model.is_gated and not may_have:
        model = version.model
        url = reverse("model-access", args=[model.namespace.slug, model.name])
        parts.append(Part("files are restricted:", "request access", "", url, ""))
    if not parts:
        url = version_head.place(version, "version-conformance")
        parts = [Part("nothing is measured yet:", "no job is queued", "", url, "")]
    parts.sort(key=lambda part: part.tone != "fail")
    return Sentence(tuple(parts), max((row.at for row in own), default=None))


def _runtimes(
    version: Version, own: Sequence[ConformanceResult], *, is_live: bool
) -> Iterator[Part]:
    by_runtime: dict[str, list[ConformanceResult]] = {}
    for row in own:
        by_runtime.setdefault(row.runtime, []).append(row)
    judged = {name: verdicts.together(rows) for name, rows in sorted(by_runtime.items())}
    page = version_head.place(version, "version-conformance") + _choice(version, own)
    passing = [
        labels.runtime(name)
        for name, verdict in judged.items()
        if verdict == ConformanceVerdict.PASSED and name != REFERENCE
    ]
    if passing:
        yield Part("runs on", _conjunction(passing), "", page)
    for name, verdict in judged.items():
        rows = by_runtime[name]
        title = f"{labels.runtime(name)} {rows[0].runtime_version}".strip()
        if verdict == ConformanceVerdict.FAILED:
            yield _failure(version, title, rows)
        elif verdict == ConformanceVerdict.DOES_NOT_RUN and name == REFERENCE:
            words = "does not run it, so nothing was compared with it"
            yield Part("the", "ONNX reference", words, page, "")
        elif verdict == ConformanceVerdict.DOES_NOT_RUN:
            yield Part("does not run on", title, "", page, "part")
        elif verdict == ConformanceVerdict.WRONG_REFERENCE:
            words = "is wrong here, which counts against no runtime"
            yield Part("the comparison with", "the ONNX reference", words, page, "part")
        elif verdict == ConformanceVerdict.WRONG_DATA:
            words = "are wrong, which counts against no runtime"
            yield Part("its", "stored test data", words, page, "part")
        elif verdict == ConformanceVerdict.CANT_TELL and name != REFERENCE:
            yield _undecided(title, rows, page, is_live=is_live)


def _undecided(title: str, rows: Sequence[ConformanceResult], page: str, *, is_live: bool) -> Part:
    """A runtime that runs a variant and waits for the comparison, or one that none could judge."""
    if not verdicts.is_uncompared(rows):
        return Part("could not be judged on", title, "", page, "part")
    words = "is queued or running" if is_live else "was not made"
    return Part("runs on", title, f"(the comparison with the ONNX reference {words})", page, "")


def _failure(version: Version, title: str, rows: Sequence[ConformanceResult]) -> Part:
    """The first failed check of a runtime: which, by how much, and when it was run."""
    row = next(row for row in rows if row.outcome == ConformanceResult.Outcome.FAILED)
    worst = parity_figures.largest(row.figures)
    by = "" if worst is None else f", off by {formatting.figure(worst)}"
    when = formatting.relative(row.at, timezone.now())
    url = version_head.place(version, "conformance", row.pk)
    check = row.get_check_kind_display().lower()
    return Part("fails on", title, f"({check} check{by}, {when})", url, "fail")


def _equality(version: Version, own: Sequence[ConformanceResult]) -> Iterator[Part]:
    """The largest difference over all runtimes that pass a comparison, on the fewest inputs."""
    for check, (words, inputs) in _COMPARED.items():
        rows = [
            row
            for row in own
            if row.check_kind == check
            and row.outcome == ConformanceResult.Outcome.PASSED
            and row.datasets
            and row.runtime != REFERENCE
        ]
        by_worst = [(parity_figures.largest(row.figures), row) for row in rows]
        measured = [(worst, row) for worst, row in by_worst if worst is not None]
        if not measured:
            continue
        worst, row = max(measured, key=lambda pair: pair[0])
        count = formatting.plural(min(row.datasets for _, row in measured), inputs)
        url = version_head.place(version, "conformance", row.pk)
        if worst == 0:
            yield Part(words, "exactly", f"on {count}", url)
        else:
            yield Part(f"{words} within", formatting.figure(worst), f"on {count}", url)


def _proof(version: Version, variant: Variant | None) -> Iterator[Part]:
    if variant is not None and variant.origin == "upgraded" and variant.statement is not None:
        url = version_head.place(version, "version-variants") + version_head.choice_of(
            version, variant
        )
        yield Part("beside the original it is", variant.statement.brief, "", url)


def _speed(version: Version, of: Evidence) -> Iterator[Part]:
    if of.fastest is not None:
        row = of.fastest
        rank = figures.unranked(row.p50)
        where = f"at p50{rank} on {row.device_title} with {measurements.runtime_of(row)}"
        yield Part("", figures.text(row.p50), where, measurements.address(row))
    elif of.timed:
        url = version_head.place(version, "version-benchmarks")
        words = formatting.plural(of.timed, "result")
        yield Part("latency has", words, "but no rank yet", url, "")


def _accuracy(lines: Sequence[Line], variant: Variant | None) -> Iterator[Part]:
    for line in lines:
        if variant is None or line.variant.pk != variant.pk:
            continue
        data = line.row.dataset_version
        on = f"{line.title.lower()} on {data.dataset.slug} {line.row.split}"
        on = f"{on}, 95{formatting.NARROW}% interval {line.interval}"
        tone = "pass"
        if line.is_less:
            on, tone = f"{on}, less than the claimed {line.claimed}", "part"
        yield Part("", line.value, on, reverse("job", args=[line.row.job_id]), tone)
        return


def _under_way(version: Version, of: Evidence, own: Sequence[ConformanceResult]) -> Iterator[Part]:
    missing = {"conformance": not own, "benchmark": not of.timed, "evaluation": not of.accuracy}
    kinds = [kind for kind, is_missing in missing.items() if is_missing and kind in of.live]
    words = [evidence.of_kind(kind).subject for kind in kinds]
    if words:
        first = "version-conformance" if not own else "version-benchmarks"
        url = version_head.place(version, first)
        verb = "is" if len(words) == 1 else "are"
        yield Part(f"{_conjunction(words)} {verb} queued or running:", "view progress", "", url, "")


def _about(version: Version, variant: Variant | None) -> Iterator[Part]:
    """Which of several models of a package the sentence is about."""
    count = sum(row.origin == "uploaded" for row in version_head.variants(version))
    if count > 1 and variant is not None:
        url = version_head.place(version, "version-variants")
        yield Part(f"this is {variant.name}, one of", f"{count} models", "of this version", url, "")


def _choice(version: Version, own: Sequence[ConformanceResult]) -> str:
    return version_head.kept_choice(version, own[0].variant.name) if own else ""


def _conjunction(words: Sequence[str]) -> str:
    """A, B and C."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
