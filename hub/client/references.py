"""What a reference means: asked of the hub, or taken from answers of before.

An answer is kept under its question and, once the version can no longer change, under the version's
number and digest as well.
"""

from __future__ import annotations

import logging
import math
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hub.client import log_heads
from hub.client.cache import Cache, Resolved, StoredAnswer
from hub.client.retries import is_transient
from hub.client.transport import Transport
from hub.protocol import problems, refs
from hub.protocol.proofs import SUFFICIENT

# How long a hub that does not answer is waited for where the cache has an earlier answer.
STALE_AFTER_SECONDS = 2.0

log = logging.getLogger("hub.client")


def resolve(
    transport: Transport,
    cache: Cache,
    ref: str,
    *,
    opset: int | None = None,
    variant: str | None = None,
    strength: str | None = None,
) -> Resolved:
    """Return the version, variant and files that a reference means; see `Hub.resolve`."""
    config = transport.config
    parsed = _parsed(ref, variant)
    bare = replace(parsed, variant=None)
    demanded = () if strength is None else (_strength(strength),)
    options = (parsed.variant or "", "" if opset is None else str(opset), *demanded)
    stored = cache.read_answer(config.url, (str(bare), *options))
    if stored and (config.offline or parsed.is_pinned):
        return _warned(config.url, Resolved.from_json(stored.content))
    if config.offline:
        raise problems.NotCached(
            f"{ref} is not in the cache {config.cache}, and HUB_OFFLINE prevents "
            f"requests to the hub. Run `HUB_OFFLINE=0 hub get {ref}` once while you are online."
        )
    if stored and transport.is_silent:
        return _stale(config.url, ref, stored, "it did not answer the lookup before")
    query = {"ref": str(bare), "opset": opset, "variant": parsed.variant, "strength": strength}
    headers = {"If-None-Match": stored.etag} if stored and stored.etag else {}
    try:
        answer = transport.request(
            "GET",
            "/api/v1/resolve",
            query=query,
            headers=headers,
            retries=transport.retries(most_seconds=STALE_AFTER_SECONDS if stored else math.inf),
            silence_seconds=STALE_AFTER_SECONDS if stored else None,
        )
    except problems.HubError as error:
        if stored is None or not (isinstance(error, problems.Unreachable) or is_transient(error)):
            raise
        transport.note_silence()
        return _stale(config.url, ref, stored, str(error))
    if stored and answer.status == 304:
        resolved = Resolved.from_json(stored.content)
        log_heads.check(transport, cache, resolved, answer, parsed.label)
        return _warned(config.url, resolved)
    content = answer.json()
    resolved = Resolved.from_json(content)
    if parsed.digest and resolved.manifest != parsed.digest:
        raise problems.DigestMismatch(
            f"The hub resolved {ref} to {resolved.ref}, whose digest is {resolved.manifest}. "
            "Nothing was downloaded; contact the operator of the hub.",
        )
    log_heads.check(transport, cache, resolved, answer, parsed.label)
    _keep(transport, cache, bare, options, resolved, content, answer.headers.get("ETag"))
    return _warned(config.url, resolved)


def _parsed(ref: str, variant: str | None) -> refs.Ref:
    """The reference with the variant that the call names."""
    parsed = refs.parse(ref)
    if variant is None:
        return parsed
    if parsed.variant not in {None, refs.check_variant(variant)}:
        raise problems.InvalidReference(
            f"{ref!r} names the variant {parsed.variant!r}, the call names {variant!r}. "
            "Give only one."
        )
    return replace(parsed, variant=variant)


def _strength(word: str) -> str:
    if word not in SUFFICIENT:
        raise problems.InvalidRequest(
            f"{word!r} is no strength of a proof. Choose {' or '.join(SUFFICIENT)}."
        )
    return str(word)


def _stale(url: str, ref: str, stored: StoredAnswer, reason: str) -> Resolved:
    """What a reference meant when the hub last answered, with a line that says so."""
    resolved = Resolved.from_json(stored.content)
    log.warning(
        "The hub does not answer: %s is taken from the cache as %s, which may no longer be "
        "what the hub would give (%s)",
        ref,
        resolved.ref,
        reason,
    )
    return _warned(url, resolved)


def _keep(
    transport: Transport,
    cache: Cache,
    question: refs.Ref,
    options: tuple[str, ...],
    resolved: Resolved,
    content: dict[str, Any],
    etag: str | None,
) -> None:
    """Keep an answer under its question and under the version's two lasting names."""
    names = {str(question)}
    if resolved.is_lasting:
        names.add(str(resolved.ref))
        if resolved.manifest:
            names.add(str(replace(resolved.ref, number=None, digest=resolved.manifest)))
    elif question.is_pinned:
        return  # a draft may change, so its number does not pin it yet
    # Without a place for it the answer is asked for again the next time.
    with suppress(problems.CacheUnusable):
        for name in names:
            tag = etag if name == str(question) else None
            cache.keep_answer(transport.config.url, (name, *options), content, tag)


def _warned(url: str, resolved: Resolved) -> Resolved:
    if resolved.warning:
        warn(url, f"{resolved.ref}: {resolved.warning}", stacklevel=6)
    return resolved


# What this process has warned of, with the addresses of the hubs.
_WARNED: set[tuple[str, str]] = set()


def warn(url: str, message: str, *, stacklevel: int) -> None:
    """Warn of what a hub says of a reference, once in a process."""
    if (url, message) not in _WARNED:
        warnings.warn(problems.one_line(message), UserWarning, stacklevel=stacklevel)
        _WARNED.add((url, message))
