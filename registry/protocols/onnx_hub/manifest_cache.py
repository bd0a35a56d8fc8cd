"""Manifests that were written, kept until something happens that could change them.

Clients ask for the whole manifest on every call. Whether one still holds is known from the events
since it was written, by one cheap question, whatever the number of models; and after an event only
the entries of the model that it was about are made anew.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from redis.exceptions import RedisError

from registry.models import Event
from registry.protocols.onnx_hub import manifest, scope

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.db.models import QuerySet

    from registry.core.permissions import Actor
    from registry.models import RegisteredModel
    from registry.protocols.onnx_hub.scope import Scope

    # An event: its id, its verb, and the model it was about.
    _Happened = tuple[int, str, int | None]
    # The id of a model, and one of its entries.
    Pair = tuple[int, dict[str, Any]]

SECONDS = 3600
# How often it is asked again for digests that are being worked out, which no event tells of.
WAITING_SECONDS = 15
# Transactions may end in another order than their events are numbered: so many are looked at again.
WINDOW = 256
MOST_NEWS = 2_000
MOST_CHANGED = 200
# What happens to no model that others load.
NOISE = (
    "job.", "check.", "conformance.", "token.", "member.", "dataset.", "namespace.created",
    "version.drafted", "version.submitted", "version.amended", "version.rejected",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kept:
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
class Written:
    """A manifest as gzip has it, and the id of the model of each of its entries."""

    packed: bytes
    models: tuple[int, ...]


def public(of: Scope) -> Kept:
    """What everybody sees of a scope, mended where something happened since it was written."""
    kept: Kept | None = _get(_key(of))
    rows, is_whole = _events(kept.top if kept else 0)
    changed = _changed(kept, rows) if kept and is_whole else None
    if kept is not None and changed is not None and not changed:
        return kept
    pairs = _mended(of, kept, changed) if kept and changed else None
    return _keep(of, rows, _pairs(of, scope.public(of)) if pairs is None else pairs)[0]


def body(of: Scope, kept: Kept) -> bytes:
    """The manifest as gzip has it."""
    written: Written | None = _get(_key(of, kept.etag))
    if written is None:  # the cache is away, or full
        rows, _ = _events(0)
        written = _keep(of, rows, _pairs(of, scope.public(of)))[1]
    return written.packed


def own(of: Scope, actor: Actor) -> list[dict[str, Any]]:
    """The entries that the actor sees and not everybody; never kept."""
    if not actor.is_authenticated:
        return []
    found = [entry for _, entry in _pairs(of, scope.own(of, actor))]
    for entry in found:
        entry["metadata"]["hub"]["private"] = True  # who copies it should know
    return found


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


def _mended(of: Scope, kept: Kept, changed: Collection[int]) -> list[Pair] | None:
    """The entries with those of some models made anew; None where it is not at hand any more."""
    written: Written | None = _get(_key(of, kept.etag))
    if written is None or len(changed) > MOST_CHANGED:
        return None
    entries = json.loads(gzip.decompress(written.packed))
    pairs = zip(written.models, entries, strict=True)
    rest = [pair for pair in pairs if pair[0] not in changed]
    return _sorted(rest + _pairs(of, scope.public(of).filter(pk__in=changed)))


def _keep(of: Scope, rows: list[_Happened], pairs: list[Pair]) -> tuple[Kept, Written]:
    content = text([entry for _, entry in pairs])
    written = Written(gzip.compress(content, 1, mtime=0), tuple(model for model, _ in pairs))
    kept = Kept(
        etag=hashlib.sha256(content).hexdigest()[:32],
        count=len(pairs),
        top=max((pk for pk, *_ in rows), default=0),
        seen=frozenset(pk for pk, *_ in rows),
        waits=frozenset(model for model, entry in pairs if manifest.is_waiting(entry)),
        written_at=time.time(),
    )
    # Anybody can ask for what is not there, under any name.
    if pairs:
        _set({_key(of): kept, _key(of, kept.etag): written})
    return kept, written


def _events(top: int) -> tuple[list[_Happened], bool]:
    """The last events as (id, verb, model), and whether all since ``top`` are among them."""
    rows = Event.objects.order_by("-pk").values_list("pk", "verb", "model_id")
    if top:
        found: list[_Happened] = [*rows.filter(pk__gt=top - WINDOW)[:MOST_NEWS]]
        return found, len(found) < MOST_NEWS
    return [*rows[:WINDOW]], False


def _changed(kept: Kept, rows: list[_Happened]) -> set[int] | None:
    """The models that may have changed since; None where it may be any of them."""
    found = {
        model for pk, verb, model in rows if pk not in kept.seen and not verb.startswith(NOISE)
    }
    if kept.waits and (found or time.time() - kept.written_at >= WAITING_SECONDS):
        found |= kept.waits
    return None if None in found else {model for model in found if model is not None}


def _key(of: Scope, tag: str = "") -> str:
    # Names and refs hold no colon; some caches take no long keys and no other letters.
    return f"onnx-hub:{hashlib.sha256(of.key.encode()).hexdigest()}:{tag}"


def _get(key: str) -> Any:
    try:
        return cache.get(key)
    except RedisError:
        return None


def _set(values: dict[str, Any]) -> None:
    try:
        cache.set_many(values, SECONDS)
    except RedisError:
        return  # the next call writes it again
