"""Discussions of a model: their list, the page of one, and the forms that write to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.community.discussions.forms import CommentForm, DiscussionForm, TitleForm
from frontend.parts import addresses, markdown
from frontend.presenters import forms, version_head, version_page
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.community.api.discussions import parse_evidence
from registry.community.discussions import selectors, services
from registry.core.permissions import Actor
from registry.models import Comment, Discussion, RegisteredModel
from registry.models.discussions import LONGEST_REASON
from registry.versions import evidence
from registry.versions import selectors as versions

PAGE = 30
COMMENTS = 50
# How long a page renders comments that were not rendered before; the others are plain text.
RENDER_SECONDS = 2.0
_NOT_RENDERED = "Reload the page to have more of its long comments rendered."


@accepts("status", "version", "before")
@require_safe
def every(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The discussions of a model that the reader sees, newest first: open, closed or all."""
    model = versions.model(request.user, namespace, name)
    status = request.GET.get("status", Discussion.Status.OPEN)
    about = addresses.whole(request.GET.get("version", ""))
    before = addresses.whole(request.GET.get("before", ""))
    if status not in (*Discussion.Status.values, "all"):
        raise problems.InvalidRequest.at("/status", "Valid statuses: open, closed, all.")
    narrowed = "" if status == "all" else status
    rows = selectors.discussions(request.user, model, status=narrowed, version=about)
    if before is not None:
        rows = rows.filter(number__lt=before)
    page = list(rows[: PAGE + 1])
    discussions, query = page[:PAGE], {"status": status, "version": about or ""}
    following = {**query, "before": discussions[-1].number} if len(page) > PAGE else {}
    return render(
        request,
        "discussions/list.html",
        {
            **_head(request, model),
            "discussions": discussions,
            "status": status,
            "statuses": [
                (words, value, addresses.join(request.path, {**query, "status": value}))
                for words, value in (("Open", "open"), ("Closed", "closed"), ("All", "all"))
            ],
            "about": about,
            "new_url": addresses.join(_url("discussion-new", model), {"version": about or ""}),
            "first": addresses.join(request.path, query) if before else "",
            "next": addresses.join(request.path, following) if following else "",
        },
    )


@accepts("page")
@login_required
@require_safe
def own(request: HttpRequest) -> HttpResponse:
    """The discussions that the reader takes part in, the last changed first."""
    number = addresses.page(request.GET.get("page", ""))
    rows = list(selectors.of_participant(request.user)[(number - 1) * PAGE : number * PAGE + 1])
    more = len(rows) > PAGE
    return render(
        request,
        "discussions/own.html",
        {
            "discussions": rows[:PAGE],
            "first": request.path if number > 1 else "",
            "next": addresses.join(request.path, {"page": number + 1}) if more else "",
        },
    )


def _head(request: HttpRequest, model: RegisteredModel) -> dict[str, Any]:
    """The context of the head with tabs; of a model without versions, that of the name alone."""
    newest = versions.latest(request.user, model) or versions.versions(request.user, model).first()
    if newest is None:
        return {"parent": "discussions/bare.html", "section": "models", "model": model}
    template_context = version_page.context(request, versions.whole(newest), "discussions")
    return {"parent": "models/version.html", **template_context}


@accepts("after")
@require_safe
def show(request: HttpRequest, namespace: str, name: str, discussion: int) -> HttpResponse:
    """A discussion with its comments, oldest first."""
    return _show(request, _discussion(request, namespace, name, discussion), CommentForm())


def _show(request: HttpRequest, discussion: Discussion, form: Form) -> HttpResponse:
    actor, model = request.user, discussion.model
    after = addresses.whole(request.GET.get("after", "")) or 0
    may_moderate = selectors.may_moderate(actor, model)
    comments = list(selectors.comments(discussion).filter(number__gt=after)[: COMMENTS + 1])
    own_url = _url("discussion", model, discussion.number)
    more = {"after": comments[COMMENTS - 1].number} if len(comments) > COMMENTS else {}
    return forms.page(
        request,
        "discussions/discussion.html",
        form,
        {
            "section": "models",
            "model": model,
            "discussion": discussion,
            "evidence_title": selectors.evidence_title(discussion),
            "evidence_url": selectors.evidence_path(discussion),
            "rows": _rows(actor, discussion, comments[:COMMENTS], sees_hidden=may_moderate),
            "may_moderate": may_moderate,
            "may_write": selectors.may_write(actor, model),
            "may_edit": selectors.may_edit(actor, discussion),
            "may_close": may_moderate or selectors.may_edit(actor, discussion),
            "longest_reason": LONGEST_REASON,
            "first": own_url if after else "",
            "next": addresses.join(own_url, more) if more else "",
        },
    )


def _rows(
    actor: Actor, discussion: Discussion, comments: list[Comment], *, sees_hidden: bool
) -> list[dict[str, Any]]:
    # A relative link leads into the version that the discussion is about.
    files = (
        version_head.place(discussion.version, "version-file", "-")[:-1]
        if discussion.version
        else f"{_url('discussions', discussion.model)}/"
    )
    until = time.monotonic() + RENDER_SECONDS
    rows = []
    for comment in comments:
        is_hidden = comment.hidden_at is not None
        body, name = None, f"comment-{comment.number}"
        if not is_hidden or sees_hidden:
            if time.monotonic() < until:
                body = markdown.render(comment.body, files, name=name)
            else:
                body = markdown.plain(comment.body, name, _NOT_RENDERED)
        may_edit = selectors.may_edit(actor, comment) and not is_hidden
        rows.append(
            {
                "comment": comment,
                "body": body,
                "may_edit": may_edit,
            }
        )
    return rows


@require_safe
def client_address(
    request: HttpRequest, namespace: str, name: str, discussion: int
) -> HttpResponse:
    """`/zoo/net/discussions/7`: the page of the discussion."""
    return HttpResponseRedirect(
        _url("discussion", versions.model(request.user, namespace, name), discussion)
    )


@accepts("version", "evidence", "node")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The form for a new discussion; the address may say what it is about."""
    model = versions.model(request.user, namespace, name)
    about = {
        key: request.GET[key][:255]
        for key in ("version", "evidence", "node")
        if request.GET.get(key)
    }
    form = DiscussionForm(request.POST or None, initial=about)
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            return HttpResponseRedirect(_opened(request.user, model, form.cleaned_data))
    more = {"result": _result_title(request.user, model, form)}
    return _form(request, form, model, "New discussion", "Open discussion", more)


def _opened(actor: Actor, model: RegisteredModel, fields: dict[str, Any]) -> str:
    """Open a discussion as the form describes it; returns its address."""
    number, result = fields["version"], fields["evidence"]
    version = None
    if number:
        version = versions.version(actor, model.namespace.slug, model.name, number)
    discussion = services.open_discussion(
        actor,
        model=model,
        title=fields["title"],
        body=fields["body"],
        version=version,
        result=parse_evidence(result) if result else None,
        node=fields["node"],
    )
    return _url("discussion", model, discussion.number)


def _result_title(actor: Actor, model: RegisteredModel, form: DiscussionForm) -> str:
    """The result that a form is filled in with, in a few words; empty without one."""
    number = addresses.whole(str(form["version"].value() or ""))
    named = str(form["evidence"].value() or "")
    if number is None or not named:
        return ""
    try:
        version = versions.version(actor, model.namespace.slug, model.name, number)
        kind, pk = parse_evidence(named)
        return evidence.of_kind(kind).describe(version, pk)
    except (problems.NotFound, problems.InvalidRequest):
        return ""


@login_required
@require_POST
def comment(request: HttpRequest, namespace: str, name: str, discussion: int) -> HttpResponse:
    """Add a comment, and show it; a refused one stays in the form."""
    row = _discussion(request, namespace, name, discussion)
    form = CommentForm(request.POST)
    if form.is_valid():
        with forms.explained(form):
            added = services.comment(request.user, discussion=row, body=form.cleaned_data["body"])
            return HttpResponseRedirect(_place(row, added.number))
    return _show(request, row, form)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, namespace: str, name: str, discussion: int) -> HttpResponse:
    """The form for the title of one's own discussion."""
    row = _discussion(request, namespace, name, discussion)
    if not selectors.may_edit(request.user, row):
        raise problems.NotAllowed("Only the author of a discussion can change its title.")
    form = TitleForm(request.POST or None, initial={"title": row.title})
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            services.rename(request.user, discussion=row, title=form.cleaned_data["title"])
            return HttpResponseRedirect(_url("discussion", row.model, row.number))
    return _form(request, form, row.model, "Edit title", "Save", {"discussion": row})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_comment(
    request: HttpRequest, namespace: str, name: str, discussion: int, comment: int
) -> HttpResponse:
    """The form for one's own comment."""
    row = _discussion(request, namespace, name, discussion)
    own = selectors.comment(row, comment)
    if not selectors.may_edit(request.user, own):
        raise problems.NotAllowed("Only the author of a comment can change it.")
    if own.hidden_at is not None and not selectors.may_moderate(request.user, row.model):
        raise problems.StateConflict("This comment is hidden and cannot be changed.")
    form = CommentForm(request.POST or None, initial={"body": own.body})
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            services.edit_comment(request.user, comment=own, body=form.cleaned_data["body"])
            return HttpResponseRedirect(_place(row, comment))
    return _form(request, form, row.model, "Edit comment", "Save", {"discussion": row})


@login_required
@require_POST
def act(request: HttpRequest, namespace: str, name: str, discussion: int) -> HttpResponse:
    """Close or reopen a discussion, hide or show one of its comments; then back to it."""
    row = _discussion(request, namespace, name, discussion)
    action = request.POST.get("action", "")
    if action not in _ACTIONS:
        raise problems.InvalidRequest.at("/action", f"Valid actions: {', '.join(_ACTIONS)}.")
    number = addresses.whole(request.POST.get("comment", "")) or 0
    kinds = problems.InvalidRequest, problems.StateConflict, problems.Throttled
    with forms.as_message(request, *kinds):
        _ACTIONS[action](request.user, row, number, request.POST.get("reason", ""))
    if number:
        return HttpResponseRedirect(_place(row, number))
    return HttpResponseRedirect(_url("discussion", row.model, row.number))


_ACTIONS: dict[str, Callable[[Actor, Discussion, int, str], object]] = {
    "close": lambda actor, of, _number, _reason: services.set_status(
        actor, discussion=of, status="closed"
    ),
    "reopen": lambda actor, of, _number, _reason: services.set_status(
        actor, discussion=of, status="open"
    ),
    "hide": lambda actor, of, number, reason: services.hide(
        actor, comment=selectors.comment(of, number), reason=reason
    ),
    "unhide": lambda actor, of, number, _reason: services.unhide(
        actor, comment=selectors.comment(of, number)
    ),
}


def _discussion(request: HttpRequest, namespace: str, name: str, number: int) -> Discussion:
    model = versions.model(request.user, namespace, name)
    return selectors.discussion(request.user, model, number)


def _url(view: str, model: RegisteredModel, *more: object) -> str:
    return reverse(view, args=[model.namespace.slug, model.name, *more])


def _place(of: Discussion, number: int) -> str:
    """The address of a comment on the page that has it."""
    after = (number - 1) // COMMENTS * COMMENTS
    path = addresses.join(_url("discussion", of.model, of.number), {"after": after or ""})
    return f"{path}#comment-{number}"


def _form(
    request: HttpRequest,
    form: Form,
    model: RegisteredModel,
    title: str,
    button: str,
    more: dict[str, Any],
) -> HttpResponse:
    template_context = {
        "section": "models",
        "model": model,
        "title": title,
        "button": button,
        **more,
    }
    return forms.page(request, "discussions/form.html", form, template_context)
