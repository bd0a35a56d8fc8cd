"""Fetches the archive of a package with pip: its digest is required, and no code of it runs.

pip reads its own configuration, so that another index, a proxy, or a folder serves the same file.
Source: pip's secure installs.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runners.queue.job_kinds import GoneError

if TYPE_CHECKING:
    from runners.starter.manifest import Package

SECONDS = 1800.0
_POLL_SECONDS = 0.2
_ATTEMPT_SECONDS = "15"
_ATTEMPTS = "2"
_LAST_CHARACTERS = 300


class UnfetchedError(GoneError):
    """A package could not be fetched; the message says why and how to bring it otherwise."""

    code = "package-unfetched"


@contextmanager
def fetched(package: Package, should_stop: Callable[[], bool]) -> Iterator[Path]:
    """The archive of a package, in a folder that is gone afterwards; raises UnfetchedError."""
    with tempfile.TemporaryDirectory(prefix="hub-package-") as folder:
        requirement = Path(folder, "requirements.txt")
        requirement.write_text(
            f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n"
        )
        log = Path(folder, "pip.log")
        _run([*_pip(package), "-r", str(requirement), "-d", folder], log, package, should_stop)
        archive = Path(folder, package.archive)
        if not archive.is_file():
            raise UnfetchedError(f"pip fetched no file {package.archive}.")
        yield archive


def _pip(package: Package) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip"]
    elif place := shutil.which("pip"):
        pip = [place]
    else:
        raise UnfetchedError(f"This worker has no pip to fetch {package.archive}. {_cure(package)}")
    flags = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", _ATTEMPTS]
    limits = ["--timeout", _ATTEMPT_SECONDS, "--require-hashes", "--no-deps"]
    return [*pip, "download", *flags, *limits, "--only-binary", ":all:", "--ignore-requires-python"]


def _run(command: list[str], log: Path, package: Package, should_stop: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    with log.open("wb") as written:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None:
                if should_stop() or time.monotonic() > until:
                    raise UnfetchedError(f"Fetching {package.archive} was stopped.")
                time.sleep(_POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    if process.returncode:
        raise UnfetchedError(
            f"pip could not fetch {package.name} {package.version} ({_reason(log)}). "
            f"{_cure(package)}"
        )


def _reason(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["no message"]
    return errors[-1].removeprefix("ERROR:").strip().rstrip(".")[:_LAST_CHARACTERS]


def _cure(package: Package) -> str:
    return (
        "Check the worker's network and pip's configuration, or bring the file: "
        f"hub import starter --from FOLDER, with {package.archive} in it."
    )
