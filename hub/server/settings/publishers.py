"""Whose workflows may become trusted publishers (the capability `publishers`)."""

from urllib.parse import urlsplit

from hub.server.environment import env

# Issuers of the identity tokens of workflows, each after the kind of its claims: `github=URL` or
# `gitlab=URL`. The hub reads their keys from these addresses, also in its own network; nothing
# else makes it ask another server. https, or http on this machine.
_issuers = env.texts(
    "HUB_PUBLISHER_ISSUERS",
    default=["github=https://token.actions.githubusercontent.com", "gitlab=https://gitlab.com"],
)


def _is_issuer(provider: str, url: str) -> bool:
    parts = urlsplit(url)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    is_reachable = bool(parts.hostname) and (parts.scheme == "https" or is_local)
    return provider in ("github", "gitlab") and is_reachable and not parts.query


HUB_PUBLISHER_ISSUERS = {}
for _text in _issuers:
    _provider, _, _url = _text.strip().partition("=")
    if not _is_issuer(_provider, _url):
        env.refuse(
            "HUB_PUBLISHER_ISSUERS",
            f"holds {_text!r}.",
            "Write each issuer as github=https://… or gitlab=https://….",
        )
    HUB_PUBLISHER_ISSUERS[_url.rstrip("/")] = _provider
