"""A TLS client certificate: read once, shown to the hub alone, its key never kept or printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.protocol import problems

if TYPE_CHECKING:
    import ssl
    from pathlib import Path


def context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Return what connections are made with: the system's authorities, and this certificate.

    `certificate` is a PEM file with the certificate and those that sign it, `key` one with its
    private key, or None where that stands in the same file. Raises `InvalidRequest` for files that
    cannot be used.
    """
    import ssl  # noqa: PLC0415  (imported at first use: `import hub` stays light)

    tls = ssl.create_default_context()
    try:
        # Without a password OpenSSL would ask for one on the terminal, which may be unattended.
        tls.load_cert_chain(certificate, key, password=_refuse)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise problems.InvalidRequest(
            f"The client certificate {certificate}{f' with the key {key}' if key else ''} cannot "
            f"be used ({_words(error)}). It must be a PEM file with its private key and no "
            "password. Set HUB_CLIENT_CERTIFICATE and, if the key is in a separate file, "
            "HUB_CLIENT_KEY."
        ) from error
    return tls


def _refuse() -> str:
    raise ValueError("the key has a password")


def _words(error: OSError | ValueError) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return str(reason).replace("_", " ").lower()
