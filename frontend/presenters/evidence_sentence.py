"""What the evidence says of a version in one sentence, each part with the page that proves it.

A part without a stored result is left out; where none is left, the sentence says what is under way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from django.urls import reverse
from django.utils import timezone

from frontend.parts import formatting, labels
from frontend.presenters import figures, measurements, parity_figures, version_head
from frontend.presenters.evaluations import Line
from hub.protocol import phrases
from hub.protocol.vocabularies import REFERENCE
from registry.models import Variant, Version
from registry.versions import evidence
from runners.models import ConformanceResult, ConformanceVerdict, Measurement
from runners.proofs import verdicts

_Check = ConformanceResult.Check
# Clause -> its words; those in brackets lead to the evidence.
_WORDS = {
    "withdrawn": "withdrawn: its [files] were deleted",
    "unpublished": "conformance, latency and accuracy are measured after publication: "
    "[view checks]",
    "restricted": "files are restricted: [request access]",
    "nothing": "nothing is measured yet: [no job is queued]",
    "runs": "runs on [{runtime}]",
    "not compared": "runs on [{runtime}] (the comparison with the ONNX reference was not made)",
    "comparing": "runs on [{runtime}] (the comparison with the ONNX reference is queued or "
    "running)",
    "not judged": "could not be judged on [{runtime}]",
    "fails": "fails on [{runtime}] ({check} check{difference}, {when})",
    "does not run": "does not run on [{runtime}]",
    "no reference": "the [ONNX reference] does not run it, so nothing was compared with it",
    "wrong reference": "the comparison with [the ONNX reference] is wrong here, which counts "
    "against no runtime",
    "wrong data": "its [stored test data] are wrong, which counts against no runtime",
    _Check.REFERENCE: "equals the ONNX reference {within}[{difference}] on {inputs}",
    _Check.BUNDLED: "equals its stored test data {within}[{difference}] on {inputs}",
    "proof": "beside the original it is [{proof}]",
    "latency": "[{p50}] at p50{rank} on {device} with {runtime}",
    "no rank": "latency has [{results}] but no rank yet",
    "accuracy": "[{value}] {metric} on {data}{interval}",
    "less accurate": "[{value}] {metric} on {data}{interval}, less than the claimed {claimed}",
    "under way": "{subjects} queued or running: [view progress]",
    "package": "this is {variant}, one of [{models}] of this version",
}
_BRACKETS = re.compile(r"[\[\]]")
# What the inputs of a comparison are called.
_INPUTS = {_Check.REFERENCE: "generated input", _Check.BUNDLED: "data set"}
# Verdict of a runtime -> the clause that says it.
_VERDICTS = {
    ConformanceVerdict.WRONG_REFERENCE: "wrong reference",
    ConformanceVerdict.WRONG_DATA: "wrong data",
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


def _part(clause: str, url: str, tone: str = "pass", **values: str) -> Part:
    before, linked, after = (
        piece.strip().format(**values).strip() for piece in _BRACKETS.split(_WORDS[clause])
    )
    return Part(before, linked, after, url, tone)


def _write(version: Version, variant: Variant | None, of: Evidence, *, may_have: bool) -> Sentence:
    if version.state == "withdrawn":
        url = version_head.place(version, "version-files")
        return Sentence((_part("withdrawn", url, "fail"),))
    if version.state in ("draft", "submitted"):
        url = version_head.place(version, "version-checks")
        return Sentence((_part("unpublished", url, ""),))
    own = [row for row in of.results if variant is not None and row.variant_id == variant.pk]
    runtimes = _runtimes(version, own, is_live="conformance" in of.live)
    clauses = [*runtimes, *_equality(version, own), *_proof(version, variant)]
    clauses += [*_speed(version, of), *_accuracy(of.accuracy, variant)]
    parts = [*clauses, *_under_way(version, of, own), *_about(version, variant)]
    if version.model.is_gated and not may_have:
        model = version.model
        url = reverse("model-access", args=[model.namespace.slug, model.name])
        parts.append(_part("restricted", url, ""))
    if not parts:
        parts = [_part("nothing", version_head.place(version, "version-conformance"), "")]
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
        yield _part("runs", page, runtime=phrases.conjunction(passing))
    for name, verdict in judged.items():
        rows = by_runtime[name]
        title = f"{labels.runtime(name)} {rows[0].runtime_version}".strip()
        if verdict in (ConformanceVerdict.FAILED, ConformanceVerdict.WRONG_OPTIMISER):
            yield _failure(version, title, rows)
        elif verdict == ConformanceVerdict.DOES_NOT_RUN and name == REFERENCE:
            yield _part("no reference", page, "")
        elif verdict == ConformanceVerdict.DOES_NOT_RUN:
            yield _part("does not run", page, "part", runtime=title)
        elif verdict in _VERDICTS:
            yield _part(_VERDICTS[verdict], page, "part")
        elif verdict == ConformanceVerdict.CANT_TELL and name != REFERENCE:
            if verdicts.is_uncompared(rows):
                clause = "comparing" if is_live else "not compared"
                yield _part(clause, page, "", runtime=title)
            else:
                yield _part("not judged", page, "part", runtime=title)


def _failure(version: Version, title: str, rows: Sequence[ConformanceResult]) -> Part:
    """The first failed check of a runtime: which, by how much, and when it was run."""
    row = next(row for row in rows if row.outcome == ConformanceResult.Outcome.FAILED)
    worst = parity_figures.largest(row.figures)
    return _part(
        "fails",
        version_head.place(version, "conformance", row.pk),
        "fail",
        runtime=title,
        check=row.get_check_kind_display().lower(),
        difference="" if worst is None else f", off by {formatting.figure(worst)}",
        when=formatting.relative(row.at, timezone.now()),
    )


def _equality(version: Version, own: Sequence[ConformanceResult]) -> Iterator[Part]:
    """The largest difference over all runtimes that pass a comparison, on the fewest inputs."""
    for check, inputs in _INPUTS.items():
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
        yield _part(
            check,
            version_head.place(version, "conformance", row.pk),
            within="within" if worst else "",
            difference=formatting.figure(worst) if worst else "exactly",
            inputs=formatting.plural(min(row.datasets for _, row in measured), inputs),
        )


def _proof(version: Version, variant: Variant | None) -> Iterator[Part]:
    if variant is not None and variant.origin == "upgraded" and variant.statement is not None:
        url = version_head.place(version, "version-variants")
        url += version_head.choice_of(version, variant)
        yield _part("proof", url, proof=variant.statement.brief)


def _speed(version: Version, of: Evidence) -> Iterator[Part]:
    row = of.fastest
    if row is not None:
        yield _part(
            "latency",
            measurements.address(row),
            p50=figures.text(row.p50),
            rank=figures.unranked(row.p50),
            device=row.device_label,
            runtime=measurements.runtime_of(row),
        )
    elif of.timed:
        url = version_head.place(version, "version-benchmarks")
        yield _part("no rank", url, "", results=formatting.plural(of.timed, "result"))


def _accuracy(lines: Sequence[Line], variant: Variant | None) -> Iterator[Part]:
    own = (line for line in lines if variant is not None and line.variant.pk == variant.pk)
    for line in islice(own, 1):
        interval = figures.interval_sentence(line.figure)
        yield _part(
            "less accurate" if line.is_less else "accuracy",
            reverse("job", args=[line.row.job_id]),
            "part" if line.is_less else "pass",
            value=figures.text(line.figure),
            metric=line.title.lower(),
            data=f"{line.row.dataset_version.dataset.slug} {line.row.split}",
            interval=f", {interval}" if interval else "",
            claimed=line.claimed,
        )


def _under_way(version: Version, of: Evidence, own: Sequence[ConformanceResult]) -> Iterator[Part]:
    missing = {"conformance": not own, "benchmark": not of.timed, "evaluation": not of.accuracy}
    kinds = [kind for kind, is_missing in missing.items() if is_missing and kind in of.live]
    subjects = [evidence.of_kind(kind).subject for kind in kinds]
    if subjects:
        url = version_head.place(version, "version-benchmarks" if own else "version-conformance")
        verb = "is" if len(subjects) == 1 else "are"
        yield _part("under way", url, "", subjects=f"{phrases.conjunction(subjects)} {verb}")


def _about(version: Version, variant: Variant | None) -> Iterator[Part]:
    """Which of several models of a package the sentence is about."""
    count = sum(row.origin == "uploaded" for row in version_head.variants(version))
    if count > 1 and variant is not None:
        url = version_head.place(version, "version-variants")
        yield _part("package", url, "", variant=variant.name, models=f"{count} models")


def _choice(version: Version, own: Sequence[ConformanceResult]) -> str:
    return version_head.kept_choice(version, own[0].variant.name) if own else ""
