"""Adding signatures to versions that are published already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.client import signing
from hub.client.signing import NewSignature, SigningKey
from hub.protocol import problems, refs

if TYPE_CHECKING:
    from hub.client.hub import Hub
    from hub.client.local_files import Source


def sign(
    hub: Hub,
    ref: str,
    *paths: Source,
    key: SigningKey | str | os.PathLike[str] | None = None,
    bundle: str | os.PathLike[str] | None = None,
    public_key: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Add a signature to a published version, and return it.

    It is made with ``key``, a PEM file, a PKCS #11 URI or a `SigningKey`, or stands in ``bundle``,
    a file of `model_signing sign`, with ``public_key``, the PEM file of its key where it has no
    certificate. With ``paths`` the version must have exactly these files, with a README.md among
    them if it has a card; without, the digests are signed that the hub gives. Raise `NotFound`,
    `NotAllowed`, `StateConflict`, `InvalidRequest`, and `SignatureInvalid` for a bundle that is not
    one over the files of the version.
    """
    from hub.client import references  # noqa: PLC0415  (each verb imports what it needs)

    hub.config.require_network(ref, "hub.sign")
    if (key is None) == (bundle is None):
        raise problems.InvalidRequest("Give either a key to sign with, or a bundle.")
    if refs.parse(ref).variant is not None:
        raise problems.InvalidReference(
            f"{ref!r} names a variant. Sign the version: {str(refs.parse(ref)).partition(':')[0]}."
        )
    resolved = references.resolve(hub.transport, hub.cache, ref)
    files = {file.path: file.sha256 for file in resolved.files}
    if paths:
        _expect_same(files, paths, str(resolved.ref))
    if bundle is not None:
        signature = NewSignature(_text(bundle), _text(public_key) if public_key else "")
    else:
        signature = signing.key_of(key).sign(files, resolved.ref.name)
    return signing.add(hub.transport, resolved.ref.name, resolved.number, signature)


def _expect_same(files: Mapping[str, str], paths: Iterable[Source], name: str) -> None:
    """Raise `InvalidRequest` where files of this machine are not those of a version."""
    from hub.client import local_files, push  # noqa: PLC0415  (each verb imports what it needs)

    selected, folder_card = local_files.collect(tuple(paths))
    own = signing.digests_of(
        local_files.measure(selected, progress=None), push.read_card(None, folder_card)
    )
    different = sorted(
        path for path in files.keys() | own.keys() if files.get(path) != own.get(path)
    )
    if different:
        raise problems.InvalidRequest(
            f"{name} has other files than these: {', '.join(different[:5])}. Nothing was signed."
        )


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise problems.InvalidRequest(f"{os.fspath(path)} cannot be read ({error}).") from None
