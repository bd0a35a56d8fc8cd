"""The moves of a version between its states, without asking who: services ask that before.

draft -> submitted -> published <-> yanked; published or yanked -> withdrawn;
submitted -> draft when a check fails.
"""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import manifests, problems
from registry.cards import cards, licences, mentions, result_files
from registry.core import events
from registry.models import Branch, Check, Ref, RegisteredModel, User, Version
from registry.versions import git_names

CHECKS = ("onnx", "card")
BRANCH = "main"


def lock(version: Version, *states: str) -> Version:
    """The version as it is now, with its model locked until the transaction ends.

    Raises StateConflict unless it is in one of ``states``, where some are named.
    """
    model = RegisteredModel.objects.select_for_update().get(pk=version.model_id)
    fresh = Version.objects.select_related("created_by").get(pk=version.pk)
    fresh.model = model
    if states:
        expect(fresh, *states)
    return fresh


def expect(version: Version, *states: str) -> None:
    """Raise StateConflict unless the version is in one of ``states``."""
    if version.state not in states:
        names = " or ".join(states)
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; it must be {names}.", state=version.state
        )


def draft(
    model: RegisteredModel,
    user: User,
    *,
    message: str = "",
    label: str = "",
    branch: str = BRANCH,
    number: int | None = None,
) -> Version:
    """Open a new version of a locked model; raises NameTaken.

    It gets the next number, or a free ``number`` that it has elsewhere.
    """
    try:
        with transaction.atomic():
            version = Version.objects.create(
                model=model,
                number=number or model.next_number,
                message=message,
                label=label,
                branch=branch,
                created_by=user,
            )
    except IntegrityError as error:
        raise problems.NameTaken.at(
            "/label", f"{model.ref} already has a version {label!r}."
        ) from error
    model.next_number = max(model.next_number, version.number + 1)
    model.save(update_fields=["next_number"])
    events.record("version.drafted", version, actor=user, model=model)
    return version


def freeze(version: Version, actor: User, *, publish: bool, at: datetime | None = None) -> None:
    """Submit a draft: compute its manifest and commit id, and open its checks."""
    at = at or timezone.now()
    version.manifest_sha256 = manifests.digest(
        (file.path, file.blob_id, file.blob.size)
        for file in version.files.select_related("blob")
        if not file.derived
    )
    version.parent = parent_of(version)
    version.tree_id, version.commit_id = name_commit(version, actor, at)
    version.card = result_files.with_files(version)
    version.__dict__.pop("typed_card", None)
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
    mentions.note(version)
    # A later version may have this commit as its parent, whatever becomes of this one.
    events.record(
        "version.submitted", version, actor=actor, model=version.model, commit=version.commit_id
    )


def name_commit(version: Version, actor: User, at: datetime) -> tuple[str, str]:
    """The ids of the tree and of the commit that a version's files are at ``at``."""
    files = version.files.values_list("path", "git_oid", "lfs")
    tree_id = git_names.tree_id(git_names.committed(files))
    parent = parent_of(version)
    message = version.message or f"Version {version.number}"
    return tree_id, git_names.commit_id(
        tree_id,
        parent.commit_id if parent else None,
        message,
        git_names.Signature(actor.username, at),
    )


def parent_of(version: Version) -> Version | None:
    """The version that a version follows: the one before it on its branch, or where that began."""
    earlier = (
        Version.objects.filter(model=version.model, number__lt=version.number)
        .exclude(commit_id=None)
        .exclude(state=Version.State.DRAFT)
    )
    if parent := earlier.filter(branch=version.branch).first():
        return parent
    return earlier.filter(branches__model=version.model, branches__name=version.branch).first()


def reopen(version: Version) -> None:
    """Take a submitted version back to draft."""
    version.card = result_files.without_files(version.card)
    version.__dict__.pop("typed_card", None)
    version.state = Version.State.DRAFT
    version.publish_requested = False
    version.commit_id = None
    version.parent = None
    version.save()


def reject(version: Version) -> None:
    """Send a submitted version back to draft; its failed checks say why."""
    reopen(version)
    # A tag never moves, and what it named may be changed now; no one else has seen it. The tags of
    # a commit stay, since that stays what it was.
    Ref.objects.filter(version=version, kind=Ref.Kind.TAG).delete()
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
            f"{version.ref} did not pass: {', '.join(failed)}. See its page for details."
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
    tags = Ref.objects.filter(commit__version=version, commit__commit_id=version.commit_id)
    tags.update(version=version, commit=None)
    if not _newer_published(version):
        if version.branch == BRANCH:
            _describe(model, version)
        _move_branch(version)
    model.first_published_at = model.first_published_at or now
    model.save()
    events.record("version.published", version, actor=actor, model=model)


def describe_by_newest(model: RegisteredModel) -> None:
    """Let a model say what its newest published version's card says; without one it stays."""
    newest = Version.objects.filter(
        model=model, branch=BRANCH, state=Version.State.PUBLISHED
    ).first()
    if newest is not None:
        _describe(model, newest)
        model.save(update_fields=["license", "task", "keywords", "summary"])


def _move_branch(version: Version) -> None:
    """Let the branch name its newest version; one that was deleted meanwhile stays away."""
    name = version.branch
    if name == BRANCH or Branch.objects.filter(model=version.model, name=name).exists():
        Ref.objects.update_or_create(
            model=version.model,
            name=name,
            defaults={"kind": Ref.Kind.BRANCH, "version": version},
        )


def _newer_published(version: Version) -> bool:
    return Version.objects.filter(
        model=version.model,
        number__gt=version.number,
        branch=version.branch,
        state=Version.State.PUBLISHED,
    ).exists()


def _describe(model: RegisteredModel, version: Version) -> None:
    """Take over what the card of the newest version says about its model."""
    card = version.typed_card
    model.license = licences.text(*card.licenses) or model.license
    model.task = card.task or model.task
    model.keywords = list(card.keywords) or model.keywords
    model.summary = cards.summary(card.summary, cards.body(version.readme)) or model.summary
