"""Access of users who are no members: requests for files of gated models, decisions, and grants."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.core.row_locks import lock
from registry.models import AccessRequest, RegisteredModel, User
from registry.models.access import AccessStatus as Status
from registry.versions import gate_terms, selectors

LONGEST_MESSAGE = 2_000
LONGEST_REASON = 500
_VERBS = {
    Status.ACCEPTED: "access.accepted",
    Status.REJECTED: "access.rejected",
    Status.PENDING: "access.cancelled",
}


@transaction.atomic
def ask(
    actor: Actor, *, model: RegisteredModel, message: str = "", terms_sha256: str = ""
) -> AccessRequest:
    """Ask for the files of a model that the actor sees; an automatic gate lets in at once.

    The event has the terms of the gate, which the actor agrees to by asking, and their digest.
    Asking again changes the words of a request that waits. Raises NotAuthenticated, InvalidRequest,
    and StateConflict where there is nothing to ask for, the answer was no, or the terms are not
    those of ``terms_sha256`` any more.
    """
    user = require_user(actor, of=model)
    message = _short(message, "message", LONGEST_MESSAGE)
    model = lock(model, "namespace")
    request = AccessRequest.objects.filter(model=model, user=user).first()
    if request is not None and request.status == Status.REJECTED:
        raise problems.StateConflict(
            f"Access to {model.ref} was rejected. Its owners can still grant you access."
        )
    if not model.is_gated:
        raise problems.StateConflict(
            f"{model.ref} is not gated: everyone who can see it can download its files."
        )
    if request is not None and request.status == Status.ACCEPTED:
        return request
    if request is None and selectors.may_have_files(actor, model):
        raise problems.StateConflict(f"You already have access to the files of {model.ref}.")
    terms = gate_terms.current(actor, model)
    if terms_sha256 and terms_sha256 != terms.sha256:
        raise problems.StateConflict(
            f"The terms of {model.ref} have changed. Read them again before you ask."
        )
    now = timezone.now()
    is_new = request is None
    request = request or AccessRequest(model=model, user=user, asked_at=now)
    request.message = message
    if model.gate == RegisteredModel.Gate.AUTO:
        request.status, request.decided_at = Status.ACCEPTED, now
    request.save()
    if is_new or request.status == Status.ACCEPTED:
        agreed = {"terms": terms.text, "terms_sha256": terms.sha256} if terms.text else {}
        _record("access.asked", request, actor, status=request.status, **agreed)
    return request


@transaction.atomic
def withdraw(actor: Actor, *, model: RegisteredModel) -> None:
    """Take one's own request, or the leave it got, back; a refusal stays. Raises NotFound."""
    user = require_user(actor, of=model)
    request = _request(lock(model, "namespace"), user.username)
    if request.status == Status.REJECTED:
        raise problems.StateConflict("A rejected access request cannot be withdrawn.")
    _record("access.withdrawn", request, actor)
    request.delete()


@transaction.atomic
def decide(
    actor: Actor, *, model: RegisteredModel, username: str, status: str, reason: str = ""
) -> AccessRequest:
    """Accept or reject who asked, or have the request wait again; raises NotFound.

    Accepted for a private model, the user sees it. A reason is for a refusal; who asked reads it.
    """
    require(actor, "access.decide", model)
    if status not in Status.values:
        raise problems.InvalidRequest.at("/status", f"Use one of {', '.join(Status.values)}.")
    reason = _short(reason, "reason", LONGEST_REASON)
    if reason and status != Status.REJECTED:
        raise problems.InvalidRequest.at("/reason", "Only a rejection can have a reason.")
    model = lock(model, "namespace")
    request = _request(model, username)
    is_private = model.visibility == RegisteredModel.Visibility.PRIVATE
    covers_private = status == Status.ACCEPTED and (request.covers_private or is_private)
    decision = (status, reason, covers_private)
    if decision != (request.status, request.reason, request.covers_private):
        _settle(actor, request, Status(status), reason, covers_private=covers_private)
        _record(_VERBS[Status(status)], request, actor)
    return request


@transaction.atomic
def grant(actor: Actor, *, model: RegisteredModel, username: str) -> AccessRequest:
    """Grant a user access, requested or not, while the model is private too.

    Raises NotFound for an unknown user.
    """
    require(actor, "access.decide", model)
    user = problems.expect(
        User.objects.filter(username__iexact=username, is_active=True).first(),
        problems.NotFound(f"User {username[:150]} not found."),
    )
    model = lock(model, "namespace")
    request = AccessRequest.objects.filter(model=model, user=user).first()
    if request is not None and request.covers_private:
        return request
    request = request or AccessRequest(model=model, user=user, asked_at=timezone.now())
    _settle(actor, request, Status.ACCEPTED, "", covers_private=True)
    _record("access.granted", request, actor)
    return request


def _settle(
    actor: Actor, request: AccessRequest, status: Status, reason: str, *, covers_private: bool
) -> None:
    waits = status == Status.PENDING
    request.status, request.reason, request.covers_private = status, reason, covers_private
    request.decided_at = None if waits else timezone.now()
    request.decided_by = None if waits else require_user(actor, of=request.model)
    request.save()


def _record(verb: str, request: AccessRequest, actor: Actor, **data: str) -> None:
    # The row may be gone when somebody reads the event, so it names the user.
    user = request.user.username
    events.record(verb, request, actor=actor, model=request.model, user=user, **data)


def _request(model: RegisteredModel, username: str) -> AccessRequest:
    rows = AccessRequest.objects.select_related("user", "decided_by")
    return problems.expect(
        rows.filter(model=model, user__username__iexact=username).first(),
        problems.NotFound(f"{username[:150]} has not requested access to {model.ref}."),
    )


def _short(text: str, field: str, most: int) -> str:
    text = text.strip()
    if len(text) > most:
        raise problems.InvalidRequest.at(f"/{field}", f"Use at most {most} characters.")
    return text
