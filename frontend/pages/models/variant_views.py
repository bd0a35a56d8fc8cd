"""The variants of a version: what they cost, how far up they got, and asking for another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from frontend.pages.models import annotated_files
from frontend.presenters import conformance, multipart, version_head
from frontend.presenters import variants as presenter_variants
from frontend.presenters.forms import DeriveForm
from frontend.presenters.version_page import context
from hub.protocol import problems
from metadata.exports import annotated_files as export_annotated_files
from registry.core.permissions import can, require
from registry.versions import selectors
from runners.proofs import derivations
from runners.proofs import selectors as proof_selectors

if TYPE_CHECKING:
    from django.http import HttpRequest

    from registry.models import Version

# Where a refusal points -> the field that shows it.
FIELDS = {"kind": "kind", "opset": "opset", "calibration": "calibration"}


@multipart.limited
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    version = selectors.whole_version(request.user, namespace, name, number)
    shown = context(request, version, "variants")
    form = _form(request, version, shown["variant"].name if shown["variant"] else "")
    if request.method == "POST":
        require(request.user, "version.derive", version.model)
        if form is not None and form.is_valid() and (job := _ask(request, version, form)):
            return HttpResponseRedirect(job)
    matrices = [conformance.matrix(version, one) for one in proof_selectors.matrices(version)]
    return render(
        request,
        "models/variants.html",
        {
            **shown,
            "rows": presenter_variants.rows(version, matrices),
            "ladders": _ladders(version),
            "form": form,
            "form_bytes": multipart.FORM_BYTES,
            "copies": annotated_files.rows(request.user, version),
        },
        status=422 if form is not None and form.errors else 200,
    )


@require_POST
def annotate(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Have a copy of a variant's file made with the hub's metadata in it; leads to its job."""
    version = selectors.version(request.user, namespace, name, number)
    job = export_annotated_files.request(request.user, version, request.POST.get("variant", ""))
    return HttpResponseRedirect(reverse("job", args=[job.pk]))


def _ladders(version: Version) -> list[presenter_variants.Ladder]:
    """How far each uploaded variant got; nothing is tried before a version is published."""
    if version.state in ("draft", "submitted"):
        return []
    return [presenter_variants.ladder(version, one) for one in proof_selectors.ladders(version)]


def _form(request: HttpRequest, version: Version, chosen: str) -> DeriveForm | None:
    """The form, for those who may ask; there is nothing to derive from a version without files."""
    released = version.is_served
    variants = version_head.variants(version)
    if not (released and variants and can(request.user, "version.derive", version.model)):
        return None
    return DeriveForm(
        request.POST or None,
        request.FILES or None,
        variants=variants,
        initial={"source": chosen},
    )


def _ask(request: HttpRequest, version: Version, form: DeriveForm) -> str:
    """The address of the job that will make it; empty where the form says why there is none."""
    given = form.cleaned_data
    try:
        sample = given["calibration"]
        job = derivations.request(
            request.user,
            version=version,
            kind=given["kind"],
            variant=given["source"],
            opset=given["opset"],
            calibration=multipart.keep(request.user, sample) if sample else "",
        )
    except (problems.NotAllowed, problems.NotAuthenticated):
        raise
    except problems.Problem as problem:
        pointer = problem.errors[0].get("pointer", "").strip("/") if problem.errors else ""
        form.add_error(FIELDS.get(pointer), problem.detail)
        return ""
    return reverse("job", args=[job.pk])
