"""The public graphs in one file: gzipped N-Quads, made each night, equal bytes for equal graphs.

The file lies in storage, which every process of the hub shares, under its digest; a small JSON
document beside it says which one is served. So a reader gets a whole file or none.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Max, Q
from django.utils import timezone

from metadata.models import NamedGraph
from metadata.rdf.iris import Places, graph_of
from metadata.store import texts
from registry.core.shared_files import replace_text
from registry.models import Dataset, Delivery, Version
from registry.storage.files import store

FILENAME = "catalog.nq.gz"
MEDIA_TYPE = "application/n-quads"
# Deliveries that empty graphs: while one waits, a graph may still tell what is hidden already.
_HIDING = ("metadata.hiding", "metadata.graphs")
_HIDING_VERBS = ("model.", "version.withdrawn", "version.deleted")
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Dump:
    """A finished dump: the digest and size in bytes of the gzipped file, and what it holds."""

    sha256: str
    size: int
    graphs: int
    quads: int
    revision: int
    made_at: str

    @property
    def path(self) -> Path:
        """Where the file lies; it may be gone where a newer one took its place."""
        return _folder() / f"{self.sha256}.nq.gz"


def make() -> Dump:
    """Write every public graph into a new file and serve that from now on."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    store().expect_room(0)
    # Taken first: what is removed while the file is written makes it one to be made again.
    revision = NamedGraph.objects.aggregate(newest=Max("revision"))["newest"] or 0
    temporary = folder / f"{os.getpid()}.part"
    graphs = quads = 0
    try:
        with (
            temporary.open("wb") as raw,
            gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed,
        ):
            for text in _texts():
                packed.write(text.encode())
                graphs += 1
                quads += text.count("\n")
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        size = temporary.stat().st_size
        made_at = timezone.now().isoformat(timespec="seconds")
        latest = Dump(sha256, size, graphs, quads, revision, made_at)
        temporary.replace(latest.path)
    finally:
        temporary.unlink(missing_ok=True)
    replace_text(folder / "newest.json", json.dumps(asdict(latest)))
    _tidy(latest)
    return latest


def newest() -> Dump | None:
    """The dump that was made last, whether or not it may be served; None before the first."""
    try:
        return Dump(**json.loads((_folder() / "newest.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def servable() -> Dump | None:
    """The newest dump, unless it may hold what is no longer public."""
    latest = newest()
    return None if latest is None or tells_too_much(latest) else latest


def tells_too_much(dump: Dump) -> bool:
    """Whether a graph was removed or withdrawn since the dump was started, or is about to be."""
    places = Places(settings.HUB_PUBLIC_URL)
    slugs = Dataset.objects.exclude(withdrawn_at=None).values_list("slug", flat=True)
    withdrawn = Q(version__state=Version.State.WITHDRAWN) | Q(
        iri__in=[graph_of(places.dataset(slug)) for slug in slugs]
    )
    less = NamedGraph.objects.filter(Q(nquads="") | withdrawn, revision__gt=dump.revision)
    return less.exists() or _hiding_waits()


def _hiding_waits() -> bool:
    waiting = Delivery.objects.filter(consumer__in=_HIDING)
    return any(
        verb.startswith(_HIDING_VERBS)
        for verb in waiting.values_list("event__verb", flat=True).distinct()
    )


def _texts() -> Iterator[str]:
    rows = NamedGraph.objects.exclude(nquads="").order_by("iri").values_list("iri", "nquads")
    for _, text in texts.readable(rows.iterator(chunk_size=200)):
        yield text


def _tidy(dump: Dump) -> None:
    """Remove older files; open ones stay readable until they are closed."""
    for path in _folder().glob("*.nq.gz"):
        if path != dump.path:
            path.unlink(missing_ok=True)


def _folder() -> Path:
    return store().root / "dump"
