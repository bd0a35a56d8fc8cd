"""Adding signatures to versions, and declaring the signers of a namespace."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hub.counting import plural
from hub.protocol import bidi, digests, problems, publishers
from hub.protocol.publishers import Bundle, Signer
from hub.protocol.signed_statements import SignatureError
from registry.core import events
from registry.core.permissions import Actor, require
from registry.core.row_locks import lock
from registry.models import Namespace, User, Version
from registry.provenance.signature_models import NamespaceSigner, VersionSignature
from registry.versions import selectors

MOST_SIGNATURES = 20
MOST_SIGNERS = 50


def add(
    actor: Actor, *, version: Version, bundle: str, public_key: str = ""
) -> tuple[VersionSignature, bool]:
    """Add a signature that verifies over the files of a version; says whether it is new.

    ``bundle`` is the text of a Sigstore bundle, ``public_key`` the PEM of the key that made it,
    where it has no certificate. Raises SignatureInvalid, and StateConflict for a version that is
    not published, or has as many signatures as it may have.
    """
    user = require(actor, "version.submit", version.model)
    signer = _verify(version, bundle, public_key)
    with transaction.atomic():
        return _add(user, lock(version, "model__namespace"), bundle, signer)


@transaction.atomic
def declare(
    actor: Actor,
    *,
    namespace: Namespace,
    title: str,
    public_key: str = "",
    authorities: str = "",
    name: str = "",
    identity_issuer: str = "",
) -> tuple[NamespaceSigner, bool]:
    """Declare a signer of a namespace; says whether it is new.

    It is the key ``public_key`` (PEM), or ``name`` in certificates that one of ``authorities``
    (PEM) vouches for, every name if it is empty, or the identity ``name`` of ``identity_issuer``.
    Raises InvalidRequest.
    """
    user = require(actor, "namespace.edit", namespace)
    bidi.expect_none("/title", title)
    bidi.expect_none("/name", name)
    namespace = lock(namespace)
    bidi.expect_none("/identity_issuer", identity_issuer)
    fields = _declared(public_key, authorities, name, identity_issuer)
    count = NamespaceSigner.objects.filter(namespace=namespace).count()
    if count >= MOST_SIGNERS:
        raise problems.StateConflict(
            f"{namespace.slug} has {plural(count, 'signer')}, the most it may have. Remove one."
        )
    # What identifies no issuer has the digest that it had before there were identities.
    means = [fields[column] for column in ("key", "authorities", "name")]
    means += [identity_issuer] if identity_issuer else []
    sha256 = digests.hash_bytes("\n".join(means).encode())
    row, is_new = NamespaceSigner.objects.get_or_create(
        namespace=namespace,
        sha256=sha256,
        defaults=fields | {"title": title, "created_by": user},
    )
    if is_new:
        data: dict[str, Any] = {"signer": row.pk, "title": title, **fields}
        events.record("signer.added", namespace, actor=user, **data)
    return row, is_new


@transaction.atomic
def remove(actor: Actor, *, namespace: Namespace, signer: NamespaceSigner) -> None:
    """Remove a signer of a namespace: its signatures stay, and do not count any more."""
    user = require(actor, "namespace.edit", namespace)
    signer = lock(signer)
    events.record(
        "signer.removed",
        namespace,
        actor=user,
        signer=signer.pk,
        title=signer.title,
        key=signer.key,
        name=signer.name,
    )
    signer.delete()


def _verify(version: Version, text: str, public_key: str) -> Signer:
    """Who signed the files of a version; raises SignatureInvalid, StateConflict."""
    if version.state not in Version.SERVED:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}. Only a published version can be signed."
        )
    try:
        bundle = Bundle.read(text)
        signer = bundle.verify(public_key, settings.HUB_SIGSTORE_ROOT)
        fault = publishers.validity_fault(signer, timezone.now())
    except SignatureError as error:
        raise problems.SignatureInvalid(str(error)) from error
    fault = fault or bundle.difference(selectors.signed_files(version))
    if fault:
        raise problems.SignatureInvalid(
            f"The signature of {signer} is not one over {version.ref}: {fault}. Sign all files of "
            "the version, and no others."
        )
    return signer


def _add(user: User, version: Version, text: str, signer: Signer) -> tuple[VersionSignature, bool]:
    if version.state not in Version.SERVED:
        raise problems.StateConflict(f"{version.ref} was withdrawn. Nothing is left to sign.")
    rows = VersionSignature.objects.filter(version=version)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    if (row := rows.filter(sha256=sha256).first()) is not None:
        return row, False
    if (count := rows.count()) >= MOST_SIGNATURES:
        raise problems.StateConflict(
            f"{version.ref} has {plural(count, 'signature')}, the most it may have."
        )
    row = VersionSignature.objects.create(
        version=version,
        sha256=sha256,
        bundle=text,
        key=signer.key,
        public_key=signer.public_key,
        certificates=[base64.b64encode(each).decode() for each in signer.certificates],
        names=list(signer.names),
        issuer=signer.issuer,
        identity_issuer=signer.identity_issuer,
        created_by=user,
    )
    events.record("version.signed", version, actor=user, model=version.model, signer=str(signer))
    return row, True


def _declared(public_key: str, authorities: str, name: str, identity_issuer: str) -> dict[str, str]:
    """What says who is meant, as it is stored; raises InvalidRequest."""
    ways = [bool(public_key), bool(authorities), bool(identity_issuer)]
    if sum(ways) != 1 or (public_key and name) or (identity_issuer and not name):
        raise problems.InvalidRequest.at(
            "/public_key",
            "Give a public key, or certificate authorities with the name that their certificates "
            "must have, or the issuer of an identity with its name.",
        )
    fields = {"key": "", "authorities": "", "name": name, "identity_issuer": identity_issuer}
    try:
        if public_key:
            fields["key"] = publishers.fingerprint_of(publishers.read_public_key(public_key))
        if authorities:
            publishers.read_certificates(authorities)
            fields["authorities"] = authorities.strip() + "\n"
    except SignatureError as error:
        pointer = "/public_key" if public_key else "/authorities"
        raise problems.InvalidRequest.at(pointer, str(error)) from error
    return fields
