"""A user's webhooks: a list with a form for another, and each with its deliveries."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.parts.addresses import whole
from frontend.presenters.forms import as_message, explained, page
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core.event_subjects import readable_verbs
from registry.people import selectors as people
from registry.versions import selectors as versions
from registry.webhooks import selectors, services
from registry.webhooks.models import LONGEST_URL, DeliveryState, Webhook

PAGE = 50
_USUAL = ("version.published", "version.withdrawn", "version.yanked")


class WebhookForm(forms.Form):
    """A new webhook."""

    scope = forms.CharField(
        label="Namespace or model",
        max_length=200,
        help_text="A namespace that you own, or a model that you can read, such as zoo/digits.",
    )
    url = forms.CharField(
        label="Address",
        max_length=LONGEST_URL,
        help_text="https://host/path; events are POST requests to it.",
    )
    events = forms.MultipleChoiceField(
        label="Events", widget=forms.CheckboxSelectMultiple, initial=_USUAL
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        choices: Any = self.fields["events"]
        choices.choices = [(verb, verb) for verb in readable_verbs()]


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def every(request: HttpRequest) -> HttpResponse:
    """List webhooks, and add one; the secret is in this one answer and nowhere else."""
    form = WebhookForm(request.POST or None)
    secret_of = None
    if request.method == "POST" and form.is_valid():
        with explained(form):
            slug, _, name = form.cleaned_data["scope"].partition("/")
            secret_of = services.add(
                request.user,
                url=form.cleaned_data["url"],
                events=form.cleaned_data["events"],
                namespace=None if name else people.own_namespace(request.user, slug),
                model=versions.model(request.user, slug, name) if name else None,
            )
            form = WebhookForm()
    rows = selectors.webhooks(request.user)
    return page(request, "webhooks/list.html", form, {"rows": rows, "secret_of": secret_of})


@accepts("state", "before")
@never_cache
@login_required
@require_safe
def show(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """A webhook and its deliveries, newest first."""
    return _page(request, webhook_id)


@never_cache
@login_required
@require_POST
def act(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Pause, resume or remove a webhook, replace its secret, or send a delivery again."""
    webhook = selectors.webhook(request.user, webhook_id)
    action = request.POST.get("action", "")
    back = HttpResponseRedirect(reverse("webhook", args=[webhook.pk]))
    if action in ("pause", "resume"):
        services.edit(request.user, webhook=webhook, is_paused=action == "pause")
        return back
    if action == "rotate":
        return _page(request, webhook_id, services.rotate(request.user, webhook=webhook))
    if action == "remove":
        services.remove(request.user, webhook=webhook)
        messages.success(request, "The webhook is removed.")
        return HttpResponseRedirect(reverse("webhooks"))
    delivery = selectors.delivery(webhook, whole(action, 18) or 0)
    with as_message(request, problems.StateConflict):
        services.replay(request.user, webhook=webhook, delivery=delivery)
        messages.success(request, "The delivery is sent again.")
    return back


def _page(request: HttpRequest, webhook_id: int, secret_of: Webhook | None = None) -> HttpResponse:
    webhook = selectors.webhook(request.user, webhook_id)
    state = request.GET.get("state", "")
    state = state if state in DeliveryState.values else ""
    rows = selectors.deliveries(request.user, webhook, state=state)
    before = whole(request.GET.get("before", ""), 18)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    window = list(rows[: PAGE + 1])
    address = reverse("webhook", args=[webhook.pk])
    first = f"{address}?state={state}" if state else address
    following = (
        f"{address}?state={state}&before={window[PAGE - 1].pk}" if len(window) > PAGE else ""
    )
    context = {
        "webhook": webhook,
        "secret_of": secret_of,
        "deliveries": window[:PAGE],
        "states": DeliveryState.values,
        "state": state,
        "first": first if before is not None else "",
        "next": following,
    }
    return render(request, "webhooks/webhook.html", context)
