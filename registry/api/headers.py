"""Headers of answers that several protocols share."""

from __future__ import annotations

from hub.protocol import problems

_MOST_CHARACTERS = 400


def warning(text: str) -> str:
    """A value of `Warning` for clients to print (RFC 7234 section 5.5; OCI distribution-spec)."""
    line = problems.one_line(text)[:_MOST_CHARACTERS].replace("\\", "").replace('"', "'")
    return f'299 - "{line}"'.encode("latin-1", "replace").decode("latin-1")
