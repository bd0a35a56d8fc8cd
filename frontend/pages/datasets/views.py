"""Data sets: the list, the page of one with its files and uses, and the form that describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.datasets import versions
from frontend.pages.datasets.forms import DatasetForm, NewDatasetForm
from frontend.pages.linked_data import graph_views
from frontend.parts import addresses, labels
from frontend.presenters import forms
from hub.protocol import problems
from hub.protocol.vocabularies import LICENCES
from metadata.graphs import withdrawals
from metadata.store import negotiation
from registry.api.parameters import accepts
from registry.cards import data_categories
from registry.core.permissions import can, require
from registry.datasets import selectors, services
from registry.people import selectors as people_selectors

if TYPE_CHECKING:
    from registry.models import Dataset

PAGE = selectors.PAGE


@accepts("q", "after")
@require_safe
def every(request: HttpRequest) -> HttpResponse:
    """All data sets by name, or those that hold some words."""
    text = request.GET.get("q", "").strip()[:200]
    after = request.GET.get("after", "")[:96]
    rows = selectors.page(text, after=after, limit=PAGE + 1)
    page = rows[:PAGE]
    counts = selectors.use_counts(request.user, page)
    numbers = selectors.newest_numbers(page)
    return render(
        request,
        "datasets/list.html",
        {
            "section": "datasets",
            "text": text,
            "rows": [
                (
                    row,
                    row.personal_words,
                    counts.get(row.pk, 0),
                    numbers.get(row.pk),
                )
                for row in page
            ],
            "first": addresses.join(request.path, {"q": text}) if after else "",
            "next": addresses.join(request.path, {"q": text, "after": page[-1].slug})
            if len(rows) > PAGE
            else "",
        },
    )


@accepts("q", "page")
@require_safe
def show(request: HttpRequest, slug: str) -> HttpResponseBase:
    """A data set at its IRI: its page, or its graph."""
    dataset = selectors.dataset(slug)
    if dataset.slug != slug:
        return HttpResponseRedirect(reverse("dataset", args=[dataset.slug]))
    return graph_views.negotiated(
        request,
        page=lambda: _page(request, dataset),
        nquads=lambda: negotiation.of_dataset(dataset),
        address=request.path,
    )


@accepts("q", "page")
@require_safe
def show_version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The page of a data set with the files of one of its versions."""
    dataset = selectors.dataset(slug)
    if dataset.slug != slug:
        return HttpResponseRedirect(reverse("dataset-version", args=[dataset.slug, number]))
    return _page(request, dataset, number)


def _page(request: HttpRequest, dataset: Dataset, number: int | None = None) -> HttpResponse:
    version, newest = versions.select(request, dataset, number)
    uses = selectors.uses(request.user, dataset, limit=selectors.USES + 1)
    return render(
        request,
        "datasets/dataset.html",
        {
            "section": "datasets",
            "dataset": dataset,
            "licence": labels.licence(dataset.license),
            "categories": [
                data_categories.CATEGORIES.get(category, category)
                for category in dataset.categories
            ],
            "legal_basis": data_categories.LEGAL_BASES.get(dataset.legal_basis, ""),
            "version": version,
            "first": version["slice"].first if version else "",
            "next": version["slice"].next if version else "",
            "newest": newest,
            "uses": uses[: selectors.USES],
            "dependants": (
                withdrawals.dependants_of(request.user, dataset) if dataset.withdrawn_at else []
            ),
            "more": len(uses) > selectors.USES,
            "may_edit": can(request.user, "dataset.edit", dataset.namespace),
            "may_withdraw": can(request.user, "dataset.withdraw", dataset.namespace),
            "formats": list(negotiation.FORMATS.values()),
        },
        status=410 if dataset.withdrawn_at else 200,
    )


@require_safe
def graph(_request: HttpRequest, slug: str, ending: str) -> HttpResponse:
    """The graph of a data set; 410 for a withdrawn one."""
    dataset = selectors.dataset(slug)
    page = reverse("dataset", args=[dataset.slug])
    return graph_views.answer_or_tombstone(lambda: negotiation.of_dataset(dataset), ending, page)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form for a new data set."""
    mine = people_selectors.publishing_namespaces(request.user)
    named = {"slug": request.GET.get("slug", ""), "iri": request.GET.get("iri", "")}
    form = NewDatasetForm(request.POST or None, namespaces=mine, initial=named)
    if request.method == "POST" and form.is_valid():
        fields = dict(form.cleaned_data)
        namespace = people_selectors.namespace(fields.pop("namespace"))
        with forms.explained(form):
            dataset = services.create(request.user, namespace=namespace, **fields)
            return HttpResponseRedirect(reverse("dataset", args=[dataset.slug]))
    return _form(request, form, {"namespaces": mine})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """The same form for one that is there."""
    dataset = selectors.dataset(slug)
    require(request.user, "dataset.edit", dataset.namespace)
    initial = {field: getattr(dataset, field) for field in services.EDITABLE}
    form = DatasetForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            services.edit(request.user, dataset=dataset, **form.cleaned_data)
            return HttpResponseRedirect(reverse("dataset", args=[dataset.slug]))
    return _form(request, form, {"dataset": dataset})


@login_required
@require_POST
def withdraw(request: HttpRequest, slug: str) -> HttpResponse:
    """Take it out of lists, with a reason."""
    dataset = selectors.dataset(slug)
    with forms.as_message(request, problems.InvalidRequest):
        services.withdraw(
            request.user,
            dataset=dataset,
            reason=request.POST.get("reason", ""),
            hide_title=request.POST.get("hide_title") == "on",
        )
    return HttpResponseRedirect(reverse("dataset", args=[slug]))


@login_required
@require_POST
def restore(request: HttpRequest, slug: str) -> HttpResponse:
    """Bring it back."""
    services.restore(request.user, dataset=selectors.dataset(slug))
    return HttpResponseRedirect(reverse("dataset", args=[slug]))


def _form(request: HttpRequest, form: DatasetForm, more: dict[str, Any]) -> HttpResponse:
    context = {"section": "datasets", "licences": LICENCES, **more}
    return forms.page(request, "datasets/form.html", form, context)
