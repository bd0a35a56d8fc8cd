"""The security log for administrators, with the events of one subject beside it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from frontend.parts.addresses import whole
from frontend.presenters.forms import page
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core import event_verbs
from registry.identity import selectors
from registry.people import audit_log

PAGE = 50
EVENTS = 20
FILTERS = ("actor", "kind", "model", "subject", "address", "request_id", "since", "until")


def _time() -> forms.DateTimeInput:
    return forms.DateTimeInput(attrs={"placeholder": "2026-11-30 14:00"})


class FilterForm(forms.Form):
    """Conditions of entries; each may be left out."""

    actor = forms.CharField(label="User", max_length=150, required=False)
    kind = forms.ChoiceField(required=False)
    model = forms.CharField(max_length=200, required=False)
    subject = forms.CharField(max_length=61, required=False)
    address = forms.CharField(max_length=64, required=False)
    request_id = forms.CharField(label="Request", max_length=64, required=False)
    since = forms.DateTimeField(label="From (UTC)", required=False, widget=_time())
    until = forms.DateTimeField(label="Before (UTC)", required=False, widget=_time())

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        choices: Any = self.fields["kind"]
        choices.choices = [("", "all"), *[(kind, kind) for kind in selectors.kinds()]]


@accepts(*FILTERS, "before")
@never_cache
@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Entries that meet all conditions; of a subject or a model, its events too."""
    form = FilterForm(request.GET)
    conditions = dict(form.cleaned_data) if form.is_valid() else {}
    try:
        entries = selectors.entries(request.user, **conditions)
        events = _events(request, conditions)
    except (problems.InvalidRequest, problems.NotFound) as problem:
        form.add_error(None, problem.detail)
    if form.errors:
        entries, events = selectors.entries(request.user).none(), []
    before = request.GET.get("before", "")
    if (key := whole(before, 18)) is not None:
        entries = entries.filter(pk__lt=key)
    rows = list(entries[: PAGE + 1])
    query = request.GET.copy()
    query.pop("before", None)
    first = f"{request.path}?{query.urlencode()}"
    if len(rows) > PAGE:
        query["before"] = str(rows[PAGE - 1].pk)
    context = {
        "rows": rows[:PAGE],
        "events": events,
        "deleted_before": selectors.deleted_before(),
        "first": first if before else "",
        "next": f"{request.path}?{query.urlencode()}" if len(rows) > PAGE else "",
    }
    return page(request, "identity/security_log.html", form, context)


def _events(request: HttpRequest, conditions: dict[str, Any]) -> list[dict[str, Any]]:
    """What users did to the subject or model, newest first, with the address of each request.

    What jobs of the hub record of a model goes on after its deletion, and is left out.
    """
    filters = {name: value for name, value in conditions.items() if value}
    verb = filters.pop("kind", "")
    if not filters.keys() & {"subject", "model"} or (verb and verb not in event_verbs.names()):
        return []
    filters.pop("address", None)  # which events do not have
    rows = audit_log.events(request.user, verb=verb, **filters)
    events = list(rows.exclude(actor=None)[:EVENTS])
    addresses = selectors.addresses_of(request.user, [event.request_id for event in events])
    return [{"event": event, "address": addresses.get(event.request_id, "")} for event in events]
