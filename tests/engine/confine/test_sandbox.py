"""The worker's side: progress, cancelling, deaths on either side, and nothing left behind."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from runners.sandbox import Request, Sandbox
from tests import kernel, samples
from tests.engine.conftest import SMALL, SUBJECT, codes

LONG = replace(SMALL, cpu_seconds=60, wall_seconds=60)


@pytest.fixture
def own(tmp_path):
    """A sandbox that a test may break."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Sandbox(scratch) as made:
        made.scratch = scratch
        yield made


def server_of(sandbox):
    return sandbox._server._process.pid


def children_of(pid):
    listing = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in listing.read_text().split()]


def is_confined(pid):
    """Whether a child's filter of system calls, the last layer, is in place."""
    try:
        return "\nSeccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def soon(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_the_level_is_told(sandbox):
    level = sandbox.level()
    offered = kernel.offered()
    assert {name for name in offered if getattr(level, name)} == offered, level.details
    assert (level.name == "full") is (len(offered) == 5)
    assert "engine" not in level.details
    assert sandbox.versions()["onnx"]


def test_progress_is_told_in_order(run):
    told = []
    run("check", samples.mlp(), on_progress=lambda *said: told.append(said))
    assert [phase for _, phase in told] == ["scan", "input", "checker", "inference", "load"]
    assert [percent for percent, _ in told] == sorted(percent for percent, _ in told)


def test_the_server_holds_one_thread_and_nothing_of_the_workers_environment(
    monkeypatch, own, stored
):
    monkeypatch.setenv("HUB_SECRET_KEY", "do-not-pass-on")
    places = stored({"model.onnx": samples.mlp()})
    assert own.run(Request("check", "model.onnx", places, SUBJECT)).outcome == "passed"
    server = Path(f"/proc/{server_of(own)}")
    assert b"do-not-pass-on" not in (server / "environ").read_bytes()
    assert len(list((server / "task").iterdir())) == 1
    assert children_of(server_of(own)) == []


def test_scratch_is_removed_whatever_happens(own, stored):
    for sample in (samples.mlp, samples.lfs_pointer, samples.layernorm_killer):
        places = stored({"model.onnx": sample()})
        own.run(Request("check", "model.onnx", places, SUBJECT, limits=SMALL))
        assert list(own.scratch.iterdir()) == []


@pytest.mark.parametrize("trouble", ["missing", "link", "folder", "fifo", "entry"])
def test_stored_files_that_are_none(run, sandbox, tmp_path, trouble):
    blob = tmp_path / "blob"
    secret = tmp_path / "secret"
    secret.write_bytes(samples.mlp())
    entry = "model.onnx"
    match trouble:
        case "link":
            blob.symlink_to(secret)
        case "folder":
            blob.mkdir()
        case "fifo":
            os.mkfifo(blob)
        case "entry":
            blob.write_bytes(samples.mlp())
            entry = "other.onnx"
    for task in ("describe", "check"):
        report = sandbox.run(Request(task, entry, {"model.onnx": str(blob)}, SUBJECT))
        assert (report.outcome, codes(report)) == ("errored", ["input-missing"])


def test_external_data_behind_a_link_is_not_read(sandbox, stored, tmp_path):
    places = stored(samples.with_external_data())
    real = Path(places["weights.bin"])
    link = tmp_path / "link"
    link.symlink_to(real)
    report = sandbox.run(
        Request("check", "model.onnx", {**places, "weights.bin": str(link)}, SUBJECT)
    )
    assert codes(report) == ["input-missing"]


def test_hard_links_reach_the_libraries_as_copies(tmp_path):
    from runners.engine.onnx_files import staging

    blob = tmp_path / "blob"
    blob.write_bytes(b"weights")
    os.link(blob, tmp_path / "second-name")
    folder = tmp_path / "input"
    folder.mkdir()
    staging.lay_out(folder, {"a/w.bin": str(blob)}, ["a/w.bin"], lambda: False)
    copy = folder / "a" / "w.bin"
    assert copy.read_bytes() == b"weights"
    assert copy.stat().st_nlink == 1
    assert copy.stat().st_ino != blob.stat().st_ino


def test_copying_stops_when_asked(tmp_path):
    from runners.engine.onnx_files import staging

    blob = tmp_path / "blob"
    blob.write_bytes(b"weights")
    with pytest.raises(staging.StoppedError):
        staging.lay_out(tmp_path, {"w": str(blob)}, ["w"], lambda: True)


def test_cancelling_ends_the_children(own, stored):
    places = stored({"model.onnx": samples.function_doubling()})
    asked = time.monotonic()
    report = own.run(
        Request("check", "model.onnx", places, SUBJECT, limits=LONG),
        should_stop=lambda: time.monotonic() - asked > 0.6,
    )
    assert (report.outcome, codes(report)) == ("errored", ["cancelled"])
    assert children_of(server_of(own)) == []
    assert list(own.scratch.iterdir()) == []
    # The same server goes on to the next job.
    places = stored({"model.onnx": samples.mlp()})
    assert own.run(Request("check", "model.onnx", places, SUBJECT)).outcome == "passed"


def test_a_server_that_dies_is_replaced(own, stored):
    places = stored({"model.onnx": samples.function_doubling()})
    own.level()
    first = server_of(own)
    killer = threading.Timer(0.6, os.kill, (first, signal.SIGKILL))
    killer.start()
    report = own.run(Request("check", "model.onnx", places, SUBJECT, limits=LONG))
    killer.join()
    assert (report.outcome, codes(report)) == ("errored", ["sandbox-lost"])
    assert list(own.scratch.iterdir()) == []
    places = stored({"model.onnx": samples.mlp()})
    assert own.run(Request("check", "model.onnx", places, SUBJECT)).outcome == "passed"
    assert server_of(own) != first


def test_a_server_that_died_between_jobs_goes_unnoticed(own, stored):
    places = stored({"model.onnx": samples.mlp()})
    own.level()
    os.kill(server_of(own), signal.SIGKILL)
    own._server._process.wait()
    assert own.run(Request("describe", "model.onnx", places, SUBJECT)).outcome == "passed"


def test_a_child_that_the_kernel_took_is_our_fault(own, stored):
    places = stored({"model.onnx": samples.function_doubling()})
    own.level()
    server = server_of(own)

    is_over = threading.Event()

    def take():
        # A stage may end by itself just as it is killed: then the next one is.
        while not is_over.wait(0.05):
            for child in filter(is_confined, children_of(server)):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    taker = threading.Thread(target=take)
    taker.start()
    report = own.run(Request("check", "model.onnx", places, SUBJECT, limits=LONG))
    is_over.set()
    taker.join()
    assert (report.outcome, codes(report)) == ("errored", ["child-killed"])


def test_a_callback_that_raises_leaves_nothing_running(own, stored):
    places = stored({"model.onnx": samples.mlp()})

    def fail(*_):
        raise RuntimeError("lost the lease")

    with pytest.raises(RuntimeError, match="lost the lease"):
        own.run(Request("check", "model.onnx", places, SUBJECT), on_progress=fail)
    assert list(own.scratch.iterdir()) == []
    assert own.run(Request("check", "model.onnx", places, SUBJECT)).outcome == "passed"


def test_an_engine_that_does_not_start_is_told(tmp_path):
    sandbox = Sandbox(tmp_path, interpreter=str(tmp_path / "no-python"))
    report = sandbox.run(Request("describe", "m", {}, SUBJECT))
    assert (report.outcome, codes(report)) == ("errored", ["sandbox-unavailable"])
    assert sandbox.level().name == "none"


def test_a_thread_that_started_the_server_may_end(own, stored):
    """The kernel signals the server when that thread ends; the server must know better."""
    starter = threading.Thread(target=own.level)
    starter.start()
    starter.join()
    first = server_of(own)
    time.sleep(0.2)
    places = stored({"model.onnx": samples.mlp()})
    assert own.run(Request("check", "model.onnx", places, SUBJECT)).outcome == "passed"
    assert server_of(own) == first


WORKER = """
import sys
from runners.sandbox import Limits, Request, Sandbox
sandbox = Sandbox(__import__("pathlib").Path(sys.argv[2]))
sandbox.level()
print(sandbox._server._process.pid, flush=True)
request = Request("check", "m.onnx", {"m.onnx": sys.argv[1]}, "0" * 64,
                  limits=Limits(wall_seconds=60, cpu_seconds=60))
sandbox.run(request, on_progress=lambda _, phase: print(phase, flush=True))
"""


def test_killing_the_worker_kills_the_server_and_its_children(stored, tmp_path):
    places = stored({"model.onnx": samples.function_doubling()})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, places["model.onnx"], str(scratch)],
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        server = int(worker.stdout.readline())
        while worker.stdout.readline().strip() != "inference":
            pass
        assert soon(lambda: children_of(server))
        child = children_of(server)[0]
        worker.kill()
        worker.wait()
        assert soon(lambda: is_gone(server))
        assert soon(lambda: is_gone(child))
        assert soon(lambda: list(scratch.iterdir()) == [])


POORER = """
import ctypes, errno, struct, sys
from runners.engine.confine import kernel, seccomp
numbers = [int(word) for word in sys.argv[3:]]
lines = [seccomp._line(seccomp._LOAD, 0)]
for number in numbers:
    lines += [seccomp._line(seccomp._EQUAL, number, 0, 1), seccomp._refuse(errno.EPERM)]
lines.append(seccomp._line(seccomp._RETURN, seccomp._ALLOW))
code = b"".join(lines)
buffer = ctypes.create_string_buffer(code, len(code))
header = ctypes.create_string_buffer(
    struct.pack("<H6xQ", len(lines), ctypes.addressof(buffer)))
kernel.no_new_privileges()
kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(header))
from runners.engine.confine import kernel
from runners.sandbox import Request, Sandbox
with Sandbox(__import__("pathlib").Path(sys.argv[2])) as sandbox:
    level = sandbox.level()
    report = sandbox.run(Request("check", "m.onnx", {"m.onnx": sys.argv[1]}, "0" * 64))
    print(level.name, sorted(level.details), report.outcome)
"""


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (["unshare"], "partial ['mounts', 'namespaces'] passed"),
        (["pivot_root"], "partial ['mounts'] passed"),
        (["landlock"], "partial ['landlock'] passed"),
        (["unshare", "landlock"], "partial ['landlock', 'mounts', 'namespaces'] passed"),
    ],
)
def test_a_poorer_machine_is_told_and_still_works(stored, tmp_path, missing, said):
    """Container engines often forbid namespaces or landlock: a filter here does the same."""
    if len(kernel.offered()) < 5:
        pytest.skip("this kernel offers less already")
    is_arm = platform.machine() == "aarch64"
    unshare, pivot_root = (97, 41) if is_arm else (272, 155)
    numbers = {"unshare": unshare, "pivot_root": pivot_root, "landlock": 444}
    places = stored({"model.onnx": samples.mlp()})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            POORER,
            places["model.onnx"],
            str(scratch),
            *(str(numbers[name]) for name in missing),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == said


def test_an_idle_engine_ends_and_the_next_request_starts_another(own, stored):
    assert not own.is_warm()
    own.level()
    first = server_of(own)
    own.close_idle(3600.0)
    assert own.is_warm()
    own.close_idle(0.0)
    assert not own.is_warm()
    assert not Path(f"/proc/{first}").exists()
    places = stored({"model.onnx": samples.mlp()})
    assert own.run(Request("check", "model.onnx", places, SUBJECT)).outcome == "passed"
    own.close_idle(3600.0)
    assert own.is_warm()
    assert server_of(own) != first
