"""Whether the backends of the settings answer: the database, Redis and the storage of files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path

import redis
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import DatabaseError, connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from hub.protocol import problems
from registry.core import waiting
from registry.storage.files import store

REDIS_SECONDS = 1.5
STORAGE_SECONDS = waiting.READ_SECONDS


class Backend(StrEnum):
    """What the hub needs of other programs; the value is the id of the check."""

    DATABASE = "hub.E010"
    REDIS = "hub.E011"
    STORAGE = "hub.E012"


def ask_database() -> None:
    """Run a statement; raises DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def ask_redis() -> bool:
    """Send a ping; raises RedisError, OSError."""
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=REDIS_SECONDS,
        socket_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    with client:
        return bool(client.ping())


def ask_storage() -> None:
    """Look for the folder or bucket; raises OSError, Unavailable, ValueError."""
    with waiting.within(STORAGE_SECONDS):
        store().check()


_ERRORS = (DatabaseError, redis.RedisError, OSError, problems.Unavailable, ValueError)


def unanswered(backends: Collection[Backend] = tuple(Backend)) -> list[CheckMessage]:
    """An error for each of the backends that cannot be used, with the id of its ``Backend``."""
    return [
        Error(
            f"{name} cannot be used: {_reason(error)}",
            hint=f"See that it runs and that this machine reaches it, or correct {variable}.",
            id=backend.value,
        )
        for backend, (name, variable, ask) in _in_use().items()
        if backend in backends and (error := _failure(ask)) is not None
    ]


def _in_use() -> dict[Backend, tuple[str, str, Callable[[], object]]]:
    """The backends that these settings use: name, variable, and what asks it."""
    questions: dict[Backend, tuple[str, str, Callable[[], object]]] = {}
    # To ask SQLite would make its file.
    if connection.vendor != "sqlite" or Path(connection.settings_dict["NAME"]).exists():
        questions[Backend.DATABASE] = ("The database", "DATABASE_URL", ask_database)
    if settings.REDIS_URL:
        questions[Backend.REDIS] = ("Redis", "REDIS_URL", ask_redis)
    name = f"The storage {settings.HUB_STORAGE_URL}"
    questions[Backend.STORAGE] = (name, "HUB_STORAGE_URL", ask_storage)
    return questions


def _failure(ask: Callable[[], object]) -> Exception | None:
    try:
        ask()
    except _ERRORS as error:
        return error
    return None


def _reason(error: Exception) -> str:
    """The first line of what a library says; a refusal of the storage has it as its cause."""
    cause = error.__cause__ if isinstance(error, problems.Problem) and error.__cause__ else error
    if isinstance(cause, FileNotFoundError):
        return "it does not exist."
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") + "." if lines else f"{type(cause).__name__}."
