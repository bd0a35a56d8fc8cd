"""The operator suite on every runtime, one run of it, and starting one by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.proofs import suite
from frontend.parts import formatting, labels
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import require_user
from runners.proofs import selectors, verification

if TYPE_CHECKING:
    from django.http import HttpRequest


@accepts()
@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """Every runtime with every version that had the suite."""
    found = selectors.scores()
    missing = suite.missing(found, verification.current(), verification.offered())
    return render(
        request,
        "scoreboard/board.html",
        {
            "section": "scoreboard",
            "rows": suite.board(found),
            "missing": missing,
            "outcomes": suite.OUTCOMES.items(),
            "settled": formatting.duration(verification.SETTLED.total_seconds()),
            "may_start": request.user.is_authenticated and request.user.is_admin,
        },
    )


@accepts("onnx", "show", "operator", "outcome", "with", "page")
@require_safe
def score(request: HttpRequest, runtime: str, version: str) -> HttpResponse:
    """One run: by operator and opset, its cases, or what changed against another run."""
    asked = {
        name: request.GET.get(name, "")[:200]
        for name in ("onnx", "show", "operator", "outcome", "with")
    }
    if asked["outcome"] and asked["outcome"] not in suite.OUTCOMES:
        known = ", ".join(filter(None, suite.OUTCOMES))
        raise problems.InvalidRequest.at("/outcome", f"outcome must be one of {known}.")
    found = selectors.score(runtime, version, asked["onnx"])
    run, everything = found.run, selectors.scores()
    shown: dict[str, Any] = {
        "section": "scoreboard",
        "row": suite.row(found, newest=not asked["onnx"]),
        "run": run,
        "title": labels.runtime(run.runtime),
        "asked": asked,
        "outcomes": suite.OUTCOMES.items(),
        "others": _others(found, everything, asked["with"]),
        "tabs": _tabs(found, asked),
    }
    if asked["with"]:
        shown |= _changes(found, asked["with"])
    elif asked["show"] == "cases" or asked["operator"] or asked["outcome"]:
        shown |= _cases(request, found, asked)
    else:
        onnx = asked["onnx"]
        rest, whole = suite.split(suite.tallies(run, selectors.by_operator(run), "operator", onnx))
        shown |= {
            "part": "operators",
            "operators": rest[: suite.ROWS],
            "not_whole": len(rest),
            "more": rest[suite.ROWS :],
            "whole": whole,
            "opsets": suite.tallies(run, selectors.by_opset(run), "opset", onnx),
        }
    return render(request, "scoreboard/score.html", shown)


@login_required
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Queue the suite for a runtime now; administrators only."""
    if not require_user(request.user, "admin").is_admin:
        raise problems.NotAllowed("Only administrators can start the operator suite.")
    named = request.POST.get("runtime", "")
    runtime = next((row for row in verification.current() if row.name == named), None)
    onnx = verification.offered().get((named, runtime.version)) if runtime else None
    if runtime is None or not onnx:
        messages.error(request, f"Nothing was queued: no worker offers {named or 'this runtime'}.")
    else:
        jobs = verification.start_suite(runtime, onnx)
        messages.success(
            request, f"{formatting.plural(len(jobs), 'job')} queued for {labels.runtime(named)}."
        )
    return HttpResponseRedirect(reverse("scoreboard"))


def _cases(request: HttpRequest, found: selectors.Score, asked: dict[str, str]) -> dict[str, Any]:
    """A page of cases; without a choice of outcome or operator, those that did not pass."""
    rows = selectors.suite_cases(found.run, operator=asked["operator"], outcome=asked["outcome"])
    if not asked["operator"] and not asked["outcome"]:
        rows = rows.exclude(outcome="passed")
    said = request.GET.get("page", "")
    number = max(1, int(said)) if said.isascii() and said.isdigit() and len(said) < 6 else 1
    start_at = (number - 1) * suite.CASES
    cases = list(rows[start_at : start_at + suite.CASES + 1])
    kept = {key: value for key, value in asked.items() if key != "with"}
    following = suite.address(found.run, **kept, page=str(number + 1))
    return {
        "part": "cases",
        "cases": cases[: suite.CASES],
        "count": formatting.grouped(rows.count()),
        "first": suite.address(found.run, **kept) if number > 1 else "",
        "next": following if len(cases) > suite.CASES else "",
        "reason": suite.REASON,
    }


def _changes(found: selectors.Score, other: str) -> dict[str, Any]:
    """What ends otherwise in another run, which is named by its version, or runtime and version."""
    runtime, slash, version = other.rpartition("/")
    before = selectors.score(runtime if slash else found.run.runtime, version)
    changed = selectors.suite_changes(before.run, found.run)
    return {
        "part": "changes",
        "before": before.run,
        "before_title": labels.runtime(before.run.runtime),
        "changes": changed[: suite.ROWS],
        "count": formatting.grouped(len(changed)),
        "better": sum(now == "passed" for _, _, _, now in changed),
        "worse": sum(was == "passed" for _, _, was, _ in changed),
        "left": max(0, len(changed) - suite.ROWS),
    }


def _others(
    found: selectors.Score, everything: list[selectors.Score], chosen: str
) -> list[tuple[str, str, bool]]:
    """The runs to compare with: value, words, whether it is the chosen one."""
    rows = {}
    for one in everything:
        run = one.run
        if (run.runtime, run.runtime_version) == (found.run.runtime, found.run.runtime_version):
            continue
        same = run.runtime == found.run.runtime
        value = run.runtime_version if same else f"{run.runtime}/{run.runtime_version}"
        said = f"{labels.runtime(run.runtime)} {run.runtime_version}"
        rows[value] = (value, said, value == chosen)
    return sorted(rows.values(), key=lambda option: "/" in option[0])


def _tabs(found: selectors.Score, asked: dict[str, str]) -> list[tuple[str, str, bool]]:
    """Operators and opsets, or cases: words, address, whether it is shown."""
    onnx = asked["onnx"]
    at_cases = bool(asked["show"] == "cases" or asked["operator"] or asked["outcome"])
    against = asked["with"]
    compared = [("Compared", suite.address(found.run, onnx=onnx, **{"with": against}), True)]
    return [
        (
            "Operators and opsets",
            suite.address(found.run, onnx=onnx),
            not at_cases and not against,
        ),
        (
            "Cases not passed",
            suite.address(found.run, onnx=onnx, show="cases"),
            at_cases and not against,
        ),
        *(compared if against else []),
    ]
