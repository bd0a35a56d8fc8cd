"""The moves of a version between its states, without asking who: services ask that before.

draft -> submitted -> published <-> yanked; published or yanked -> withdrawn;
submitted -> draft when a check fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from hub.protocol import manifests, problems
from registry import cards, events, git
from registry.models import Check, Ref, RegisteredModel, Version

if TYPE_CHECKING:
    from registry.models import User

CHECKS = ("onnx",)
BRANCH = "main"


def lock(version: Version) -> Version:
    """The version as it is now, with its model locked until the transaction ends."""
    model = RegisteredModel.objects.select_for_update().get(pk=version.model_id)
    fresh = Version.objects.select_related("created_by").get(pk=version.pk)
    fresh.model = model
    return fresh


def expect(version: Version, *states: str) -> None:
    """Raise StateConflict unless the version is in one of ``states``."""
    if version.state not in states:
        wanted = " or ".join(states)
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; this needs it to be {wanted}.", state=version.state
        )


def freeze(version: Version, actor: User, *, publish: bool) -> None:
    """Submit a draft: compute its manifest and commit id, and open its checks."""
    files = list(version.files.select_related("blob"))
    at = timezone.now()
    parent = (
        Version.objects.filter(model=version.model, number__lt=version.number)
        .exclude(commit_id=None)
        .exclude(state=Version.State.DRAFT)
        .first()
    )
    version.manifest_sha256 = manifests.digest(
        (file.path, file.blob_id, file.blob.size) for file in files if not file.derived
    )
    version.tree_id = git.tree_id((file.path, file.git_oid) for file in files)
    version.parent = parent
    version.commit_id = git.commit_id(
        version.tree_id,
        parent.commit_id if parent else None,
        version.message or f"Version {version.number}",
        git.Signature(actor.username, at),
    )
    version.state = Version.State.SUBMITTED
    version.submitted_at = at
    version.publish_requested = publish
    version.save()
    version.variants.all().delete()
    for kind in CHECKS:
        Check.objects.update_or_create(
            version=version,
            kind=kind,
            defaults={"required": True, "outcome": Check.Outcome.PENDING, "report": None},
        )
    events.record("version.submitted", version, actor=actor, model=version.model)


def reject(version: Version) -> None:
    """Send a submitted version back to draft; its failed checks say why."""
    version.state = Version.State.DRAFT
    version.publish_requested = False
    version.commit_id = None
    version.parent = None
    version.save()
    events.record("version.rejected", version, actor=None, model=version.model)


def publish(version: Version, actor: User) -> None:
    """Make a submitted version public; raises ChecksPending or ChecksFailed."""
    required = list(version.checks.filter(required=True))
    missing = {*CHECKS} - {check.kind for check in required}
    waiting = [c.kind for c in required if c.outcome == Check.Outcome.PENDING] + sorted(missing)
    failed = [
        c.kind for c in required if c.outcome in (Check.Outcome.FAILED, Check.Outcome.ERRORED)
    ]
    if failed:
        raise problems.ChecksFailed(
            f"{version.ref} did not pass: {', '.join(failed)}. Its page says what is wrong."
        )
    if waiting:
        raise problems.ChecksPending(
            f"{version.ref} is still being checked: {', '.join(waiting)}. Try again later."
        )
    now = timezone.now()
    version.state = Version.State.PUBLISHED
    version.published_at = now
    version.save(update_fields=["state", "published_at"])
    model = version.model
    if version.branch == BRANCH and not _newer_published(version):
        _describe(model, version)
        Ref.objects.update_or_create(
            model=model, name=BRANCH, defaults={"kind": Ref.Kind.BRANCH, "version": version}
        )
    model.first_published_at = model.first_published_at or now
    model.save()
    events.record("version.published", version, actor=actor, model=model)


def _newer_published(version: Version) -> bool:
    return Version.objects.filter(
        model=version.model,
        number__gt=version.number,
        branch=version.branch,
        state=Version.State.PUBLISHED,
    ).exists()


def _describe(model: RegisteredModel, version: Version) -> None:
    """Take over what the card of the newest version says about its model."""
    card = cards.Card(version.card, cards.parse(version.readme).body if version.readme else "")
    model.license = card.license or model.license
    model.task = card.task or model.task
    model.keywords = card.keywords or model.keywords
    model.summary = card.summary or model.summary
