"""Following the transparency log of a source, so that a mirror notices another history there."""

from __future__ import annotations

from hub.counting import plural
from hub.protocol import problems
from hub.protocol.transparency import proofs
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Checkpoint, Note, NoteError
from hub.protocol.transparency.proofs import TrustedHead
from registry.mirrors.hub_source import HubSource
from registry.models import Mirror, SourceHead


def follow(mirror: Mirror, source: HubSource) -> None:
    """Keep the newest head of a source, which must continue the one that was kept before.

    A source that never had a log is taken as it is. Raises RecordMismatch.
    """
    row = SourceHead.objects.filter(mirror=mirror).first()
    earlier = TrustedHead(row.key, row.checkpoint) if row else None
    size = _size(earlier)
    try:
        head = proofs.verify_head(source.log_head(size), earlier)
    except problems.NotFound:
        if earlier is None:
            return
        raise _mismatch(
            mirror, f"it shows no log now; its log had {plural(size, 'record')}."
        ) from None
    except ProofError as error:
        raise _mismatch(mirror, str(error)) from None
    SourceHead.objects.update_or_create(
        mirror=mirror, defaults={"key": head.trusted.key, "checkpoint": head.trusted.checkpoint}
    )


def _size(head: TrustedHead | None) -> int:
    try:
        return Checkpoint.parse(Note.parse(head.checkpoint).text).size if head else 0
    except NoteError:
        return 0


def _mismatch(mirror: Mirror, fault: str) -> problems.RecordMismatch:
    return problems.RecordMismatch(
        f"{mirror.url} does not agree with the log that this mirror saw before: {fault} Nothing "
        "was fetched. Ask the operator of the source. If it was restored from a backup, remove "
        "this mirror and add it again; its models stay."
    )
