"""The samples behind a result: every query's time in the order in which it was taken.

They lie in the record's file and nowhere else; the row keeps what is asked for often.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

from hub.protocol import problems
from registry.core import waiting
from registry.models import Blob, Version
from registry.storage.files import store
from runners.engine.benchmark.typed_record import Process, Record
from runners.models import Measurement

HEADER = "process,sample,kept_every,rejected,nanoseconds\n"


def of(row: Measurement, *, seconds: float = math.inf) -> tuple[Process, ...]:
    """The processes of a result, in order; raises NotFound and Withdrawn where they are gone.

    Waits for storage so many seconds at most; raises Unavailable.
    """
    sha256 = _sha256(row)
    with waiting.within(seconds):
        return _processes(sha256, row.ordinal)


def basis(row: Measurement, processes: Iterable[Process]) -> list[Process]:
    """The processes that figures are computed from.

    If too few are accepted, the others count too.
    """
    finished = [process for process in processes if process.samples_ns]
    accepted = [process for process in finished if not process.rejected]
    return accepted if len(accepted) == row.processes else finished


def open_record(row: Measurement) -> io.BufferedReader:
    """The file of a result's whole record; raises NotFound and Withdrawn."""
    return store().open(_sha256(row))


def csv(row: Measurement) -> Iterator[str]:
    """The samples as lines of CSV, one for each."""
    processes = of(row)
    yield HEADER
    for process in processes:
        every, bad = process.kept_every, int(process.rejected)
        for place, sample in enumerate(process.samples_ns):
            yield f"{process.ordinal},{place},{every},{bad},{sample}\n"


def _sha256(row: Measurement) -> str:
    version = row.variant.version
    if version.state == Version.State.WITHDRAWN:
        raise problems.Withdrawn(f"{version.ref} was withdrawn: {version.reason}")
    if not Blob.objects.filter(pk=row.record_sha256, erased_at=None).exists():
        raise problems.NotFound("The record of this result is no longer stored.")
    return row.record_sha256


@lru_cache(maxsize=8)
def _processes(sha256: str, ordinal: int) -> tuple[Process, ...]:
    with store().open(sha256) as file:
        record = Record.read(json.load(file))
    return record.parts[ordinal].processes
