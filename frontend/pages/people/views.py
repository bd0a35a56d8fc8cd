"""Namespaces and their members, and what administrators of the hub look after."""

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

from frontend.pages.people.forms import ROLES, MemberForm, NamespaceForm, QuotaForm, UserForm
from frontend.parts.addresses import whole
from frontend.presenters import health
from frontend.presenters.forms import as_message, page
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.core import account_uses
from registry.core.permissions import can, require_admin, role_in
from registry.models import Namespace, User
from registry.people import selectors
from registry.people.services import namespaces, users
from registry.storage.services import quotas
from registry.versions import selectors as versions
from registry.versions.services import deletions
from runners.queue import selectors as jobs

PAGE = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_namespace(request: HttpRequest) -> HttpResponse:
    """The form for an organisation."""
    form = NamespaceForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            space = namespaces.create(request.user, **form.cleaned_data)
            return HttpResponseRedirect(reverse("namespace", args=[space.slug]))
        except problems.Problem as problem:
            form.add_error("slug", problem.detail)
    return page(request, "people/new_namespace.html", form, {})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def namespace(request: HttpRequest, slug: str) -> HttpResponse:
    """A namespace for its members: who they are, and how much room it has."""
    space = selectors.own_namespace(request.user, slug)
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        fields = form.cleaned_data
        try:
            user = selectors.user(fields["username"])
            namespaces.set_member(request.user, namespace=space, user=user, role=fields["role"])
            messages.success(request, f"{user.username} now has the role {fields['role']}.")
            return HttpResponseRedirect(reverse("namespace", args=[space.slug]))
        except problems.NotFound as problem:
            form.add_error("username", problem.detail)
        except problems.StateConflict as problem:
            form.add_error("role", problem.detail)
    return _namespace(request, space, form=form)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove_member(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Ask once, naming who goes; then take the role away."""
    space, user = selectors.own_namespace(request.user, slug), selectors.user(username)
    if request.method != "POST":
        return render(request, "people/remove_member.html", {"namespace": space, "member": user})
    with as_message(request, problems.StateConflict):
        namespaces.set_member(request.user, namespace=space, user=user, role=None)
        messages.success(request, f"{user.username} is no longer a member of {space.slug}.")
    place = "account" if user == request.user else "namespace"
    return HttpResponseRedirect(reverse(place, args=[] if place == "account" else [space.slug]))


@login_required
@require_POST
def quota(request: HttpRequest, slug: str) -> HttpResponse:
    """Change the room of a namespace, as an administrator."""
    space = selectors.own_namespace(request.user, slug)
    form = QuotaForm(request.POST)
    if not form.is_valid():
        return _namespace(request, space, quota_form=form)
    namespaces.edit(request.user, namespace=space, quota_bytes=form.quota())
    messages.success(request, f"The quota of {space.slug} is updated.")
    return HttpResponseRedirect(reverse("namespace", args=[space.slug]))


@login_required
@require_safe
def administration(request: HttpRequest) -> HttpResponse:
    """What an administrator looks after: parts, files that killed workers, people."""
    require_admin(request.user)
    live = jobs.live_workers()
    return render(
        request,
        "people/admin.html",
        {
            "parts": health.parts(request.user, len(live), jobs.queue_lengths(request.user)),
            "bars": jobs.standing_bars(limit=PAGE),
            "failed": jobs.page_of_jobs(request.user, state="failed", limit=10),
            "people": selectors.users(request.user).count(),
            "stored": selectors.stored(),
        },
    )


@accepts("q", "before")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def accounts(request: HttpRequest) -> HttpResponse:
    """Every account, and the form for one more; its password is in this one answer."""
    require_admin(request.user)
    form = UserForm(request.POST or None)
    account = secret = None
    if request.method == "POST" and form.is_valid():
        try:
            account, secret = users.invite(request.user, **form.cleaned_data)
            form = UserForm()
        except problems.Problem as problem:
            form.add_error("username", problem.detail)
    return _accounts(request, form=form, made=account, secret=secret)


@never_cache
@login_required
@require_safe
def user(request: HttpRequest, username: str) -> HttpResponse:
    """An account for administrators: its state, its roles, and what acts for it."""
    require_admin(request.user)
    return _user(request, selectors.user(username))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest, username: str) -> HttpResponse:
    """Ask once; then show a new password in this one answer."""
    require_admin(request.user)
    user = selectors.user(username)
    if request.method != "POST":
        return render(request, "people/new_password.html", {"member": user})
    secret = users.renew_password(request.user, user=user)
    return _user(request, user, secret=secret)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def close_account(request: HttpRequest, username: str) -> HttpResponse:
    """Ask once, saying what stays; then close the account, or open it again."""
    require_admin(request.user)
    user = selectors.user(username)
    if request.method != "POST":
        context = {"member": user, "dependents": account_uses.dependents(user)}
        return render(request, "people/close_account.html", context)
    with as_message(request, problems.StateConflict, problems.NotFound):
        users.set_active(
            request.user,
            user=user,
            active="open" in request.POST,
            heir=request.POST.get("heir", "").strip(),
            ends_dependents="ends_dependents" in request.POST,
        )
        word = "reopened" if user.is_active else "closed"
        messages.success(request, f"The account {user.username} is {word}.")
    return HttpResponseRedirect(reverse("user", args=[user.username]))


def _namespace(
    request: HttpRequest,
    space: Namespace,
    *,
    form: forms.Form | None = None,
    quota_form: forms.Form | None = None,
) -> HttpResponse:
    form, quota_post = form or MemberForm(), quota_form
    if quota_post is None:
        megabytes = None if space.quota_bytes is None else space.quota_bytes // 10**6
        quota_form = QuotaForm(initial={"megabytes": megabytes})
    template_context: dict[str, Any] = {
        "namespace": space,
        "members": selectors.members(space),
        "roles": ROLES,
        "role": role_in(request.user, space),
        "room": quotas.of_namespace(space),
        "may_edit": can(request.user, "member.edit", space),
        "is_admin": request.user.is_authenticated and request.user.is_admin,
        "form": form,
        "quota_form": quota_form,
    }
    if can(request.user, "model.restore", space):
        template_context["grace_days"] = deletions.grace().days
        template_context["deleted_models"] = versions.deleted_models(request.user, space)[:PAGE]
    wrong = form.errors or (quota_post is not None and quota_post.errors)
    return render(request, "people/namespace.html", template_context, status=422 if wrong else 200)


def _user(request: HttpRequest, account: User, **more: Any) -> HttpResponse:
    context = {
        "account": account,
        "roles": selectors.roles_of(request.user, account),
        "dependents": account_uses.dependents(account),
        **more,
    }
    return render(request, "people/user.html", context)


def _accounts(request: HttpRequest, form: UserForm, **more: Any) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:150]
    before = request.GET.get("before", "")
    users = selectors.users(request.user, text=text).order_by("-pk")
    if (key := whole(before, 18)) is not None:
        users = users.filter(pk__lt=key)
    rows = list(users[: PAGE + 1])
    context = {
        "rows": rows[:PAGE],
        "text": text,
        "first": request.path if before else "",
        "next": f"{request.path}?before={rows[PAGE - 1].pk}" if len(rows) > PAGE else "",
        **more,
    }
    return page(request, "people/accounts.html", form, context)
