"""The variants of a version in words: how each came about, what it cost, and how far up it got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from frontend.parts import addresses, formatting
from frontend.presenters import evaluations, parity_figures, version_head
from hub.protocol import runtime_builds, stored
from registry.models import File, Variant, Version
from runners.evaluations import selectors as evaluation_selectors
from runners.models import Job
from runners.proofs import selectors

# Result of a step -> glyph and word; every other step failed under its own name.
_STEPS = {
    "equal": ("passed", "equal"),
    "unchanged-operators": ("passed", "no operator changed"),
    "partial": ("can't tell", "partly compared"),
    "not-provable": ("can't tell", "nothing to compare"),
    "proven": ("can't tell", "recorded by an older method"),
}
# State of a job -> glyph, what is said where it made nothing.
_SENTENCES = {
    "queued": ("queued", "Queued. A worker will try the highest opset its runtime supports."),
    "running": ("running", "Running: tries opsets from the highest down until outputs are equal."),
    "cancelled": ("cancelled", "The job was cancelled before an opset was reached."),
    "failed": ("failed", "No other opset gives equal outputs."),
}


def lines(version: Version, matrices: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table of variants; ``matrices`` are those of the same version.

    The accuracy of each is on the split that most of them were measured on.
    """
    matrix_of = {matrix["variant"]: matrix for matrix in matrices}
    variants = {row.pk: row for row in version_head.variants(version)}
    measured = evaluation_selectors.shared(list(variants.values()))
    return [
        _line(
            version,
            row,
            variants.get(row.derived_from_id or 0),
            matrix_of.get(row.name, {}),
            evaluations.line(measured[row.pk]) if row.pk in measured else None,
        )
        for row in variants.values()
    ]


def upgrade_attempts(version: Version, of: selectors.UpgradeHistory) -> dict[str, Any]:
    """Attempts in words, from the highest opset that was tried down, each in its newest try."""
    newest: dict[int | None, dict[str, Any]] = {}
    for target in of.targets:
        newest.setdefault(target.opset, _step(target))
    steps = sorted(newest.values(), key=lambda step: -(step["opset"] or 0))
    preferred = of.preferred
    state, sentence = _sentence(of)
    return {
        "variant": of.variant.name,
        "opset": of.variant.opset,
        "state": state,
        "sentence": sentence,
        "steps": tuple(steps),
        "findings": of.job.typed_report.findings if of.job and not steps else (),
        "job": str(of.job.pk) if of.job else "",
        "ready": preferred.opset if preferred else None,
        "ready_url": version_head.place(version) + version_head.choice_of(version, preferred),
    }


def load_of(version: Version, variant: Variant) -> str:
    """How a program takes this variant: an upgraded one by its opset, others by name."""
    main = version_head.main_variant(version)
    if main is not None and variant.pk == main.pk:
        return f'hub.load("{version.ref}")'
    of_main = main is not None and variant.derived_from_id == main.pk
    least = variant.least_strength
    if variant.origin == "upgraded" and (variant.is_chosen or least) and variant.opset and of_main:
        demand = f', strength="{least}"' if least else ""
        return f'hub.load("{version.ref}", opset={variant.opset}{demand})'
    return f'hub.load("{version.ref}", variant="{variant.name}")'


def _line(
    version: Version,
    row: Variant,
    source: Variant | None,
    matrix: Mapping[str, Any],
    accuracy: evaluations.Line | None,
) -> dict[str, Any]:
    derivation = stored.mapping(row.derivation)
    size = _size(version_head.own_files(version, row), row)
    before = _size(version_head.own_files(version, source), source) if source else 0
    rules = derivation.get("rules")
    return {
        "variant": row,
        "source": source,
        "choice": version_head.choice_of(version, row),
        "size": size,
        "ratio": formatting.share(size / before) if before else "",
        "parity": parity_figures.worst(derivation.get("figures"), derivation.get("parity"))
        if source
        else None,
        "in_float32": tuple(
            (str(node.get("node") or ""), str(node.get("reason") or ""))
            for node in stored.rows(derivation.get("in_float32"))
        ),
        "rules": tuple(map(str, rules)) if isinstance(rules, list) else (),
        "conformance": matrix.get("summary", "not run"),
        "builds": matrix.get("builds", ()),
        "refusals": runtime_builds.refusals(row.opset, row.ir_version),
        "load": load_of(version, row),
        "graph": _graph(version, row, source),
        "accuracy": accuracy,
    }


def _graph(version: Version, row: Variant, source: Variant | None) -> str:
    """The difference between a derived variant's graph and its source's; else the graph itself."""
    if not version.is_served:
        return ""
    if source is None:
        return version_head.place(version, "network") + version_head.choice_of(version, row)
    url = version_head.place(version, "network-difference", version.number)
    return addresses.join(url, {"variant": row.name, "with": source.name})


def _size(files: Iterable[File], variant: Variant) -> int:
    paths = variant.paths
    return sum(file.blob.size for file in files if file.path in paths)


def _step(target: selectors.UpgradeTarget) -> dict[str, Any]:
    unreached = ("failed", target.outcome.replace("-", " ") or "not reached")
    state, word = _STEPS.get(target.outcome, unreached)
    return {
        "opset": target.opset if isinstance(target.opset, int) else None,
        "state": state,
        "word": word,
        "reason": target.reason,
        "blocking": tuple(_blocking(row) for row in target.blocking if isinstance(row, dict)),
        "job": str(target.job.pk),
    }


def _blocking(row: dict[str, Any]) -> tuple[str, str, str, str]:
    way = f"{row.get('source', '?')} to {row.get('target', '?')}"
    return str(row.get("node") or ""), str(row.get("op") or ""), way, str(row.get("reason") or "")


def _sentence(of: selectors.UpgradeHistory) -> tuple[str, str]:
    """The state of the attempts and a sentence: the opset that is ready, or why none is."""
    job, preferred = of.job, of.preferred
    if preferred is not None:
        return "passed", f"{preferred.opset} ready: {preferred.proof_sentence}"
    own = of.variant.opset or 0
    unchosen = [row for row in of.ready if not row.is_chosen and (row.opset or 0) > own]
    if unchosen:
        unproven = max(unchosen, key=lambda row: row.preference)
        return (
            "can't tell",
            f"{unproven.opset} created, not used by default: {unproven.proof_sentence}",
        )
    if job is None:
        return "not run", "Not run. The job is queued once a worker offers ONNX Runtime."
    if job.state == "failed" and job.error_class != "deterministic":
        return "not completed", job.error_detail or "The job finished without a verdict."
    if job.state == "succeeded":
        return _nothing_higher(of, job)
    return _SENTENCES[job.state]


def _nothing_higher(of: selectors.UpgradeHistory, job: Job) -> tuple[str, str]:
    unprovable = [target.reason for target in of.targets if target.outcome == "not-provable"]
    if unprovable:
        return "can't tell", f"No upgrade: nothing can show equal outputs, {unprovable[0]}."
    own = of.variant.opset or 0
    if any(row.opset is not None and row.opset < own for row in of.ready):
        return "passed", "A lower opset is ready. A higher one was not requested."
    if not job.typed_report.facts.get("source", 1):
        return "passed", "No upgrade needed: no operator depends on the opset."
    return "passed", "No upgrade needed: this is the highest opset the runtime supports."
