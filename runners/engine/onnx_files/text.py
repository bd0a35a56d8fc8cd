"""Words from an upload or a library, made fit to keep: bounded, and free of what databases refuse.

Names, documentation and error messages all pass here before they enter a report.
"""

from __future__ import annotations

import math
import re
from typing import Any

from hub.protocol import phrases

MESSAGE_LIMIT = 2000
NAME_LIMIT = 200
DOCUMENT_LIMIT = 4000

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_LOCAL_PATH = re.compile(
    rb"(?:^|[\s\"'=(:,\[])(?:/(?:home|Users|root|tmp|mnt|media|private|workspace|content|data|opt|usr"
    rb"|var|srv|scratch|work)/|[A-Za-z]:\\{1,2}[A-Za-z])"
    rb"|[Ff]ile \"/"
)


def clip(words: str, limit: int) -> str:
    """Cut to ``limit`` characters, marking the cut, without NUL or lone surrogates."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", phrases.ellipsis(words, limit))


def decode(raw: bytes, limit: int) -> str:
    """Decode UTF-8 with replacement of invalid bytes, cut to ``limit`` characters."""
    return clip(raw[: limit * 4 + 4].decode("utf-8", "replace"), limit)


def names_local_path(raw: bytes) -> bool:
    """Whether a text has an absolute path of the author's machine."""
    return _LOCAL_PATH.search(raw) is not None


def message(words: str, *private: str) -> str:
    """Fit a library's complaint into a report, without the scratch folders it happened in."""
    for folder in private:
        words = words.replace(f"{folder}/", "").replace(folder, ".")
    return clip(" ".join(words.split()) if "\n" in words else words.strip(), MESSAGE_LIMIT)


def harmless(value: Any, depth: int = 0) -> Any:
    """Rebuild JSON data so that any database stores it; raises ValueError where none could."""
    if depth > 64:
        raise ValueError("the response is nested too deeply")
    match value:
        case str():
            return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", value)
        case float() if not math.isfinite(value):
            raise ValueError("the response contains a number that is not valid JSON")
        case list():
            return [harmless(item, depth + 1) for item in value]
        case dict():
            return {
                harmless(key, depth + 1): harmless(item, depth + 1) for key, item in value.items()
            }
    return value
