"""Whether the backends of the settings answer: the database, Redis, storage and mail."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path

import redis
from django.conf import settings
from django.core.checks import CheckMessage, Error, run_checks
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from hub.protocol import problems
from registry.core import waiting
from registry.storage import files
from registry.storage.files import store

REDIS_SECONDS = MAIL_SECONDS = 1.5
STORAGE_SECONDS = waiting.READ_SECONDS


class Backend(StrEnum):
    """What the hub needs of other programs; the value is the id of the check."""

    DATABASE = "hub.E010"
    REDIS = "hub.E011"
    STORAGE = "hub.E012"
    MAIL = "hub.E013"


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


def ask_mail() -> None:
    """Sign in to the mail server; raises OSError."""
    connection = get_connection(timeout=MAIL_SECONDS)
    connection.open()
    connection.close()


_ERRORS = (DatabaseError, redis.RedisError, OSError, problems.Unavailable, ValueError)


def unanswered(backends: Collection[Backend] = tuple(Backend)) -> list[CheckMessage]:
    """An error for each of the backends that cannot be used, with the id of its ``Backend``."""
    return [
        Error(
            f"{name} cannot be used: {_reason(error)}",
            hint="See that it exists and runs, that this machine reaches it and that it accepts "
            f"the credentials, or correct {variable}.",
            id=backend.value,
        )
        for backend, (name, variable, ask) in _in_use().items()
        if backend in backends and (error := _failure(ask)) is not None
    ]


def report(*, deploy: bool) -> list[CheckMessage]:
    """All that is wrong with the settings and the backends; a fault has one message."""
    messages = [
        each for each in run_checks(include_deployment_checks=deploy) if not each.is_silenced()
    ]
    targets = set(Backend)
    if any(each.is_serious() for each in run_checks(tags=[files.CHECKS])):
        targets.remove(Backend.STORAGE)
    return messages + unanswered(targets)


def _in_use() -> dict[Backend, tuple[str, str, Callable[[], object]]]:
    """The backends that these settings use: name, variable, and what asks it."""
    questions: dict[Backend, tuple[str, str, Callable[[], object]]] = {}
    # To ask SQLite would make its file.
    if connection.vendor != "sqlite" or Path(connection.settings_dict["NAME"]).exists():
        questions[Backend.DATABASE] = ("The database", "DATABASE_URL", ask_database)
    if settings.REDIS_URL:
        questions[Backend.REDIS] = ("Redis", "REDIS_URL", ask_redis)
    if settings.HUB_MAIL_SERVER:
        questions[Backend.MAIL] = ("The mail server", "HUB_MAIL_URL", ask_mail)
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
