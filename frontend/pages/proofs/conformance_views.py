"""The conformance of a version: its matrix, the evidence behind a cell, and another run."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.pages.proofs import evidence
from frontend.parts import formatting
from frontend.presenters import conformance, parity_figures, version_head
from frontend.presenters.page_parts import Result
from frontend.presenters.version_page import context, of_whole_version
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.permissions import can
from registry.models import Version
from runners.proofs import selectors as proof_selectors
from runners.proofs import verification


@accepts("variant")
@require_safe
@of_whole_version
def matrix(request: HttpRequest, version: Version) -> HttpResponse:
    """Checks by runtimes for the chosen variant, and how its siblings do."""
    template_context = context(request, version, "conformance")
    matrices = proof_selectors.matrices(version)
    return render(
        request,
        "models/conformance.html",
        {
            **template_context,
            "matrix": conformance.of_variant(version, template_context["variant"], matrices),
            "siblings": [
                (
                    version_head.choice_of(version, matrix.variant),
                    conformance.matrix(version, matrix),
                )
                for matrix in matrices
            ]
            if len(matrices) > 1
            else [],
            "checks": conformance.CHECKS.values(),
            "outcomes": [
                (conformance.state(word), means) for word, means in conformance.OUTCOMES.values()
            ],
            "profiles": evidence.PROFILES.items(),
            "may_run": _may_run(request, version),
        },
    )


@require_safe
@of_whole_version
def result(request: HttpRequest, version: Version, pk: int) -> HttpResponse:
    """One cell's evidence; a result that is not the newest any more stays readable."""
    row = proof_selectors.result(version, pk)
    result_evidence = evidence.of(version, row, proof_selectors.history_of(row))
    node = result_evidence["node"]["name"] if result_evidence["node"] else ""
    return render(
        request,
        "models/evidence.html",
        {
            **context(request, version, "conformance", row.variant),
            "result": row,
            "evidence": result_evidence,
            "columns": parity_figures.COLUMNS.values(),
            "result_of": Result("conformance", row.pk, node),
            "may_run": _may_run(request, version),
        },
    )


@login_required
@require_POST
@of_whole_version
def again(request: HttpRequest, version: Version) -> HttpResponse:
    """Queue a variant's checks once more, on one runtime or on all."""
    variant = version_head.chosen_variant(version, request.POST.get("variant", ""))
    back = version_head.place(version, "version-conformance")
    back += version_head.choice_of(version, variant)
    try:
        jobs = verification.again(
            request.user,
            version=version,
            variant=variant.name if variant else "",
            runtime=request.POST.get("runtime", ""),
        )
    except problems.InvalidRequest as problem:
        messages.error(request, f"Nothing was queued. {problem.detail}")
        return HttpResponseRedirect(back)
    if len(jobs) == 1:
        return HttpResponseRedirect(reverse("job", args=[jobs[0].pk]))
    messages.success(
        request, f"{formatting.plural(len(jobs), 'job')} queued. The cells show their progress."
    )
    return HttpResponseRedirect(back)


def _may_run(request: HttpRequest, version: Version) -> bool:
    released = version.is_served
    return released and can(request.user, "version.derive", version.model)
