"""Errors as the protocol has them: a code and a message in headers, since HEAD has no body.

A hidden repository and a missing one are one answer: 401 to guests, so that clients ask for a
token, 404 with one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse, JsonResponse

from hub.protocol import problems
from registry.api.problems import translate
from registry.core.permissions import Actor
from registry.versions import moves

REPO_NOT_FOUND = "RepoNotFound"
REVISION_NOT_FOUND = "RevisionNotFound"
ENTRY_NOT_FOUND = "EntryNotFound"
GATED = "GatedRepo"
# Clients compare this text.
BAD_TOKEN = "Invalid credentials in Authorization header"  # noqa: S105 - words, not a secret
LONGEST_MESSAGE = 1_000


class Refused(Exception):  # noqa: N818 - read as `raise errors.Refused`
    """An answer of the protocol's own: status, the code that clients map, and words."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 404,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def no_repo(actor: Actor, name: str) -> Refused:
    """There is no such repository that the actor may see."""
    return Refused(
        f"Repository not found: {name}. Check the name; a private model needs a token that may "
        "read it.",
        status=404 if actor.is_authenticated else 401,
        code=REPO_NOT_FOUND,
    )


def no_revision(name: str, revision: str) -> Refused:
    """The repository has no such branch, tag, alias, version or commit."""
    return Refused(f"{name} has no revision {revision}.", code=REVISION_NOT_FOUND)


def no_entry(name: str, path: str, commit: str) -> Refused:
    """The commit has no such file or folder; clients remember that, for this commit."""
    return Refused(
        f"{name} has no file or folder {path} at commit {commit}.",
        code=ENTRY_NOT_FOUND,
        headers={"X-Repo-Commit": commit},
    )


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler for every view of the protocol."""
    if isinstance(error, Refused):
        return _answer(error)
    if isinstance(error, moves.Moved):
        request = context["request"]
        answer = moves.redirect(request._request, error, page=False)  # noqa: SLF001 - DRF's own
        return answer or _answer(no_repo(request.user, error.old))
    problem = translate(error)
    sent_token = "Authorization" in context["request"].headers
    if isinstance(problem, problems.NotAuthenticated) and sent_token:
        message = BAD_TOKEN
    else:
        message = problem.detail or problem.title
    # The protocol has one status for a request that makes no sense, and clients show its words.
    status = 400 if problem.status == 422 else problem.status
    code = GATED if isinstance(problem, problems.AccessNeeded) else ""
    return _answer(Refused(message, status=status, code=code, headers=_headers(problem)))


def _headers(problem: problems.Problem) -> dict[str, str]:
    headers = {}
    if "retry_after" in problem.extensions:
        wait = problem.extensions["retry_after"]
        headers["Retry-After"] = str(wait)
        if problem.status == 429:
            headers["RateLimit"] = f'"api";r=0;t={wait}'
    if problem.status == 416 and "size" in problem.extensions:
        headers["Content-Range"] = f"bytes */{problem.extensions['size']}"
    return headers


def _answer(refused: Refused) -> HttpResponse:
    response = JsonResponse({"error": refused.message}, status=refused.status)
    response["X-Error-Message"] = one_line(refused.message)
    if refused.code:
        response["X-Error-Code"] = refused.code
    if refused.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="hub"'
    response["Cache-Control"] = "no-store"
    for name, value in refused.headers.items():
        response[name] = value
    return response


def one_line(text: str) -> str:
    """``text`` as a header can carry it: one line of Latin-1 (RFC 9110 section 5.5)."""
    beginning = text[: 4 * LONGEST_MESSAGE]
    printable = "".join(letter if letter.isprintable() else " " for letter in beginning)
    line = " ".join(printable.split())[:LONGEST_MESSAGE]
    return line.encode("latin-1", "replace").decode("latin-1")
