"""Deprecating models and versions, and undoing that."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from hub.protocol import problems, refs
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import Deprecation, RegisteredModel, SearchDocument, Version
from registry.models.deprecations import LONGEST_MESSAGE
from registry.versions import lifecycle, selectors

Subject = RegisteredModel | Version


@transaction.atomic
def deprecate(actor: Actor, subject: Subject, *, message: str, successor: str = "") -> None:
    """Deprecate a model or a version, which still resolves; replaces an earlier deprecation.

    ``successor`` is a reference to a model, or to a published version. Raises InvalidRequest where
    the actor does not see it, or where it is no successor; StateConflict for a draft.
    """
    kind = _lock(actor, subject)
    message = " ".join(message.split())
    if not 0 < len(message) <= LONGEST_MESSAGE:
        raise problems.InvalidRequest.at(
            "/message",
            f"Give a message of up to {LONGEST_MESSAGE} characters; it is shown to users of "
            f"{subject.ref}.",
        )
    model, number = _successor(actor, subject, successor) if successor.strip() else (None, None)
    Deprecation.objects.filter(**{kind: subject}).delete()
    row = Deprecation.objects.create(
        **{kind: subject}, message=message, successor=model, successor_number=number
    )
    _record(actor, subject, row, message=message, successor=successor.strip())


@transaction.atomic
def undeprecate(actor: Actor, subject: Subject) -> None:
    """Undo the deprecation of a model or version itself; raises StateConflict without one."""
    kind = _lock(actor, subject)
    if not Deprecation.objects.filter(**{kind: subject}).delete()[0]:
        raise problems.StateConflict(f"{subject.ref} is not deprecated.")
    _record(actor, subject, None)


def _lock(actor: Actor, subject: Subject) -> str:
    """Lock the model; returns the name of the subject's column. Raises StateConflict."""
    model = subject.model if isinstance(subject, Version) else subject
    require(actor, "version.deprecate", model)
    if isinstance(subject, Version):
        lifecycle.lock(subject, *Version.VISIBLE)
        return "version"
    lock(model)
    return "model"


def _successor(
    actor: Actor, subject: Subject, reference: str
) -> tuple[RegisteredModel, int | None]:
    """The model that a reference names, and the number where it names a version."""
    try:
        ref = refs.parse(reference.strip())
        model = selectors.model(actor, ref.namespace, ref.model)
        names_version = ref.is_pinned or ref.label is not None
        version = selectors.find_version(actor, model, ref) if names_version else None
    except (problems.InvalidReference, problems.NotFound, problems.Withdrawn) as error:
        raise problems.InvalidRequest.at("/successor", error.detail) from error
    own_model = subject.model if isinstance(subject, Version) else subject
    fault = ""
    if ref.variant is not None:
        fault = f"Name a model or a version without the variant {ref.variant}."
    elif subject == version or (own_model == subject == model):
        fault = f"{subject.ref} cannot be its own successor. Name another model or version."
    elif version is not None and not version.is_served:
        fault = f"{version.ref} is {version.state}. Publish it first."
    elif hasattr(version or model, "deprecation"):
        fault = f"{(version or model).ref} is deprecated itself. Name what replaces it."
    if fault:
        raise problems.InvalidRequest.at("/successor", fault)
    return model, version.number if version else None


def _record(actor: Actor, subject: Subject, row: Deprecation | None, **data: Any) -> None:
    verb = "deprecated" if row else "undeprecated"
    if isinstance(subject, Version):
        events.record(f"version.{verb}", subject, actor=actor, model=subject.model, **data)
        return
    # Lists are the model's address in the API, so they follow at once.
    SearchDocument.objects.filter(pk=subject.pk).update(deprecated_at=row and row.at)
    events.record(f"model.{verb}", subject, actor=actor, model=subject, **data)
