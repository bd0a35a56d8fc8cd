"""Whether a record of a benchmark adds up, and can be stored: nothing of the hub is asked for it.

Every sum is made again, and one field that differs refuses the record. That the samples were ever
measured nobody can check.
"""

from __future__ import annotations

import json
from typing import Any

from hub.protocol import problems
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verification
from runners.engine.benchmark.typed_record import Record

# Statuses of records whose figures are published.
_PUBLIC = (form.ACCEPTED, form.NOISY)
_ENVIRONMENT_BYTES = 64 << 10
_ROW_BYTES = 2 << 20
_MOST_COUNT = 1_000_000


class UnbelievableError(ValueError):
    """A record whose sums do not follow from its samples, that cannot be, or that is none.

    ``rule`` is the name of the rule that it breaks, ``cure`` what to do about it.
    """

    def __init__(self, where: str, message: str, rule: str = "shape", cure: str = "") -> None:
        super().__init__(message)
        self.where = where
        self.rule = rule
        self.cure = cure


def checked(data: Any) -> Record:
    """A record whose every sum was made again and is right; raises UnbelievableError."""
    if not isinstance(data, dict) or data.get("format") != form.FORMAT:
        raise UnbelievableError("format", f"it must be {form.FORMAT}")
    try:
        wrong = verification.problems(data)
    except form.InvalidRecordError as error:
        where, _, words = str(error).partition(": ")
        raise UnbelievableError(where.removeprefix("record").lstrip("."), words) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UnbelievableError(
            "", f"its figures cannot be computed ({type(error).__name__})"
        ) from None
    if wrong:
        first = wrong[0]
        raise UnbelievableError(first.field, first.message, first.rule, first.cure)
    record = Record.read(data)
    for part in record.parts:
        _fits(part)
    return record


def read(text: str) -> tuple[dict[str, Any], str]:
    """A contributed record as JSON: without its samples, and the canonical whole.

    It runs in a process of its own, whose answers are plain data (`registry.core.parsing`).

    Raises InvalidRequest where it is no JSON, and RecordInvalid.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise problems.InvalidRequest("The body is not valid JSON.") from None
    try:
        record = checked(data)
    except UnbelievableError as error:
        raise refusal(error.where, str(error), rule=error.rule, cure=error.cure) from None
    if record.status not in _PUBLIC:
        raise refusal("status", f"it is {record.status} and has no figures", rule="status")
    return form.without_samples(data), form.canonical(data).decode("ascii")


def refusal(where: str, words: str, *, rule: str, cure: str = "") -> problems.RecordInvalid:
    """The problem of a record whose field ``where`` breaks a rule, and what to do about it."""
    pointer = "/" + where.replace("[", ".").replace("]", "").replace(".", "/") if where else ""
    cure = cure or "Run `hub bench verify FILE`, and send the record as `hub bench` wrote it."
    detail = f"{where or 'The record'}: {words} (rule {rule}). {cure}"
    errors = [{"pointer": pointer, "detail": detail}]
    return problems.RecordInvalid(detail, errors=errors, rule=rule, cure=cure)


def _fits(record: Record) -> None:
    """Whether a record that adds up is one that the tables can hold; raises UnbelievableError."""
    for name, value, least in (
        ("batch", record.config.batch, 1),
        ("intra_op_threads", record.config.intra_op_threads, 0),
        ("concurrency", record.config.concurrency, 1),
    ):
        if not least <= value <= _MOST_COUNT:
            raise UnbelievableError(f"config.{name}", "it is out of range")
    if record.status in _PUBLIC and record.median_ms <= 0:
        raise UnbelievableError("stats.p50_of_processes_ms", "a run takes longer than 0 s")
    if len(form.canonical(record.environment)) > _ENVIRONMENT_BYTES:
        raise UnbelievableError("environment", "it is too large")
    slim = form.without_samples(record.data)
    if len(form.canonical(slim)) > _ROW_BYTES:
        raise UnbelievableError("", "without its samples it is too large")
    if not _is_clean(slim):
        raise UnbelievableError("", "it contains invalid characters")


def _is_clean(data: Any) -> bool:
    """Whether every text can be stored: no NUL, no half of a surrogate pair."""
    if isinstance(data, str):
        return "\x00" not in data and not any(
            "\ud800" <= character <= "\udfff" for character in data
        )
    if isinstance(data, dict):
        return all(_is_clean(key) and _is_clean(value) for key, value in data.items())
    return all(map(_is_clean, data)) if isinstance(data, list) else True
