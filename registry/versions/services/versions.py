"""Drafting, submitting, publishing, yanking and withdrawing versions."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems, refs
from registry.cards import cards
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import DraftKey, RegisteredModel, User, Version
from registry.models.versions import VersionState
from registry.versions import dependents, lifecycle, ref_names

KEY_LIFETIME = timedelta(days=1)


@transaction.atomic
def draft(
    actor: Actor,
    *,
    model: RegisteredModel,
    message: str = "",
    label: str = "",
    key: UUID | None = None,
) -> Version:
    """Open a new version under the next number; two callers at once get two numbers.

    A repeat with the same `key` within a day returns the version that the first call opened.
    Raises StateConflict where that was opened with other values.
    """
    user = require(actor, "version.draft", model)
    if label:
        refs.check_label(label)
    model = lock(model)
    if key is None:
        return _open(model, user, message, label)
    earlier = Version.objects.filter(keys__owner=user, keys__key=key).first()
    if earlier is None:
        version = _open(model, user, message, label)
        try:
            with transaction.atomic():
                DraftKey.objects.create(owner=user, key=key, version=version)
        except IntegrityError as error:  # the same key for two models at once
            raise _reused(key) from error
        return version
    if (earlier.model_id, earlier.message, earlier.label) != (model.pk, message, label):
        raise _reused(key)
    return earlier


def _open(model: RegisteredModel, user: User, message: str, label: str) -> Version:
    if refs.version_number(label) not in (None, model.next_number):
        raise problems.InvalidName.at(
            "/label",
            f"{label} means the version with that number, and this is version "
            f"{model.next_number}. Choose another label.",
        )
    if label:
        ref_names.expect_unretired(model, label)
    return lifecycle.draft(model, user, message=message, label=label)


def _reused(key: UUID) -> problems.StateConflict:
    return problems.StateConflict(
        f"The Idempotency-Key {key} belongs to another request. Send a new key for a new version."
    )


def forget_keys() -> None:
    """Delete the Idempotency-Keys of requests that are no longer repeated."""
    DraftKey.objects.filter(created_at__lt=timezone.now() - KEY_LIFETIME).delete()


@transaction.atomic
def delete_draft(actor: Actor, *, version: Version) -> None:
    """Delete a draft with its files' paths; their bytes are collected later."""
    require(actor, "version.edit", version.model)
    version = lifecycle.lock(version, "draft")
    events.record("version.deleted", version, actor=actor, model=version.model, ref=version.ref)
    version.delete()


@transaction.atomic
def submit(actor: Actor, *, version: Version, publish: bool = True) -> Version:
    """Submit a draft: its files are frozen and checked.

    With `publish`, it is published when all checks pass.
    """
    user = require(actor, "version.submit", version.model)
    version = lifecycle.lock(version, "draft")
    paths = list(version.files.values_list("path", flat=True))
    if not any(path.lower().endswith(".onnx") for path in paths):
        raise problems.ModelMissing(
            f"{version.ref} contains no .onnx file. Add one; external weights go beside it."
        )
    if cards.CARD_PATH in paths:
        cards.accept(version.readme)
    lifecycle.freeze(version, user, publish=publish)
    return version


@transaction.atomic
def publish(actor: Actor, *, version: Version) -> Version:
    """Publish a submitted version whose checks have passed.

    Fails with checks-pending or checks-failed otherwise.
    """
    user = require(actor, "version.publish", version.model)
    version = lifecycle.lock(version, "submitted")
    lifecycle.publish(version, user)
    return version


@transaction.atomic
def yank(
    actor: Actor, *, version: Version, reason: str, breaks_dependents: bool = False
) -> Version:
    """Yank a version: it leaves lists, and is no longer the newest.

    Its exact number still resolves, with a warning. What depends on it is named with 409, unless
    it may break.
    """
    require(actor, "version.yank", version.model)
    version = lifecycle.lock(version, "published")
    _end(actor, version, Version.State.YANKED, reason, breaks_dependents=breaks_dependents)
    return version


@transaction.atomic
def restore(actor: Actor, *, version: Version) -> Version:
    """Undo a yank."""
    require(actor, "version.yank", version.model)
    version = lifecycle.lock(version, "yanked")
    version.state = Version.State.PUBLISHED
    version.reason = ""
    version.ended_at = None
    version.save(update_fields=["state", "reason", "ended_at"])
    lifecycle.describe_by_newest(version.model)
    events.record("version.restored", version, actor=actor, model=version.model)
    return version


@transaction.atomic
def withdraw(
    actor: Actor, *, version: Version, reason: str, breaks_dependents: bool = False
) -> Version:
    """Withdraw a version: its files are deleted unless others use them. Page and digests remain.

    What depends on it is named with 409, unless it may break.
    """
    require(actor, "version.withdraw", version.model)
    version = lifecycle.lock(version, "published", "yanked")
    _end(actor, version, Version.State.WITHDRAWN, reason, breaks_dependents=breaks_dependents)
    return version


def _end(
    actor: Actor, version: Version, state: VersionState, reason: str, *, breaks_dependents: bool
) -> None:
    if not reason.strip():
        raise problems.InvalidRequest.at(
            "/reason", "Give a reason; it is shown to people who use this version."
        )
    if not breaks_dependents:
        dependents.expect_none(actor, version)
    version.state = state
    version.reason = reason.strip()
    version.ended_at = timezone.now()
    version.save(update_fields=["state", "reason", "ended_at"])
    lifecycle.describe_by_newest(version.model)
    events.record(f"version.{state}", version, actor=actor, model=version.model, reason=reason)
