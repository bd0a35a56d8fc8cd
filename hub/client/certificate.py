"""What TLS connections are made with: the trusted authorities, and a client certificate.

The certificate is shown to the hub alone; its key is never kept or printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hub.protocol import problems

if TYPE_CHECKING:
    import ssl


def context(
    authorities: Path | None, certificate: Path | None = None, key: Path | None = None
) -> ssl.SSLContext:
    """Return a TLS context.

    `authorities` is a PEM file or a folder of the certificates to trust, or None for those of the
    system, which SSL_CERT_FILE and SSL_CERT_DIR replace. `certificate` is a PEM file with the
    client's certificate and those that sign it, `key` one with its private key, or None where that
    stands in the same file. Raises `InvalidRequest` for files that cannot be used.
    """
    import ssl  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    try:
        is_folder = authorities is not None and authorities.is_dir()
        tls = ssl.create_default_context(
            cafile=None if is_folder else authorities, capath=authorities if is_folder else None
        )
    except OSError as error:  # SSLError is an OSError
        raise problems.InvalidRequest(
            f"The certificate authorities {authorities} cannot be read ({_words(error)}). Set "
            "HUB_CA_BUNDLE or REQUESTS_CA_BUNDLE to a PEM file, or to a folder that "
            "`openssl rehash` has prepared."
        ) from None
    if certificate is None:
        return tls
    try:
        # Without a password OpenSSL would ask for one on the terminal, which may be unattended.
        tls.load_cert_chain(certificate, key, password=_refuse)
    except (OSError, ValueError) as error:
        raise problems.InvalidRequest(
            f"The client certificate {certificate}{f' with the key {key}' if key else ''} cannot "
            f"be used ({_words(error)}). It must be a PEM file with its private key and no "
            "password. Set HUB_CLIENT_CERTIFICATE and, if the key is in a separate file, "
            "HUB_CLIENT_KEY."
        ) from None
    return tls


def _refuse() -> str:
    raise ValueError("the key has a password")


def _words(error: OSError | ValueError) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return str(reason).replace("_", " ").lower()
