"""Manifests that were written, kept until something happens that could change them.

Clients ask for the whole manifest on every call. Whether one still holds is known from the events
since it was written, by one cheap question, whatever the number of models; and after an event only
the entries of its model are made again.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from redis.exceptions import RedisError

from registry.core.permissions import Actor
from registry.models import Event, RegisteredModel
from registry.protocols.onnx_hub import manifest, scope
from registry.protocols.onnx_hub.scope import Scope

# An event: its id, its verb, and the model it was about.
_EventRow = tuple[int, str, int | None]
# The id of a model, and one of its entries.
Pair = tuple[int, dict[str, Any]]

SECONDS = 3600
# How often it is checked again for digests being computed, for which there is no event.
WAITING_SECONDS = 15
# Transactions may end in another order than their events are numbered: these are looked at again.
WINDOW = 256
MOST_NEWS = 2_000
MOST_CHANGED = 200
# What happens to no model that others load.
NOISE = (
    "job.",
    "check.",
    "conformance.",
    "token.",
    "member.",
    "dataset.",
    "namespace.created",
    "version.drafted",
    "version.submitted",
    "version.amended",
    "version.rejected",
)


@dataclass(frozen=True, slots=True)
class ManifestState:
    """What is known of a written manifest: its tag, and what had happened before.

    ``waits`` are the models with a digest that is still missing.
    """

    etag: str
    count: int
    top: int
    seen: frozenset[int]
    waits: frozenset[int]
    written_at: float


@dataclass(frozen=True, slots=True)
class PackedManifest:
    """A manifest as gzip has it, and the id of the model of each of its entries."""

    packed: bytes
    models: tuple[int, ...]


def public(of: Scope) -> ManifestState:
    """The public manifest of a scope, updated where something happened since it was written."""
    cached: ManifestState | None = _get(_key(of))
    rows, is_whole = _events(cached.top if cached else 0)
    changed = _changed(cached, rows) if cached and is_whole else None
    if cached is not None and changed is not None and not changed:
        return cached
    pairs = _updated(of, cached, changed) if cached and changed else None
    return _keep(of, rows, _pairs(of, scope.public(of)) if pairs is None else pairs)[0]


def body(of: Scope, cached: ManifestState) -> bytes:
    """The manifest as gzip has it."""
    written: PackedManifest | None = _get(_key(of, cached.etag))
    if written is None:  # the cache is away, or full
        rows, _ = _events(0)
        written = _keep(of, rows, _pairs(of, scope.public(of)))[1]
    return written.packed


def own(of: Scope, actor: Actor) -> list[dict[str, Any]]:
    """The entries that the actor sees beyond the public ones; never cached."""
    if not actor.is_authenticated:
        return []
    entries = [entry for _, entry in _pairs(of, scope.own(of, actor))]
    for entry in entries:
        entry["metadata"]["hub"]["private"] = True  # who copies it should know
    return entries


def joined(packed: bytes, more: list[dict[str, Any]]) -> bytes:
    """A manifest with further entries at its end, as text."""
    shared = gzip.decompress(packed)
    if not more:
        return shared
    start = shared[:-1] + b"," if len(shared) > len("[]") else b"["
    return start + text(more)[1:]


def text(entries: list[dict[str, Any]]) -> bytes:
    """Entries as a JSON array."""
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()


def _pairs(of: Scope, models: QuerySet[RegisteredModel]) -> list[Pair]:
    return _sorted(list(manifest.entries(of, scope.pages(of, models))))


def _sorted(pairs: list[Pair]) -> list[Pair]:
    def order(pair: Pair) -> tuple[str, int]:
        return str(pair[1]["model"]).lower(), -pair[1]["opset_version"]

    return sorted(pairs, key=order)


def _updated(of: Scope, cached: ManifestState, changed: Collection[int]) -> list[Pair] | None:
    """The entries with those of some models made again; None where no manifest is cached."""
    written: PackedManifest | None = _get(_key(of, cached.etag))
    if written is None or len(changed) > MOST_CHANGED:
        return None
    entries = json.loads(gzip.decompress(written.packed))
    pairs = zip(written.models, entries, strict=True)
    rest = [pair for pair in pairs if pair[0] not in changed]
    return _sorted(rest + _pairs(of, scope.public(of).filter(pk__in=changed)))


def _keep(
    of: Scope, rows: list[_EventRow], pairs: list[Pair]
) -> tuple[ManifestState, PackedManifest]:
    content = text([entry for _, entry in pairs])
    written = PackedManifest(gzip.compress(content, 1, mtime=0), tuple(model for model, _ in pairs))
    cached = ManifestState(
        etag=hashlib.sha256(content).hexdigest()[:32],
        count=len(pairs),
        top=max((pk for pk, *_ in rows), default=0),
        seen=frozenset(pk for pk, *_ in rows),
        waits=frozenset(model for model, entry in pairs if manifest.is_waiting(entry)),
        written_at=time.time(),
    )
    # Anyone can ask for what does not exist, under any name.
    if pairs:
        with contextlib.suppress(RedisError):  # the next call writes it again
            cache.set_many({_key(of): cached, _key(of, cached.etag): written}, SECONDS)
    return cached, written


def _events(top: int) -> tuple[list[_EventRow], bool]:
    """The last events as (id, verb, model), and whether all since ``top`` are among them."""
    rows = Event.objects.order_by("-pk").values_list("pk", "verb", "model_id")
    if top:
        events: list[_EventRow] = [*rows.filter(pk__gt=top - WINDOW)[:MOST_NEWS]]
        return events, len(events) < MOST_NEWS
    return [*rows[:WINDOW]], False


def _changed(cached: ManifestState, rows: list[_EventRow]) -> set[int] | None:
    """The models that may have changed since; None where it may be any of them."""
    models = {
        model for pk, verb, model in rows if pk not in cached.seen and not verb.startswith(NOISE)
    }
    if cached.waits and (models or time.time() - cached.written_at >= WAITING_SECONDS):
        models |= cached.waits
    return None if None in models else {model for model in models if model is not None}


def _key(of: Scope, tag: str = "") -> str:
    # Names and refs hold no colon; some caches take no long keys and no other letters.
    scope_key = hashlib.sha256(of.key.encode()).hexdigest()
    return f"onnx-hub-manifest:{settings.HUB_PROOF_STRENGTH}:{scope_key}:{tag}"


def _get(key: str) -> Any:
    try:
        return cache.get(key)
    except RedisError:
        return None
