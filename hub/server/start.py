"""The start of each process of a hub: it is refused in one line for each thing that cannot work.

What may work later, such as a backend that is down, is a warning, unless this start needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from django.core.exceptions import ImproperlyConfigured

from hub.server.environment import env

if TYPE_CHECKING:
    from django.conf import LazySettings
    from django.core.checks import CheckMessage

    from hub.server.backends import Backend

# The tag of the checks of the environment, which each start runs.
CHECKS = "environment"


def read_settings() -> LazySettings:
    """The settings; ends the process where they cannot be used."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.server.settings")
    from django.conf import settings  # noqa: PLC0415 - after the environment is set

    try:
        _ = settings.INSTALLED_APPS
    except ImproperlyConfigured as error:
        refuse(str(error).splitlines())
    return settings


def set_up() -> None:
    """Make Django ready; ends the process where the settings cannot be used."""
    read_settings()
    import django  # noqa: PLC0415

    django.setup()


def set_up_to_inspect(home: str | None) -> None:
    """As ``set_up`` for a command that reports faults of settings; ``home`` replaces HUB_HOME."""
    if home:
        os.environ["HUB_HOME"] = home
    env.is_strict = False
    set_up()


def refuse(reasons: Iterable[str]) -> NoReturn:
    """Print why this process does not start, and end it."""
    for reason in reasons:
        sys.stderr.write(f"hub: {reason}\n")
    raise SystemExit(1)


def check(needs: Collection[Backend] = ()) -> None:
    """End the process where a check fails, or where a backend that it needs does not answer."""
    errors = [each for each in messages() if each.is_serious()]
    if needs and not errors:
        from hub.server import backends  # noqa: PLC0415 - models must be loaded first

        errors = backends.unanswered(needs)
    if errors:
        refuse(map(line, errors))


def is_first() -> bool:
    """Whether this is the first worker of a gunicorn to ask; they share a folder for counts."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if not folder:
        return False
    try:
        (Path(folder) / "start").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def warn() -> None:
    """Print what does not prevent this start: doubtful settings, and backends that are down."""
    from hub.server import backends  # noqa: PLC0415 - models must be loaded first

    mild = [each for each in messages() if not each.is_serious()]
    for each in [*mild, *backends.unanswered()]:
        sys.stderr.write(f"hub: warning: {line(each)}\n")


def messages() -> list[CheckMessage]:
    """What the checks of the environment and the storage say."""
    from django.core.checks import run_checks  # noqa: PLC0415 - models must be loaded first

    from registry.storage import files  # noqa: PLC0415

    return run_checks(tags=[CHECKS, files.CHECKS])


def line(message: CheckMessage) -> str:
    """A message with its cure in one line."""
    return " ".join(f"{message.msg} {message.hint or ''}".split())


if __name__ == "__main__":
    set_up()
    check()
