"""The variants of a version: what they cost, how far up they got, and asking for another one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from frontend.presenters import conformance, multipart, version_head
from frontend.presenters import variants as presenter_variants
from frontend.presenters.forms import DeriveForm, explain
from frontend.presenters.version_page import context, of_version, of_whole_version
from hub.protocol import problems
from metadata.exports import annotated_files
from registry.core.permissions import can, require
from registry.models import Variant, Version
from runners.graphs.annotated_files import Copy
from runners.proofs import derivations
from runners.proofs import selectors as proof_selectors


@multipart.limited
@require_http_methods(["GET", "HEAD", "POST"])
@of_whole_version
def show(request: HttpRequest, version: Version) -> HttpResponse:
    template_context = context(request, version, "variants")
    form = _form(
        request, version, template_context["variant"].name if template_context["variant"] else ""
    )
    if request.method == "POST":
        require(request.user, "version.derive", version.model)
        if form is not None and form.is_valid() and (job := _ask(request, version, form)):
            return HttpResponseRedirect(job)
    matrices = [conformance.matrix(version, matrix) for matrix in proof_selectors.matrices(version)]
    return render(
        request,
        "models/variants.html",
        {
            **template_context,
            "lines": presenter_variants.lines(version, matrices),
            "upgrades": []
            if version.state in ("draft", "submitted")
            else [
                presenter_variants.upgrade_attempts(version, history)
                for history in proof_selectors.upgrade_histories(version)
            ],
            "form": form,
            "form_bytes": multipart.FORM_BYTES,
            "copies": _copies(version),
        },
        status=422 if form is not None and form.errors else 200,
    )


@require_POST
@of_version
def annotate(request: HttpRequest, version: Version) -> HttpResponse:
    """Have a copy of a variant's file made with the hub's metadata in it; leads to its job."""
    job = annotated_files.request(request.user, version, request.POST.get("variant", ""))
    return HttpResponseRedirect(reverse("job", args=[job.pk]))


def _copies(version: Version) -> list[tuple[Variant, Copy | None]]:
    """Each variant with the copy of its file that has metadata; none before publication."""
    if not version.is_served:
        return []
    variants = version_head.variants(version)
    copies = annotated_files.of_variants(version, variants)
    return [(row, copies.get(row.entry.path)) for row in variants]


def _form(request: HttpRequest, version: Version, source: str) -> DeriveForm | None:
    released = version.is_served
    variants = version_head.variants(version)
    if not (released and variants and can(request.user, "version.derive", version.model)):
        return None
    return DeriveForm(
        request.POST or None,
        request.FILES or None,
        variants=variants,
        initial={"source": source},
    )


def _ask(request: HttpRequest, version: Version, form: DeriveForm) -> str:
    """The address of the job that will make it; empty where the form says why there is none."""
    fields = form.cleaned_data
    try:
        sample = fields["calibration"]
        job = derivations.request(
            request.user,
            version=version,
            kind=fields["kind"],
            variant=fields["source"],
            opset=fields["opset"],
            calibration=multipart.keep(request.user, sample) if sample else "",
            keep_float32=fields["keep_float32"],
        )
    except (problems.NotAllowed, problems.NotAuthenticated):
        raise
    except problems.Problem as problem:
        explain(form, problem)
        return ""
    return reverse("job", args=[job.pk])
