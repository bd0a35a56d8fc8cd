"""Tokens of sources: stored sealed with a key of the hub's secret, and shown to no one.

Tokens that were sealed (``registry.core.sealing``) under a key of SECRET_KEY_FALLBACKS are still
read; ``renewed`` seals them under the present one.
"""

from __future__ import annotations

from cryptography.fernet import InvalidToken

from hub.protocol import problems
from registry.core import sealing

LONGEST_TOKEN = 500
_PURPOSE = b"onnx-hub mirror tokens"


def seal(token: str) -> str:
    """The sealed form of a token, and of none the empty text; raises InvalidRequest."""
    if not token:
        return ""
    if len(token) > LONGEST_TOKEN or not (token.isascii() and token.isprintable()):
        raise problems.InvalidRequest.at(
            "/token", f"A token has up to {LONGEST_TOKEN} printable ASCII characters."
        )
    return sealing.seal(token, _PURPOSE)


def unseal(sealed: str) -> str:
    """The token; raises NotAuthenticated where no key of the hub opens it."""
    if not sealed:
        return ""
    try:
        return sealing.unseal(sealed, _PURPOSE)
    except InvalidToken as error:
        raise problems.NotAuthenticated(
            "The token of this mirror cannot be read, since the secret key of this hub has "
            "changed. Set the token again, or add the former key to HUB_SECRET_KEY_FALLBACKS."
        ) from error


def renewed(sealed: str) -> str:
    """The token sealed under the present key; ``sealed`` itself where that is so already.

    Raises NotAuthenticated where no key of the hub opens it.
    """
    return sealed if sealing.is_present(sealed, _PURPOSE) else seal(unseal(sealed))
