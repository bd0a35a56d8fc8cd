"""A confined child tries what it must not: each attempt is refused by the kernel itself.

The tasks here stand for an upload that took over the process. They run through the very function
that stages run through.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runners.engine.confine import children, isolation, seccomp
from runners.engine.confine import kernel as calls
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.onnx_files import text
from tests import kernel

LIMITS = Limits(wall_seconds=10, cpu_seconds=3, memory_bytes=1 << 30, output_bytes=1 << 16)


@pytest.fixture
def confined(tmp_path):
    """Run a task in a child that may read `input` and write `work`, and nothing else.

    It wears what this kernel offers, whatever the product's own probe says.
    """
    layers = kernel.offered()
    for name in ("input", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "input" / "model").write_text("mine")
    (tmp_path / "other").write_text("not yours")

    def run(task, *, limits=LIMITS, stop=None, needs=()):
        missing = set(needs) - layers
        if missing:
            pytest.skip(f"this machine has no {', '.join(sorted(missing))}")
        room = kernel.with_room(limits)
        wearing = Confinement(
            layers, room, (tmp_path / "input",), (tmp_path / "work",), tmp_path / "work"
        )
        return children.run(task, wearing, stop or children.Stop())

    return run


def refused(action):
    """Give the name of the error that the action meets in the child."""

    def task():
        try:
            action()
        except OSError as error:
            return type(error).__name__
        return "allowed"

    return task


def test_the_product_holds_every_layer_that_the_kernel_offers():
    # In a process of its own: here a plug-in stands in for the library's sockets.
    code = (
        "import json; from dataclasses import asdict; from runners.engine.confine import probe; "
        "print(json.dumps(asdict(probe.probe())))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    found = json.loads(done.stdout)
    details = found.pop("details")
    assert set(found) == {"rlimits", "namespaces", "mounts", "landlock", "seccomp"}
    held = {name for name, holds in found.items() if holds}
    assert held == kernel.offered(), details
    assert set(details) == found.keys() - held


def test_a_task_answers(confined):
    ending = confined(lambda: {"sum": 1 + 1, "here": str(Path.cwd().name)})
    assert (ending.kind, ending.answer) == ("answered", {"sum": 2, "here": "work"})


def test_input_is_readable_and_work_is_writable(confined, tmp_path):
    def task():
        Path("result").write_text("done")
        return (tmp_path / "input" / "model").read_text()

    assert confined(task).answer == "mine"
    assert (tmp_path / "work" / "result").read_text() == "done"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/proc/1/environ", "/root", "/etc/hostname", "/tmp", "/"]
)
def test_the_host_cannot_be_read(confined, path):
    def look():
        place = Path(path)
        list(place.iterdir()) if place.is_dir() else place.read_bytes()

    answer = confined(refused(look), needs=["landlock"]).answer
    assert answer in {"PermissionError", "FileNotFoundError"}


def test_neighbouring_files_cannot_be_read_or_written(confined, tmp_path):
    other = tmp_path / "other"
    # A new name in a read-only root is an OSError of its own.
    hidden = {"PermissionError", "FileNotFoundError", "OSError"}
    for action in (other.read_bytes, lambda: other.write_text("mine now"), other.unlink):
        assert confined(refused(action), needs=["landlock"]).answer in hidden
    for action in (
        lambda: (tmp_path / "new").write_text("x"),
        lambda: (tmp_path / "input" / "new").write_text("x"),
        lambda: Path("link").symlink_to(other),
        lambda: os.link(other, "link"),
        lambda: os.mkfifo("fifo"),
    ):
        # A link across folders is "cross-device" to landlock.
        assert confined(refused(action), needs=["landlock", "seccomp"]).answer in hidden
    assert other.read_text() == "not yours"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input", "other", "work"]


@pytest.mark.parametrize(
    "family", [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK]
)
def test_no_socket_of_any_kind(confined, family):
    def connect():
        # The library's own class, whatever a test plug-in put in its place.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.socket(int(family), int(socket.SOCK_DGRAM), 0) < 0:
            raise OSError(ctypes.get_errno(), "socket")

    assert confined(refused(connect), needs=["seccomp"]).answer == "PermissionError"


def test_no_new_process_and_no_program(confined):
    assert confined(refused(os.fork), needs=["seccomp"]).answer == "PermissionError"
    execute = refused(lambda: os.execv("/bin/true", ["true"]))  # noqa: S606
    assert confined(execute, needs=["seccomp"]).answer == "PermissionError"


def test_a_fork_bomb_does_not_start(confined):
    def bomb():
        count = 0
        for _ in range(1000):
            try:
                if os.fork() == 0:
                    os._exit(0)
                count += 1
            except OSError:
                continue
        return count

    assert confined(bomb, needs=["seccomp"]).answer == 0


def test_threads_work_until_there_are_too_many(confined):
    def threads():
        # A thread that gets a stack and no memory beside it would never say that it has started.
        threading.stack_size(64 << 20)
        waiting = threading.Event()
        made = 0
        try:
            for _ in range(5000):
                threading.Thread(target=waiting.wait, daemon=True).start()
                made += 1
        except RuntimeError:
            waiting.set()
            return made
        waiting.set()
        return made

    # Their number ends them, or for root, for whom it is not limited, the memory for their stacks.
    limits = replace(LIMITS, memory_bytes=8 << 30)
    assert 4 <= confined(threads, limits=limits).answer <= 128


def test_nobody_else_can_be_signalled(confined):
    server = os.getpid()
    for action in (
        lambda: os.kill(server, 0),
        lambda: os.kill(server, signal.SIGKILL),
        lambda: os.killpg(os.getpgid(server), signal.SIGKILL),
        lambda: os.kill(-1, signal.SIGKILL),
    ):
        assert confined(refused(action), needs=["seccomp"]).answer == "PermissionError"


def test_it_may_end_itself(confined):
    assert confined(os.abort).answer == "SIGABRT"
    assert confined(lambda: signal.raise_signal(signal.SIGSEGV)).answer == "SIGSEGV"


def test_memory_of_others_is_out_of_reach(confined):
    server = os.getpid()
    read = refused(lambda: os.open(f"/proc/{server}/mem", os.O_RDONLY))
    answer = confined(read, needs=["landlock"]).answer
    assert answer in {"PermissionError", "FileNotFoundError"}


def test_only_its_own_files_are_open(confined):
    def opened():
        return [number for number in range(64) if readable(number)]

    def readable(number):
        try:
            os.fstat(number)
        except OSError:
            return False
        return True

    with Path("/etc/passwd").open() as secret:
        assert secret.fileno() > 4
        assert confined(opened).answer == [0, 1, 2, 3, 4]


def test_limits_cannot_be_raised(confined):
    import resource

    def raise_them():
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))
        except ValueError as error:
            raise PermissionError from error

    assert confined(refused(raise_them)).answer == "PermissionError"


def test_too_much_memory(confined):
    assert confined(lambda: len(bytearray(2 << 30))).kind == "out-of-memory"


def test_too_much_computing(confined):
    def spin():
        while True:
            pass

    limits = Limits(wall_seconds=20, cpu_seconds=1, memory_bytes=1 << 30, output_bytes=100)
    ending = confined(spin, limits=limits)
    assert ending.kind == "timed-out"
    assert ending.seconds < 10


def test_too_much_waiting(confined):
    limits = Limits(wall_seconds=0.3, cpu_seconds=5, memory_bytes=1 << 30, output_bytes=100)
    ending = confined(lambda: time.sleep(60), limits=limits)
    assert ending.kind == "timed-out"
    assert ending.seconds < 5


def test_too_much_written(confined):
    flood = refused(lambda: Path("flood").write_bytes(bytes(1 << 20)))
    assert confined(flood).answer == "OSError"


def test_a_flood_of_answer_is_cut_off(confined):
    def flood():
        while True:
            os.write(children.ANSWER, b"x" * 4096)

    assert confined(flood).kind == "flooded"
    assert confined(lambda: "x" * (1 << 17)).kind == "flooded"


def test_a_flood_of_words_is_kept_short(confined):
    def flood():
        for _ in range(1000):
            os.write(2, b"complaint " * 100)
        return "done"

    ending = confined(flood)
    assert ending.answer == "done"
    assert len(ending.detail) <= 4096


@pytest.mark.parametrize(
    "said",
    [
        b"no json",
        b'{"answer": 1} {"answer": 2}',
        b"[" * 100_000,
        b'{"other": 1}',
        b'{"answer": NaN}',
        b'{"answer": 1e999}',
        b'{"raised": [1, 2]}',
        b"",
    ],
)
def test_an_answer_that_is_none(confined, said):
    def lie():
        os.write(children.ANSWER, said)
        os._exit(0)

    limits = Limits(wall_seconds=10, cpu_seconds=3, memory_bytes=1 << 30, output_bytes=1 << 20)
    assert confined(lie, limits=limits).kind == "silent"


def test_an_answer_is_made_fit_for_any_database(confined):
    assert confined(lambda: {"a\x00": "\ud800b"}).answer == {"a\ufffd": "\ufffdb"}


def test_deleted_files_of_the_parent_are_not_counted_as_the_childs(confined, monkeypatch):
    """A child has its parent's open files until it is confined, which takes a while under load."""
    close = children._hold_only

    def close_late(*handles):
        time.sleep(0.2)
        close(*handles)

    monkeypatch.setattr(children, "_hold_only", close_late)
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 40)
        assert confined(lambda: 1).kind == "answered"


def test_an_exception_is_an_answer(confined):
    def fail():
        raise ValueError("wrong")

    ending = confined(fail)
    assert (ending.kind, ending.answer) == ("raised", ["ValueError", "wrong"])


def test_a_child_that_closes_its_pipes_is_still_watched(confined):
    def hide():
        os.closerange(1, 5)
        time.sleep(60)

    limits = Limits(wall_seconds=0.4, cpu_seconds=5, memory_bytes=1 << 30, output_bytes=100)
    assert confined(hide, limits=limits).kind == "timed-out"


def test_a_layer_that_does_not_hold_stops_the_child(monkeypatch, tmp_path):
    def broken():
        raise OSError("no such layer")

    monkeypatch.setattr(seccomp, "apply", broken)
    wearing = Confinement(kernel.offered() | {isolation.SECCOMP}, LIMITS)
    mark = tmp_path / "mark"
    ending = children.run(lambda: mark.write_text("ran"), wearing, children.Stop())
    assert ending.kind == "unconfined"
    assert not mark.exists()


def test_a_stopped_child_ends_at_once(confined):
    class Now(children.Stop):
        def requested(self):
            return True

    ending = confined(lambda: time.sleep(60), stop=Now())
    assert ending.kind == "stopped"
    assert ending.seconds < 5


def test_a_child_killed_from_outside_is_told_apart(confined):
    assert confined(lambda: signal.raise_signal(signal.SIGKILL)).kind == "killed"


@pytest.mark.parametrize("family", ["x86_64", "aarch64"])
def test_the_filter_is_well_formed_on_both_families(family):
    code = seccomp.program(family, 4242)
    lines = [code[place : place + 8] for place in range(0, len(code), 8)]
    assert len(code) == len(lines) * 8
    assert len(lines) < 4096
    for place, line in enumerate(lines):
        kind = int.from_bytes(line[:2], "little")
        if kind & 7 == 5:  # every jump lands inside
            assert place + 1 + max(line[2], line[3]) < len(lines)
    assert lines[-1] == seccomp._line(seccomp._RETURN, seccomp._ALLOW)


def test_machine_names(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert calls.machine() == "aarch64"
    monkeypatch.setattr("platform.machine", lambda: "sparc")
    with pytest.raises(OSError, match="sparc"):
        calls.machine()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (b"/home/ada/x", True),
        (b'File "/anything/at/all.py", line 3', True),
        (b"C:\\Users\\ada", True),
        (b"see https://example.org/home/page", False),
        (b"a/home/b", False),
        (b"ratio 1/2", False),
    ],
)
def test_local_paths_are_recognised(words, told):
    assert text.names_local_path(words) is told
