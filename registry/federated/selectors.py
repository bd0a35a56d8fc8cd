"""The only doors to rows of trainings: who sees a model sees its trainings, a device its own.

Pseudonyms and figures of single contributions are for maintainers; everyone else gets counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import OuterRef, Q, QuerySet, Subquery

from hub.protocol import problems
from registry.core.permissions import Actor, can, require
from registry.federated.models import (
    Contribution,
    DeviceEvaluation,
    DeviceReport,
    EnrolledDevice,
    Fleet,
    FleetDevice,
    FleetInvite,
    Invite,
    Participant,
    Round,
    Training,
)
from registry.models import RegisteredModel, RetiredName, Version
from registry.versions import selectors as registry
from registry.versions.dependents import VersionDependent


@dataclass(frozen=True, slots=True)
class Seeker:
    """The caller: a user of the hub, or a device with its own token."""

    actor: Actor
    participant: Participant | None = None

    def is_of(self, training: Training) -> bool:
        """Whether a device of this very training asks."""
        return self.participant is not None and self.participant.training_id == training.pk


def trainings(actor: Actor, of: RegisteredModel) -> QuerySet[Training]:
    """The trainings of a model, itself seen by the actor; drafts for writers."""
    rows = Training.objects.filter(model=of)
    rows = rows.select_related("model__namespace", "base", "created_by")
    if registry.sees_drafts(registry.role(actor, of)):
        return rows
    return rows.exclude(opened_at=None)


def training(seeker: Seeker, namespace: str, name: str, number: int) -> Training:
    """A training by its number; raises NotFound, and Moved for a name that its model had."""
    device = seeker.participant
    if device is not None and device.training.number == number:
        own = device.training
        if own.model.deleted_at is None and _is_named(own.model, f"{namespace}/{name}"):
            return own
    of = registry.model(seeker.actor, namespace, name)
    return problems.expect(
        trainings(seeker.actor, of).filter(number=number).first(),
        problems.NotFound(f"{of.ref} has no training {number} that you can see."),
    )


def admitted(namespace: str, name: str, number: int) -> Training | None:
    """A training regardless of visibility: only for callers who present an invitation to it."""
    rows = Training.objects.select_related("model__namespace", "base", "created_by").filter(
        model__namespace__slug__iexact=namespace,
        model__name__iexact=name,
        model__deleted_at=None,
        number=number,
    )
    return rows.first()


def round_(of: Training, number: int) -> Round:
    """A round of a training, itself seen by the caller; raises NotFound."""
    row = problems.expect(
        rounds(of).filter(number=number).first(), problems.NotFound(f"{of} has no round {number}.")
    )
    row.training = of
    return row


def rounds(of: Training, *, before: int | None = None) -> QuerySet[Round]:
    """The rounds of a training, newest first; those below a number where one is given."""
    rows = Round.objects.filter(training=of).select_related("aggregate", "version")
    return rows if before is None else rows.filter(number__lt=before)


def live_round(of: Training) -> Round | None:
    """The round that is open or closing."""
    row = Round.objects.filter(training=of, state__in=Round.LIVE).first()
    if row is not None:
        row.training = of
    return row


def participants(actor: Actor, of: Training) -> QuerySet[Participant]:
    """Who takes part, for maintainers; raises NotAllowed."""
    require(actor, "training.manage", of.model)
    return Participant.objects.filter(training=of)


def participant(actor: Actor, of: Training, pseudonym: str) -> Participant:
    """One participant, for maintainers; raises NotAllowed, NotFound."""
    row = problems.expect(
        participants(actor, of).filter(pseudonym=pseudonym).first(),
        problems.NotFound(f"{of} has no participant {pseudonym}."),
    )
    row.training = of
    return row


def fleets(actor: Actor, of: RegisteredModel) -> QuerySet[Fleet]:
    """The fleets of a model, for maintainers; raises NotAllowed."""
    require(actor, "training.manage", of)
    return Fleet.objects.filter(model=of).select_related("stable", "desired")


def of_version(actor: Actor, version: Version) -> Iterator[VersionDependent]:
    """The trainings that go on from a version, and the fleets that run it."""
    bases = trainings(actor, version.model).filter(base=version)
    for training in bases.exclude(state__in=Training.OVER):
        yield VersionDependent("training", str(training))
    if can(actor, "training.manage", version.model):
        rows = fleets(actor, version.model)
        for fleet in rows.filter(Q(stable=version) | Q(desired=version)):
            yield VersionDependent("fleet", str(fleet))


def fleet(actor: Actor, of: RegisteredModel, name: str) -> Fleet:
    """One fleet, for maintainers; raises NotAllowed, NotFound."""
    row = problems.expect(
        fleets(actor, of).filter(name=name).first(),
        problems.NotFound(f"{of.ref} has no fleet {name}."),
    )
    row.model = of
    return row


def fleet_invites(actor: Actor, of: Fleet) -> QuerySet[FleetInvite]:
    """The invitations to enrol in a fleet, for maintainers; raises NotAllowed."""
    require(actor, "training.manage", of.model)
    return FleetInvite.objects.filter(fleet=of)


def enrolled_devices(actor: Actor, of: Fleet) -> QuerySet[EnrolledDevice]:
    """The devices of a fleet with keys of their own, for maintainers; raises NotAllowed."""
    require(actor, "training.manage", of.model)
    return EnrolledDevice.objects.filter(fleet=of)


def devices(of: Fleet) -> QuerySet[FleetDevice]:
    """What the devices of a fleet, itself seen by the caller, said last; those that failed first.

    Each row has the ``number`` of the version that it names; None where the model has no such one.
    """
    named = Version.objects.filter(model=of.model_id, manifest_sha256=OuterRef("running"))
    rows = of.devices.annotate(number=Subquery(named.values("number")[:1]))
    return rows.order_by("result", "device", "pk")


def invites(actor: Actor, of: Training) -> QuerySet[Invite]:
    """The invitations to a training, for maintainers; raises NotAllowed."""
    require(actor, "training.manage", of.model)
    return Invite.objects.filter(training=of)


def contributions(actor: Actor, of: Round) -> list[Contribution]:
    """The contributions of a round by pseudonym, for maintainers; nothing for anyone else."""
    if not can(actor, "training.manage", of.training.model):
        return []
    return list(of.contributions.select_related("participant")[:1000])


def evaluation(of: Round) -> DeviceEvaluation:
    """The newest evaluation of a round on devices; raises NotFound."""
    row = problems.expect(
        DeviceEvaluation.objects.filter(round=of).select_related("base", "candidate").first(),
        problems.NotFound(f"Devices have not evaluated round {of.number}."),
    )
    row.round = of
    return row


def evaluations(of: Iterable[Round]) -> dict[int, DeviceEvaluation]:
    """The newest evaluation of each round that has one, by the round's key."""
    rows = DeviceEvaluation.objects.filter(round__in=of).order_by("pk")
    return {row.round_id: row for row in rows}


def reports(actor: Actor, of: DeviceEvaluation) -> list[DeviceReport]:
    """The reports to an evaluation by pseudonym, for maintainers; nothing for anyone else."""
    if not can(actor, "training.manage", of.round.training.model):
        return []
    return list(of.reports.select_related("participant")[:1000])


def require_compared(seeker: Seeker, of: DeviceEvaluation) -> None:
    """Raise NotFound unless the caller may have the weights that an evaluation compares.

    A device may while it is open; writers of the namespace always may.
    """
    if not (seeker.is_of(of.round.training) and of.state == DeviceEvaluation.State.OPEN):
        require_result(seeker.actor, of.round)


def every_contribution(actor: Actor, of: Round) -> Iterator[Contribution]:
    """All contributions of a round in the order of joining, for maintainers; raises NotAllowed."""
    require(actor, "training.manage", of.training.model)
    return of.contributions.select_related("participant").iterator()


def require_weights(seeker: Seeker, of: Round) -> None:
    """Raise NotFound unless the caller may have a round's base, which no check has looked at.

    A device may while its round is live; writers of the namespace always may.
    """
    if not (seeker.is_of(of.training) and of.is_live):
        require_result(seeker.actor, of)


def require_result(actor: Actor, of: Round) -> None:
    """Raise NotFound unless the caller may have what a round became before it is a version."""
    if not registry.sees_drafts(registry.role(actor, of.training.model)):
        raise problems.NotFound(
            "The weights of a round are available only to its participants while it runs and to "
            "users with write access to the namespace. Released versions are on the model's page."
        )


def _is_named(model: RegisteredModel, ref: str) -> bool:
    """Whether a model has this name, or had it before."""
    if model.ref.lower() == ref.lower():
        return True
    return RetiredName.objects.filter(name=ref.lower(), moved_to=model).exists()


def every(actor: Actor, *, before: int | None = None) -> QuerySet[Training]:
    """The open and ended trainings of all models that the actor may see, newest first."""
    rows = Training.objects.filter(
        model__in=RegisteredModel.objects.visible_to(actor), opened_at__isnull=False
    )
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return rows.select_related("model__namespace", "base").defer("layout").order_by("-pk")
