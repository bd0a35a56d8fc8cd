"""Virtual environments for runtimes whose wheels conflict with those of the hub.

The first worker that needs an environment makes it in HUB_HOME/runtimes/<name>: it is built in a
temporary place and renamed, so that it is always complete. Only the fork server of the sandbox runs
in it; the worker itself runs in the hub's environment.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings

from hub.protocol.problems import HubError
from runners import pools

# Written last, with the installed requirements, so that an upgrade of the hub makes the environment
# again.
SEAL = "hub-runtime.json"
INSTALL_SECONDS = 1800


class RuntimeEnvironmentError(HubError):
    """An environment cannot be made; the message says why and how to fix it."""


def interpreter(runtime: str) -> str:
    """Path of the Python that a runtime's fork server runs in; raises RuntimeEnvironmentError."""
    if not runtime or runtime in pools.OWN_RUNTIMES:
        return sys.executable
    place = _place(runtime)
    if not _is_whole(place, requirements(runtime)):
        raise RuntimeEnvironmentError(
            f"The environment of {runtime} is not ready. Run: hub worker --runtime {runtime}"
        )
    return str(place / "bin" / "python")


def requirements(runtime: str) -> list[str]:
    """Requirements of a runtime: pinned wheels, and shared packages at the hub's own versions."""
    build = pools.BUILDS.get(runtime)
    if build is None:
        available = ", ".join((*pools.OWN_RUNTIMES, *pools.BUILDS))
        raise RuntimeEnvironmentError(f"Unknown runtime {runtime}. Available: {available}.")
    try:
        shared = [f"{name}=={version(name)}" for name in build.shared]
    except PackageNotFoundError as error:
        raise RuntimeEnvironmentError(
            f"{error.name} is missing in the hub's own environment: pip install 'onnx-hub[server]'"
        ) from None
    return [*build.requirements, *shared]


def prepare(runtime: str, tell: Callable[[str], None]) -> str:
    """Make a runtime's environment if it does not exist; returns the path of its Python.

    ``tell`` gets progress messages, since this takes minutes. Raises RuntimeEnvironmentError.
    """
    if not runtime or runtime in pools.OWN_RUNTIMES:
        return sys.executable
    packages, place = requirements(runtime), _place(runtime)
    place.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(place.with_suffix(".lock")):
        if not _is_whole(place, packages):
            _make(place, packages, tell)
    return interpreter(runtime)


def _place(runtime: str) -> Path:
    return Path(settings.HUB_HOME) / "runtimes" / runtime


def _is_whole(place: Path, packages: list[str]) -> bool:
    try:
        sealed = json.loads((place / SEAL).read_text())
    except (OSError, ValueError):
        return False
    return bool(sealed == _seal(packages))


def _seal(packages: list[str]) -> dict[str, object]:
    return {"requirements": packages, "python": sys.version.split()[0]}


def _make(place: Path, packages: list[str], tell: Callable[[str], None]) -> None:
    half = place.with_suffix(".new")
    shutil.rmtree(half, ignore_errors=True)
    tell(f"making an environment for {place.name} in {place}")
    # Scripts of the environment contain the temporary path, so only its Python is ever called.
    _run([sys.executable, "-m", "venv", str(half)], "A virtual environment cannot be made")
    tell(f"installing {', '.join(packages)}")
    python = str(half / "bin" / "python")
    _run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        f"{', '.join(packages)} cannot be installed; is the package index reachable from here?",
    )
    (half / SEAL).write_text(json.dumps(_seal(packages)))
    shutil.rmtree(place, ignore_errors=True)
    half.rename(place)
    tell(f"the environment of {place.name} is ready")


def _run(command: list[str], trouble: str) -> None:
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeEnvironmentError(f"{trouble} ({error}).") from None
    if done.returncode:
        last = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
        raise RuntimeEnvironmentError(f"{trouble}\n{last}")


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
