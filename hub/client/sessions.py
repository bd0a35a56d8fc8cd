"""Signing out: the stored token of a hub is removed."""

from __future__ import annotations

from hub.client import config


def logout(url: str | None = None) -> bool:
    """Remove the token that `login` stored for a hub, the default one without `url`.

    Returns whether there was one. The token stays valid: revoke it with `hub token revoke`.
    """
    address = config.Config.from_environment(url=url).url
    stored = config.read_stored()
    tokens = {
        key: token
        for key, token in stored.tokens.items()
        if config.origin(key) != config.origin(address)
    }
    if len(tokens) == len(stored.tokens):
        return False
    config.write_secret(config.stored_path(), {"url": stored.url, "tokens": tokens})
    return True
