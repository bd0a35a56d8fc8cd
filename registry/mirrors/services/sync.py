"""One turn of a mirror: what its source has and this hub lacks is fetched, stored and checked.

Every step asks the rows what is there, so a turn that was killed is taken up by the next one. A
version that is here with other bytes is reported as a conflict and left as it is. What fails for
one model or version is written down with it, and the others go on.
"""

from __future__ import annotations

import time
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hub.protocol import problems
from hub.protocol.mirrors import FileRecord, ModelRecord, Origin, VersionRecord, clean
from registry.core.permissions import require
from registry.mirrors import credentials, outgoing
from registry.mirrors.hub_source import HubSource
from registry.mirrors.huggingface_source import HuggingFaceSource
from registry.mirrors.services import heads, mirrors, names, versions
from registry.mirrors.sources import Released, Source
from registry.models import Mirror, MirroredModel, MirroredVersion, RegisteredModel, User, Version
from registry.versions.mirrored_documents import mirrored_documents
from registry.versions.services import registered_models

log = structlog.get_logger(__name__)

State = MirroredVersion.State
REPORT_SECONDS = 1.0
# After this a turn makes room for other mirrors; the next goes on where it stopped.
LONGEST_TURN_SECONDS = 1800.0
# How soon the checks of versions that were just stored are looked at again.
CHECKING_SECONDS = 3.0
STATEMENTS_AFTER = timedelta(days=1)
# Longer checks do not keep a mirror from its source.
LONGEST_CHECKS = timedelta(hours=1)
MOST_PROBLEMS = 5


class Stopped(Exception):  # noqa: N818 - no failure
    """The turn has ended: paused, removed, taken by another process, or its time is up."""


def take_turn() -> bool:
    """Synchronise one mirror that is due; False where none is."""
    mirror = mirrors.claim()
    if mirror is None:
        return False
    try:
        turn = Turn(mirror)
        waiting = turn.run()
        mirrors.release(mirror, again_seconds=CHECKING_SECONDS if waiting else None)
    except Stopped:
        mirrors.release(mirror, again_seconds=0.0)
    except problems.HubError as error:
        log.warning("mirror_failed", mirror=mirror.pk, error=str(error))
        mirrors.release(mirror, error=str(error))
    except Exception as error:
        mirrors.release(mirror, error=f"The hub failed: {type(error).__name__}. See its log.")
        raise
    return True


def source_of(mirror: Mirror) -> Source:
    """What reads a mirror's source; raises NotAuthenticated where its token cannot be read."""
    client = outgoing.Client(mirror.url, credentials.unseal(mirror.sealed_token))
    if mirror.protocol == Mirror.Protocol.HUGGINGFACE:
        return HuggingFaceSource(client)
    return HubSource(client)


class Turn:
    """The work of one process on one mirror, while it holds the lease."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._actor: User = mirror.created_by
        self._received = 0
        self._step = ""
        self._reported = 0.0
        self._until = time.monotonic() + LONGEST_TURN_SECONDS

    def run(self) -> bool:
        """Synchronise every model that the mirror means; says whether checks are still running."""
        if not self._actor.is_active:
            raise problems.NotAllowed(
                f"The account {self._actor.username} of this mirror is closed. Add it again."
            )
        require(self._actor, "mirror.edit", self._mirror.namespace)
        if self._is_checking() and not self._mirror.pull_through:
            return True
        source = source_of(self._mirror)
        if isinstance(source, HubSource):
            self._report("following the log", at_once=True)
            heads.follow(self._mirror, source)
        self._report("listing models", at_once=True)
        waiting = False
        for ref in self._models(source):
            row, _ = MirroredModel.objects.get_or_create(mirror=self._mirror, ref=ref)
            try:
                waiting |= self._sync_model(source, row)
            except problems.Unreachable:
                raise
            except problems.HubError as error:
                if self._mirror.scope == Mirror.Scope.MODEL:
                    raise
                self._note(row, problem=str(error))
        return waiting

    def _is_checking(self) -> bool:
        """Whether checks of this hub are running; the source is not asked meanwhile."""
        return MirroredVersion.objects.filter(
            model__mirrored__mirror=self._mirror,
            state=State.CHECKING,
            version__state=Version.State.SUBMITTED,
            fetched_at__gt=timezone.now() - LONGEST_CHECKS,
        ).exists()

    def _models(self, source: Source) -> list[str]:
        if self._mirror.pull_through:  # what was requested once is kept up to date
            old = timezone.now() - timedelta(seconds=self._mirror.interval_seconds)
            rows = self._mirror.mirrored.filter(
                Q(synced_at=None, problem="")
                | Q(synced_at=None, model__isnull=False)
                | Q(synced_at__lt=old)
            )
            return list(rows.order_by("-requested_at").values_list("ref", flat=True))
        return list(source.models(self._mirror.scope, self._mirror.selector))

    def _sync_model(self, source: Source, row: MirroredModel) -> bool:
        self._report(row.ref, at_once=True)
        try:
            record = source.model(row.ref)
        except problems.NotFound as error:
            self._note(row, problem=str(error))
            if self._mirror.pull_through:
                return False
            raise
        model = self._model(row, record)
        waiting, failures = False, []
        for released in source.versions(row.ref):
            outcome = self._sync_version(source, record.ref, model, released)
            waiting |= outcome.state == State.CHECKING
            if outcome.problem and outcome.state != State.STORED:
                failures.append(outcome.problem)
        failures += [
            f"The name {name} means another version here, or none."
            for name in names.follow(self._actor, model, record)
        ]
        self._take_documents(source, record.ref, model)
        if not waiting:
            self._note(row, problem=" ".join(failures[:MOST_PROBLEMS]))
        return waiting

    def _model(self, row: MirroredModel, record: ModelRecord) -> RegisteredModel:
        """The model here, made where it is missing; private where the source's is not open."""
        visibility = self._mirror.visibility or ("public" if record.is_open else "private")
        model = row.model
        if model is None or model.deleted_at is not None:
            name = record.ref.rpartition("/")[2]
            with transaction.atomic():
                model = RegisteredModel.objects.filter(
                    namespace=self._mirror.namespace, name__iexact=name, deleted_at=None
                ).first()
                other = MirroredModel.objects.filter(model=model).exclude(pk=row.pk).first()
                if model is not None and other is not None:
                    raise problems.NameTaken(
                        f"{model.ref} is already a mirror of {other.mirror.url}/{other.ref}. "
                        f"Mirror {record.ref} into another namespace."
                    )
                if model is None:
                    model = registered_models.create(
                        self._actor,
                        namespace=self._mirror.namespace,
                        name=name,
                        visibility=visibility,
                    )
                row.model = model
                row.save(update_fields=["model"])
        if visibility == "private" and model.visibility == "public":
            if not model.mirrored_versions.exists():
                raise problems.StateConflict(
                    f"{self._mirror.url}/{record.ref} is private or gated, and {model.ref} is "
                    "public here. Add the mirror with visibility public if anyone may see it, or "
                    "mirror into another namespace."
                )
            model = registered_models.edit(self._actor, model=model, visibility="private")
        return model

    def _sync_version(
        self, source: Source, ref: str, model: RegisteredModel, released: Released
    ) -> MirroredVersion:
        """Bring one version here, or follow what became of it; returns that, saved or not."""
        origin = Origin(self._mirror.url, ref)
        row = self._row(model, released)
        if row is not None and row.version is not None:
            if released.manifest_sha256 not in ("", row.manifest_sha256):
                # What was immutable there has changed.
                manifest = released.manifest_sha256
                return versions.conflict(model, released.number, manifest, origin)
            versions.settle(row)
            self._follow(source, ref, row, released)
            return row
        if released.state == Version.State.WITHDRAWN:  # its bytes are gone
            return MirroredVersion(state=State.STORED)
        self._report(f"{ref}@{released.number or released.commit_id[:12]}", at_once=True)
        try:
            record = source.version(ref, released)
            if row := self._compare(model, record, origin):
                return row
            for file in self._missing(model, record):
                self._fetch(source, ref, model, record, file)
            row = versions.store(self._actor, model, record, origin)
        except (problems.Unreachable, problems.QuotaExceeded, problems.StorageFull):
            raise
        except problems.HubError as error:
            return versions.fail(model, released, origin, str(error))
        self._follow(source, ref, row, released)
        return row

    def _compare(
        self, model: RegisteredModel, record: VersionRecord, origin: Origin
    ) -> MirroredVersion | None:
        """A version of this number that is here already: the same, or a conflict."""
        local = Version.objects.filter(model=model, number=record.number).first()
        if local is None:
            return None
        if local.manifest_sha256 == record.manifest_sha256:
            return versions.adopt(model, local, record, origin)
        return versions.conflict(model, record.number, record.manifest_sha256, origin)

    def _row(self, model: RegisteredModel, released: Released) -> MirroredVersion | None:
        rows = model.mirrored_versions.select_related("version__model__namespace")
        if released.number:
            return rows.filter(number=released.number).first()
        return rows.filter(commit_id=released.commit_id).first()

    def _missing(self, model: RegisteredModel, record: VersionRecord) -> list[FileRecord]:
        by_digest = {file.sha256: file for file in record.files}
        absent = versions.missing(self._actor, model, by_digest.keys())
        return [by_digest[sha256] for sha256 in sorted(absent)]

    def _fetch(
        self,
        source: Source,
        ref: str,
        model: RegisteredModel,
        record: VersionRecord,
        file: FileRecord,
    ) -> None:
        def count(received: int) -> None:
            self._received += received
            self._report(f"{ref}@{record.number or record.commit_id[:12]}: {file.path}")

        versions.fetch(
            self._actor,
            model,
            file,
            lambda offset: source.open(ref, record, file, offset),
            count,
        )

    def _follow(self, source: Source, ref: str, row: MirroredVersion, released: Released) -> None:
        """Yank what the source yanked, undo that with it, and renew its evidence once a day."""
        if row.version is not None:
            names.follow_state(self._actor, row, released)
        is_due = row.stated_at is None or row.stated_at < timezone.now() - STATEMENTS_AFTER
        if row.state == State.STORED and is_due:
            statements = source.statements(ref, released)
            row.statements = [
                {"kind": statement.kind, "subject": statement.subject, "outcome": statement.outcome}
                for statement in statements
            ]
            row.stated_at = timezone.now()
            row.save(update_fields=["statements", "stated_at"])

    def _take_documents(self, source: Source, ref: str, model: RegisteredModel) -> None:
        """Copy what capabilities have about the mirrored versions; note what they refused."""

        def fetch(path: str) -> bytes:
            self._report(f"{ref}: {path}")
            return source.document(ref, path)

        rows = model.mirrored_versions.filter(
            state=State.STORED, version__state__in=Version.SERVED
        ).select_related("version__model__namespace")
        by_number = {row.number: row.version for row in rows if row.version is not None}
        refusals: dict[int, str] = {}
        for documents in mirrored_documents if by_number else ():
            for number, text in documents.take(self._actor, by_number, fetch).items():
                refusals[number] = f"{refusals.get(number, '')} {text}".strip()
        for row in rows:
            problem = clean(refusals.get(row.number, ""))
            if row.problem != problem:
                row.problem = problem
                row.save(update_fields=["problem"])

    def _note(self, row: MirroredModel, *, problem: str) -> None:
        row.problem = clean(problem)
        if row.model_id is not None:
            row.synced_at = timezone.now()
        row.save(update_fields=["problem", "synced_at"])

    def _report(self, step: str, *, at_once: bool = False) -> None:
        """Say what is being done, and keep the lease; raises Stopped where it is lost."""
        now = time.monotonic()
        if not at_once and now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        held = mirrors.renew(self._mirror, step=step, received_bytes=self._received)
        if not held or now > self._until:
            raise Stopped
