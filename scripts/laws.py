#!/usr/bin/env python3
"""Break each law of the hub on purpose, and see that a test notices.

Breaks are data (`tests/laws/*.toml`). Each is made alone in a copy of the tree, where the tests of
its law run and one must fail. The checkout is only read, so a kill leaves nothing behind in it.
Fails where a break goes unnoticed, where its text is no longer there, or where a test of a law is
skipped or does not pass without a break.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.laws import Break, Law, StaleBreakError, load  # noqa: E402 - this checkout

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "node_modules", "__pycache__", ".*_cache", ".hypothesis"
)
BREAK_SECONDS = 300
BASELINE_SECONDS = 1200
# Always the same examples in the same order: what is noticed today is noticed tomorrow.
PYTEST = (
    *("-m", "pytest", "-q", "-n", "0", "-p", "no:randomly", "--hypothesis-seed=0"),
    *("-o", "addopts=", "--strict-markers", "--strict-config", "-rfEs", "--tb=line"),
    *("--allow-hosts=127.0.0.1,::1,localhost", "--allow-unix-socket"),
)
NOTICED = "noticed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one break: `noticed`, or a word and the reason why not."""

    word: str
    seconds: float
    reason: str = ""


class Tree:
    """A copy of the checkout that tests run in, one break at a time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self._temporary = folder / "tmp"
        self._temporary.mkdir(parents=True)
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=NOT_COPIED)

    def test(self, tests: tuple[str, ...], seconds: float) -> tuple[int | None, str]:
        """Run tests; returns pytest's exit status (None: out of time) and what it printed."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "PYTHONDONTWRITEBYTECODE": "",
            "TMPDIR": str(self._temporary),
        }
        process = subprocess.Popen(
            [sys.executable, *PYTEST, *tests],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
        return process.returncode, output

    def try_break(self, law_break: Break, migrated: Path | None) -> Outcome:
        """Make a break, run the tests of its law, and restore the tree."""
        began = time.monotonic()
        path = self.root / law_break.file
        sound = path.read_bytes() if path.is_file() else None
        try:
            law_break.apply(self.root)
            if migrated is not None and not _makes_tables(law_break.file):
                shutil.copy(migrated, self._migrated_copy())
            status, output = self.test(law_break.tests, BREAK_SECONDS)
        except StaleBreakError as error:
            return Outcome("STALE", time.monotonic() - began, str(error))
        finally:
            self._mend(path, sound)
        seconds = time.monotonic() - began
        if status is None:
            return Outcome("HANGS", seconds, f"the tests did not end in {BREAK_SECONDS} s")
        if status == 0:
            return Outcome("UNNOTICED", seconds, f"every test passes: {' '.join(law_break.tests)}")
        if status != 1 or not re.search(r"^FAILED ", output, re.MULTILINE):
            return Outcome("DOES NOT RUN", seconds, output.strip()[-2000:])
        return Outcome(NOTICED, seconds)

    def migrated(self) -> Path | None:
        """The copy of the empty database that a run of unbroken tests left, if it left one."""
        return next(self._migrated_folder().glob("*.sqlite3"), None)

    def _migrated_folder(self) -> Path:
        folder = self.root / ".pytest_cache/d/migrated"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _migrated_copy(self) -> Path:
        """Where the tests look for the empty database of the tree as it is now."""
        spec = importlib.util.spec_from_file_location("migrated", self.root / "tests/migrated.py")
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        return self._migrated_folder() / f"{module.digest()}.sqlite3"

    def _mend(self, path: Path, sound: bytes | None) -> None:
        if sound is not None:
            path.write_bytes(sound)
        # Its bytecode goes by seconds and size, which another break may share.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        for copy in self._migrated_folder().glob("*.sqlite3"):
            copy.unlink()


def _makes_tables(file: str) -> bool:
    return "/migrations/" in file or file == "registry/core/laws.py"


def _baseline(tree: Tree, laws: list[Law]) -> str:
    """Why the tests of these laws prove nothing here; empty where all pass and none is skipped."""
    tests = dict.fromkeys(test for law in laws for test in law.tests)
    status, output = tree.test(tuple(tests), BASELINE_SECONDS)
    skipped = re.findall(r"^SKIPPED .*$", output, re.MULTILINE)
    if status != 0:
        return f"Without any break the tests of the laws do not pass:\n{output}"
    if skipped:
        return "These tests of laws are skipped here and prove nothing:\n" + "\n".join(skipped)
    return ""


def _try_all(trees: list[Tree], laws: list[Law], migrated: Path | None) -> list[Outcome]:
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def attempt(law: Law, law_break: Break) -> Outcome:
        tree = free.get()
        try:
            outcome = tree.try_break(law_break, migrated)
        finally:
            free.put(tree)
        print(
            f"{outcome.word:12} {outcome.seconds:6.1f} s  {law.name}  {law_break.file}", flush=True
        )
        if outcome.reason:
            print(f"    {outcome.reason}", flush=True)
        return outcome

    with ThreadPoolExecutor(len(trees)) as pool:
        pending = [pool.submit(attempt, law, law_break) for law in laws for law_break in law.breaks]
        return [future.result() for future in pending]


def main() -> int:
    """Try every break that was asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description="Break each law and see that a test notices.")
    parser.add_argument("-k", default="", metavar="TEXT", help="only laws whose name holds TEXT")
    parser.add_argument("-n", type=int, default=2, help="how many at a time (default: 2)")
    options = parser.parse_args()
    laws = [law for law in load() if options.k in law.name]
    if not laws:
        print(f"No law's name holds {options.k!r}.", file=sys.stderr)
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="laws-") as folder:
        trees = [Tree(Path(folder, str(number))) for number in range(max(1, options.n))]
        if fault := _baseline(trees[0], laws):
            print(fault, file=sys.stderr)
            return 1
        print(f"{'all pass':12} {time.monotonic() - began:6.1f} s  without a break", flush=True)
        migrated = None
        if (copy := trees[0].migrated()) is not None:
            migrated = Path(shutil.copy(copy, Path(folder, "migrated.sqlite3")))
        outcomes = _try_all(trees, laws, migrated)
    missed = sum(outcome.word != NOTICED for outcome in outcomes)
    print(
        f"{len(laws)} laws, {len(outcomes)} breaks, {missed} not noticed, "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
