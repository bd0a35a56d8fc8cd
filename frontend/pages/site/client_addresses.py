"""Addresses as clients of the Hub protocol print them: people who open one come to our page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from hub.protocol import problems
from registry.models import RegisteredModel
from registry.protocols.huggingface import errors, revisions
from registry.protocols.huggingface.revisions import Revision
from registry.versions import selectors


@require_safe
def model(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """`/zoo/net`: the model's page."""
    row = selectors.model(request.user, namespace, name)
    return _to("model", row)


@require_safe
def tree(request: HttpRequest, namespace: str, name: str, rest: str) -> HttpResponse:
    """`/zoo/net/tree/main/folder`: the files of that version."""
    row = selectors.model(request.user, namespace, name)
    at, _ = _split(request, row, rest)
    return _to("version-files", row, at) if at.version else _to("model", row)


@require_safe
def blob(request: HttpRequest, namespace: str, name: str, rest: str) -> HttpResponse:
    """`/zoo/net/blob/main/model.onnx`: the files of that version, if this is one of them."""
    row = selectors.model(request.user, namespace, name)
    at, path = _split(request, row, rest)
    if at.version is None or not at.files().filter(path=path).exists():
        raise problems.NotFound(f"{row.ref} has no file {path} at {at.commit_id}.")
    return _to("version-files", row, at)


@require_safe
def commits(request: HttpRequest, namespace: str, name: str, rest: str) -> HttpResponse:
    """`/zoo/net/commits/main`: the list of versions."""
    row = selectors.model(request.user, namespace, name)
    _split(request, row, rest)
    return _to("model-versions", row)


def _split(request: HttpRequest, of: RegisteredModel, rest: str) -> tuple[Revision, str]:
    try:
        return revisions.split(request.user, of, rest)
    except errors.Refused as refused:
        raise problems.NotFound(refused.message) from refused


def _to(page: str, of: RegisteredModel, at: Revision | None = None) -> HttpResponse:
    place = [of.namespace.slug, of.name]
    if at is not None and at.version is not None:
        return HttpResponseRedirect(reverse(page, args=[*place, at.version.number]))
    return HttpResponseRedirect(reverse(page, args=place))
