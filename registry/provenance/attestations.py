"""Signing what the hub found: a statement for each result of a released version, in the log.

A name and run of a result is signed once. What the rows of it say later is not signed again: that
is how a rewritten verdict or figure shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from hub.protocol.transparency import attestations as protocol
from hub.protocol.transparency.attestations import (
    PREDICATES,
    PROVENANCE,
    AttestedResult,
    Envelope,
    Statement,
)
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.records import Record, RecordKind
from hub.protocol.version import __version__
from registry.core.outbox import Subject
from registry.models import Event, Version
from registry.provenance import log
from registry.provenance.log import Entry
from registry.provenance.models import Attestation, LogLeaf
from registry.versions import results
from registry.versions.results import Build, Result, ResultKind, result_kinds

# The run of a statement that a result was removed.
REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class _Draft:
    """A statement to sign, and the result that it is about."""

    name: str
    run: str
    statement: Statement

    @property
    def key(self) -> tuple[str, str, str]:
        """What is signed once in a version."""
        return self.name, self.run, self.statement.predicate_type


def verbs() -> tuple[str, ...]:
    """The events after which a version may have something to sign."""
    return ("version.published", *(verb for kind in result_kinds for verb in kind.verbs))


def on_result(subject: Subject) -> None:
    """Sign the results of a released version that were not signed yet."""
    if subject.kind == "version":
        version = Version.objects.select_related("model__namespace").filter(pk=subject.key).first()
        if version is not None:
            sign(version)


def sign(version: Version) -> int:
    """Sign the results of a version that have no statement yet; returns how many statements.

    Before the log has begun, nothing is signed: the hourly task does it later.
    """
    if version.state not in Version.SERVED or not (drafts := list(_drafts(version))):
        return 0
    with transaction.atomic():
        if not log.lock():
            return 0
        # Another process may have signed some of them since.
        signed = _signed(version)
        return _seal(version, [draft for draft in drafts if draft.key not in signed])


def sign_missing() -> int:
    """Sign results whose events came before their attestations; returns how many statements."""
    newer = Attestation.objects.filter(model=OuterRef("model"), at__gte=OuterRef("at"))
    waiting = Event.objects.filter(~Exists(newer), verb__in=verbs(), subject_kind="version")
    rows = Version.objects.filter(
        model__in=waiting.order_by().values("model"), state__in=Version.SERVED
    )
    return sum(map(sign, rows.select_related("model__namespace").order_by("pk").iterator()))


def describe(result: Result) -> AttestedResult:
    """A result as statements have it."""
    return AttestedResult(
        result.name,
        result.run,
        dict(result.files),
        results.plain(result.facts),
        result.details_digest,
    )


def predicate_type(kind: str) -> str:
    """The address of what the predicate of a kind of results means."""
    return f"{settings.HUB_PUBLIC_URL}{PREDICATES}#{kind}"


def audit() -> Iterator[str]:
    """What of the attestations is not what was signed, or is not what the rows say now."""
    for row in Attestation.objects.select_related("leaf").order_by("leaf").iterator():
        record = Record.decode(row.leaf.record)
        actual = hashlib.sha256(row.envelope.encode()).hexdigest()
        if record.digest != f"sha256:{actual}" or row.digest != actual:
            yield f"The attestation {row.pk} ({row.name}) was changed."
    named = LogLeaf.objects.filter(kind=RecordKind.ATTESTATION.value)
    for leaf in named.exclude(pk__in=Attestation.objects.values("leaf")):
        yield f"The attestation {leaf.position} was deleted."
    signed = Attestation.objects.values_list("model", "number").distinct()
    for model, number in signed.order_by("model", "number"):
        version = Version.objects.filter(model=model, number=number).select_related("model").first()
        if version is not None and version.state in Version.SERVED:
            yield from disagreements(version, newest(version))


def newest(version: Version) -> list[Attestation]:
    """The newest attestation of each result and type of a version, in the order of the log."""
    rows = Attestation.objects.filter(model=version.model_id, number=version.number)
    groups = rows.order_by().values("name", "predicate_type")
    last = groups.annotate(last=Max("leaf")).values("last")
    return list(rows.filter(pk__in=last).select_related("leaf").order_by("leaf"))


def disagreements(version: Version, rows: Iterable[Attestation]) -> Iterator[str]:
    """How the results of a version differ from its newest attestations, each in a sentence.

    Signatures are not verified: readers do that.
    """
    signed = []
    for row in rows:
        try:
            statement = Statement.decode(Envelope.parse(row.envelope).payload)
            at = row.at.isoformat()
            signed.append(protocol.Attestation(at, statement, statement.result, is_signed=True))
        except ProofError as error:
            yield f"{version.ref}: {row.name}: {error}"
    present = [describe(result) for _, result in results.of(version)]
    expected = protocol.Expected(version.model.ref, version.number, version.manifest_sha256)
    for finding in protocol.judge(signed, present, expected):
        if not finding.is_verified:
            yield f"{version.ref}: {finding.text}"


def _drafts(version: Version) -> Iterator[_Draft]:
    """The statements that are missing."""
    signed, present = _signed(version), set()
    for kind, result in results.of(version):
        present.add(result.name)
        own = predicate_type(kind.name)
        if (result.name, result.run, own) not in signed:
            yield _Draft(result.name, result.run, _statement(version, own, describe(result)))
        build = result.build
        if build is not None and (result.name, result.run, PROVENANCE) not in signed:
            yield _Draft(result.name, result.run, _provenance(version, describe(result), build))
    for kind in result_kinds:
        if kind.removals:
            yield from _removals(version, kind, present)


def _signed(version: Version) -> set[tuple[str, str, str]]:
    rows = Attestation.objects.filter(model=version.model_id, number=version.number)
    return set(rows.values_list("name", "run", "predicate_type"))


def _removals(version: Version, kind: ResultKind, present: set[str]) -> Iterator[_Draft]:
    """A statement for each signed result that is gone, if an event says why."""
    own = predicate_type(kind.name)
    for row in newest(version):
        if row.predicate_type != own or row.name in present or row.run == REMOVED:
            continue
        removals = Event.objects.filter(
            verb__in=kind.removals,
            subject_kind="version",
            subject_id=str(version.pk),
            at__gte=row.at,
        )
        if removals.exists():
            gone = AttestedResult(row.name, REMOVED, {}, {"removed": True})
            yield _Draft(row.name, REMOVED, _statement(version, own, gone))


def _seal(version: Version, drafts: list[_Draft]) -> int:
    if not drafts:
        return 0
    signer = log.state().signer()
    now = timezone.now()
    sealed = [(draft, protocol.seal(draft.statement, signer)) for draft in drafts]
    digests = [hashlib.sha256(envelope.encode()).hexdigest() for _, envelope in sealed]
    entries = [
        Entry(
            Record(
                RecordKind.ATTESTATION,
                now.isoformat(),
                version.model.ref,
                version.number,
                f"sha256:{digest}",
                draft.statement.predicate_type,
            ),
            version.model_id,
        )
        for (draft, _), digest in zip(sealed, digests, strict=True)
    ]
    first = log.append(entries)
    Attestation.objects.bulk_create(
        Attestation(
            leaf_id=position,
            model=version.model,
            number=version.number,
            name=draft.name,
            run=draft.run,
            predicate_type=draft.statement.predicate_type,
            digest=digest,
            envelope=envelope,
            at=now,
        )
        for position, ((draft, envelope), digest) in enumerate(
            zip(sealed, digests, strict=True), first
        )
    )
    return len(drafts)


def _subject(version: Version, result: AttestedResult) -> dict[str, str]:
    """The manifest of the version, then the files that a result is about."""
    return {f"{version.ref} (manifest)": version.manifest_sha256, **result.files}


def _statement(version: Version, kind: str, result: AttestedResult) -> Statement:
    predicate = {
        "name": result.name,
        "run": result.run,
        "facts": result.facts,
        "details": result.details,
        "hub": settings.HUB_PUBLIC_URL,
    }
    return Statement(_subject(version, result), kind, predicate)


def _provenance(version: Version, result: AttestedResult, build: Build) -> Statement:
    """SLSA provenance of a variant: from which files, how, and by what."""
    sources = [
        {"name": path, "digest": {"sha256": sha256}} for path, sha256 in build.sources.items()
    ]
    predicate = {
        "buildDefinition": {
            "buildType": predicate_type(build.kind),
            "externalParameters": results.plain(build.parameters),
            "internalParameters": {"name": result.name, "run": result.run},
            "resolvedDependencies": sources,
        },
        "runDetails": {
            "builder": {
                "id": f"{settings.HUB_PUBLIC_URL}{PREDICATES}#builder",
                "version": {"onnx-hub": __version__, "method": build.method, **build.versions},
            },
            "metadata": {"invocationId": build.job},
        },
    }
    return Statement(_subject(version, result), PROVENANCE, predicate)
