"""The trusted publishers of an organisation, and the workflow that uses one."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.presenters.forms import offer, page
from hub.protocol import problems
from registry.people import selectors as people
from registry.publishers import selectors, services
from registry.publishers.models import Provider, TrustedPublisher

PAGE = 200


class PublisherForm(forms.Form):
    """A workflow to trust."""

    issuer = forms.ChoiceField(label="Provider")
    repository = forms.CharField(
        label="Repository", max_length=200, help_text="Owner and name, for example acme/models."
    )
    workflow = forms.CharField(
        label="Workflow",
        max_length=200,
        initial="publish.yml",
        help_text="Its file in .github/workflows, or the path of GitLab's file.",
    )
    environment = forms.CharField(
        label="Environment",
        max_length=100,
        required=False,
        help_text="Recommended: an environment with required reviewers. Empty for any.",
    )
    model = forms.CharField(
        label="Model",
        max_length=200,
        required=False,
        help_text="The only model that it may publish. Empty for all of the organisation.",
    )
    account = forms.ChoiceField(label="Service account", required=False)

    def __init__(self, *args: object, accounts: list[str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        issuers = settings.HUB_PUBLISHER_ISSUERS.items()
        offer(self, "issuer", ((url, f"{Provider(name).label} ({url})") for url, name in issuers))
        offer(self, "account", [("", "publisher"), *((name, name) for name in accounts)])


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The publishers, the form for one more, and a workflow for the newest one."""
    space = people.own_namespace(request.user, slug)
    rows = list(selectors.publishers(request.user, space)[:PAGE])
    names = [account.username for account in people.service_accounts(request.user, space)]
    form = PublisherForm(request.POST or None, accounts=names)
    if request.method == "POST" and form.is_valid():
        try:
            services.create(request.user, namespace=space, **form.cleaned_data)
            messages.success(request, "The workflow is trusted. Its file is below.")
            return HttpResponseRedirect(reverse("publishers", args=[space.slug]))
        except (
            problems.InvalidRequest,
            problems.NotFound,
            problems.NameTaken,
            problems.StateConflict,
        ) as problem:
            form.add_error(None, problem.detail)
    context = {
        "namespace": space,
        "rows": rows,
        "workflows": [
            (title, workflow(name, space.slug, rows)) for name, title in Provider.choices
        ],
    }
    return page(request, "publishers/publishers.html", form, context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, slug: str, key: int) -> HttpResponse:
    """Ask once; then trust the workflow no longer."""
    space = people.own_namespace(request.user, slug)
    row = selectors.publisher(request.user, space, key)
    if request.method != "POST":
        return render(request, "publishers/delete.html", {"namespace": space, "publisher": row})
    services.delete(request.user, publisher=row)
    messages.success(request, f"{row} is no longer a trusted publisher.")
    return HttpResponseRedirect(reverse("publishers", args=[space.slug]))


def workflow(provider: str, slug: str, rows: list[TrustedPublisher]) -> str:
    """An example workflow as YAML, for the newest publisher of a provider."""
    row = next((row for row in rows if row.provider == provider), None)
    values = {
        "url": settings.HUB_PUBLIC_URL,
        "model": row.model.ref if row and row.model else f"{slug}/my-model",
        "environment": row.environment if row else "release",
    }
    return render_to_string(f"publishers/{provider}.yml", values)
