"""The operator suite on every runtime, one run of it, and starting one by hand."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.proofs import suite
from frontend.parts import addresses, formatting, labels
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import require_user
from runners.proofs import selectors, verification


@accepts()
@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """Every runtime with every version that had the suite."""
    scores = selectors.scores()
    missing = suite.missing(scores, verification.current(), verification.offered())
    return render(
        request,
        "scoreboard/board.html",
        {
            "section": "scoreboard",
            "rows": suite.board(scores),
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
    query = {
        name: request.GET.get(name, "")[:200]
        for name in ("onnx", "show", "operator", "outcome", "with")
    }
    if query["outcome"] and query["outcome"] not in suite.OUTCOMES:
        names = ", ".join(filter(None, suite.OUTCOMES))
        raise problems.InvalidRequest.at("/outcome", f"outcome must be one of {names}.")
    row = selectors.score(runtime, version, query["onnx"])
    run, everything = row.run, selectors.scores()
    template_context: dict[str, Any] = {
        "section": "scoreboard",
        "row": suite.row(row, newest=not query["onnx"]),
        "run": run,
        "title": labels.runtime(run.runtime),
        "asked": query,
        "outcomes": suite.OUTCOMES.items(),
        "others": _others(row, everything, query["with"]),
        "tabs": _tabs(row, query),
    }
    if query["with"]:
        template_context |= _changes(row, query["with"])
    elif query["show"] == "cases" or query["operator"] or query["outcome"]:
        template_context |= _cases(request, row, query)
    else:
        onnx = query["onnx"]
        rest, whole = suite.split(suite.tallies(run, selectors.by_operator(run), "operator", onnx))
        template_context |= {
            "part": "operators",
            "operators": rest[: suite.ROWS],
            "not_whole": len(rest),
            "more": rest[suite.ROWS :],
            "whole": whole,
            "opsets": suite.tallies(run, selectors.by_opset(run), "opset", onnx),
        }
    return render(request, "scoreboard/score.html", template_context)


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


def _cases(request: HttpRequest, of: selectors.Score, query: dict[str, str]) -> dict[str, Any]:
    """A page of cases; without a choice of outcome or operator, those that did not pass."""
    rows = selectors.suite_cases(of.run, operator=query["operator"], outcome=query["outcome"])
    if not query["operator"] and not query["outcome"]:
        rows = rows.exclude(outcome="passed")
    number = addresses.page(request.GET.get("page", ""))
    start_at = (number - 1) * suite.CASES
    cases = list(rows[start_at : start_at + suite.CASES + 1])
    parts = {key: value for key, value in query.items() if key != "with"}
    following = suite.address(of.run, **parts, page=str(number + 1))
    return {
        "part": "cases",
        "cases": cases[: suite.CASES],
        "count": formatting.grouped(rows.count()),
        "first": suite.address(of.run, **parts) if number > 1 else "",
        "next": following if len(cases) > suite.CASES else "",
        "reason": suite.REASON,
    }


def _changes(of: selectors.Score, other: str) -> dict[str, Any]:
    runtime, slash, version = other.rpartition("/")
    before = selectors.score(runtime if slash else of.run.runtime, version)
    changed = selectors.suite_changes(before.run, of.run)
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
    of: selectors.Score, everything: list[selectors.Score], choice: str
) -> list[tuple[str, str, bool]]:
    rows = {}
    for score in everything:
        run = score.run
        if (run.runtime, run.runtime_version) == (of.run.runtime, of.run.runtime_version):
            continue
        same = run.runtime == of.run.runtime
        value = run.runtime_version if same else f"{run.runtime}/{run.runtime_version}"
        words = f"{labels.runtime(run.runtime)} {run.runtime_version}"
        rows[value] = (value, words, value == choice)
    return sorted(rows.values(), key=lambda option: "/" in option[0])


def _tabs(of: selectors.Score, query: dict[str, str]) -> list[tuple[str, str, bool]]:
    onnx = query["onnx"]
    at_cases = bool(query["show"] == "cases" or query["operator"] or query["outcome"])
    against = query["with"]
    compared = [("Compared", suite.address(of.run, onnx=onnx, **{"with": against}), True)]
    return [
        (
            "Operators and opsets",
            suite.address(of.run, onnx=onnx),
            not at_cases and not against,
        ),
        (
            "Cases not passed",
            suite.address(of.run, onnx=onnx, show="cases"),
            at_cases and not against,
        ),
        *(compared if against else []),
    ]
