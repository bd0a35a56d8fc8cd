"""Uploads of participants: the hub's own resumable ones, kept apart from those of its users.

They belong to an account that no one can use, so that no digest gives a user a right to them.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from hub.protocol import digests, federated, problems, safetensors
from registry.federated.models import Participant, Training
from registry.models import Upload, User
from registry.storage.files import store
from registry.storage.services import quotas, uploads

# No account can have this name, since names have no spaces.
KEEPER = "contributions of devices"
MOST_AT_ONCE = 2
MOST_ABANDONED = 20
_SLACK = safetensors.MOST_HEADER_BYTES + 8


def keeper() -> User:
    """The owner of all uploads of participants: an account that is closed and has no password."""
    user = User.objects.filter(username=KEEPER).first()
    if user is None:
        user, _ = User.objects.get_or_create(
            username=KEEPER, defaults={"is_active": False, "password": "!"}
        )
    return user


def most_bytes(training: Training) -> int:
    """The largest file that a contribution to a training can be, header included."""
    parts, encodings = training.typed_layout, training.typed_rules.encodings
    return _SLACK + max(federated.file_bytes_at_most(parts, name) for name in encodings)


def expect_size(training: Training, length: int) -> None:
    """Raise TooLarge for more bytes than any contribution to a training has."""
    most = most_bytes(training)
    if length > most:
        raise problems.TooLarge(
            f"A contribution to this training may have at most {most} bytes, not {length}."
        )


@transaction.atomic
def begin(participant: Participant, *, length: int, claimed: str = "") -> Upload:
    """Open an upload of a participant, counted for the namespace of its training.

    Raises TooLarge, QuotaExceeded, StorageFull, Throttled.
    """
    expect_size(participant.training, length)
    model = participant.training.model
    quotas.expect(model.namespace, adding=length)
    owner = keeper()
    mine = Upload.objects.filter(owner=owner, filename=_mark(participant))
    if mine.filter(state=Upload.State.ABANDONED).count() >= MOST_ABANDONED:
        raise problems.Throttled(
            f"{MOST_ABANDONED} of your completed uploads were deleted and their space is not "
            "freed yet. Try again tomorrow.",
            retry_after=3600,
        )
    if mine.filter(state__in=[Upload.State.RECEIVING, Upload.State.STORED]).count() >= MOST_AT_ONCE:
        raise problems.Throttled(
            "You already have two uploads that are open or not yet submitted. Continue, submit "
            "or delete one of them.",
            retry_after=60,
        )
    quotas.expect_disk(length)
    upload = Upload.objects.create(
        owner=owner,
        model=model,
        filename=_mark(participant),
        length=length,
        claimed_sha256=digests.parse(f"sha256:{claimed.removeprefix('sha256:')}")
        if claimed
        else "",
        expires_at=timezone.now() + uploads.LIFETIME,
    )
    store().begin(str(upload.uuid), length)
    return upload


def find(participant: Participant, uuid: UUID) -> Upload:
    """An upload of this participant; raises NotFound."""
    rows = Upload.objects.select_related("owner").filter(
        pk=uuid, owner__username=KEEPER, filename=_mark(participant)
    )
    return problems.expect(
        rows.exclude(state=Upload.State.ABANDONED).first(),
        problems.NotFound("Upload not found. It may have expired."),
    )


def stored(participant: Participant, sha256: str) -> Upload:
    """What this participant uploaded; raises BlobUnknown whatever the hub may hold otherwise."""
    rows = Upload.objects.select_related("blob").filter(
        owner__username=KEEPER,
        filename=_mark(participant),
        blob=sha256,
        state=Upload.State.STORED,
    )
    return problems.expect(
        rows.first(),
        problems.BlobUnknown(
            f"You have not uploaded sha256:{sha256} to this training. Upload it first."
        ),
    )


def in_flight(training: Training) -> bool:
    """Whether uploads of a training's participants are under way, or stored and not handed in."""
    rows = Upload.objects.filter(
        owner__username=KEEPER,
        filename__startswith=f"training:{training.pk}:",
        expires_at__gt=timezone.now(),
    )
    return rows.exists()


def _mark(participant: Participant) -> str:
    return f"training:{participant.training_id}:participant:{participant.pk}"
