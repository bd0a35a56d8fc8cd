"""What a job writes is limited in all, however it is written, and ends with a finding."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import time
from pathlib import Path

import pytest

from runners.engine import jobs
from runners.engine.confine import children
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.jobs import Job, Request
from tests import kernel
from tests.engine.conftest import SUBJECT, codes

MEGABYTE = 1_000_000
LIMITS = Limits(
    wall_seconds=30,
    cpu_seconds=10,
    memory_bytes=1 << 30,
    output_bytes=1 << 16,
    file_bytes=16 * MEGABYTE,
    written_bytes=50 * MEGABYTE,
    written_files=2_000,
)
# What may be written between two looks, on a machine that is busy with other tests.
OVERSHOOT_BYTES, OVERSHOOT_FILES = 250 * MEGABYTE, 10_000


@pytest.fixture
def confined(tmp_path):
    """Run a task in a child that works in a folder; gives its end."""
    work = tmp_path / "work"
    work.mkdir()

    def run(task, limits=LIMITS):
        room = kernel.with_room(limits)
        wearing = Confinement(kernel.offered(), room, (), (work,), work)
        return children.run(task, wearing, children.Stop())

    return run


def outcome(ending):
    return (ending.kind, ending.answer)


TOO_MANY_BYTES = ("scratch-exceeded", "bytes")
TOO_MANY_FILES = ("scratch-exceeded", "files")


def create(name):
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)


def write(name, size=10 * MEGABYTE):
    Path(name).write_bytes(bytes(size))


def test_forty_files_of_ten_megabytes(confined, tmp_path):
    ending = confined(lambda: [write(f"f{k}") for k in range(40)] and "written")
    assert outcome(ending) == TOO_MANY_BYTES
    written = sum(path.stat().st_size for path in (tmp_path / "work").iterdir())
    assert written <= LIMITS.written_bytes + OVERSHOOT_BYTES


def test_twenty_thousand_files(confined, tmp_path):
    limits = Limits(30, 10, 1 << 30, 1 << 16)

    def fill():
        for k in range(20_000):
            os.close(create(f"f{k}"))

    assert outcome(confined(fill, limits)) == TOO_MANY_FILES
    assert len(list((tmp_path / "work").iterdir())) <= limits.written_files + OVERSHOOT_FILES


def test_folders_count_as_files(confined):
    def fill():
        for k in range(10_000):
            Path(f"d{k}").mkdir()

    assert outcome(confined(fill)) == TOO_MANY_FILES


def test_folders_without_end_are_refused(confined):
    def nest():
        for _ in range(200):
            Path("d").mkdir()
            os.chdir("d")

    assert outcome(confined(nest)) == TOO_MANY_FILES


def test_hard_links_count_as_files_and_their_bytes_once(confined):
    def link(count):
        def task():
            write("f")
            for k in range(count):
                os.link("f", f"link{k}")
            for path in Path().iterdir():
                path.unlink()
            return "linked"

        return task

    assert outcome(confined(link(100))) == ("answered", "linked")
    assert outcome(confined(link(20_000))) == TOO_MANY_FILES


def test_sparse_files_count_with_their_holes(confined):
    def stretch():
        for k in range(40):
            handle = create(f"f{k}")
            os.ftruncate(handle, 10 * MEGABYTE)
            os.close(handle)

    assert outcome(confined(stretch)) == TOO_MANY_BYTES


def test_deleted_files_that_are_open_count(confined):
    def hide():
        for k in range(40):
            handle = create(f"f{k}")
            Path(f"f{k}").unlink()
            os.write(handle, bytes(10 * MEGABYTE))
        time.sleep(LIMITS.wall_seconds)

    assert outcome(confined(hide)) == TOO_MANY_BYTES


def test_unnamed_files_count(confined):
    def hide():
        for _ in range(40):
            handle = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
            os.write(handle, bytes(10 * MEGABYTE))
        time.sleep(LIMITS.wall_seconds)

    assert outcome(confined(hide)) == TOO_MANY_BYTES


def test_written_maps_count(confined):
    def fill():
        for k in range(40):
            handle = create(f"f{k}")
            os.ftruncate(handle, 10 * MEGABYTE)
            with mmap.mmap(handle, 10 * MEGABYTE) as pages:
                pages[:] = bytes(10 * MEGABYTE)
            os.close(handle)

    assert outcome(confined(fill)) == TOO_MANY_BYTES


def test_what_is_mapped_and_has_no_name_counts_as_written(confined, tmp_path):
    if not counts_writes(tmp_path):
        pytest.skip("this kernel does not count what a process writes to this folder")

    def hide():
        libc = ctypes.CDLL(None)
        for k in range(400):
            handle = create(f"f{k}")
            os.write(handle, bytes(MEGABYTE))
            # Python's own map would keep a descriptor.
            libc.mmap(None, ctypes.c_size_t(4096), 1, 1, handle, ctypes.c_long(0))
            Path(f"f{k}").unlink()
            os.close(handle)
        time.sleep(LIMITS.wall_seconds)  # what a child that ends has hidden is gone with it

    limits = Limits(30, 10, 1 << 30, 1 << 16, 2 * MEGABYTE, 20 * MEGABYTE, 2_000)
    assert outcome(confined(hide, limits)) == TOO_MANY_BYTES


def test_a_quick_end_does_not_escape_the_count(confined):
    def fill():
        for k in range(6):
            write(f"f{k}")
        os._exit(0)

    assert outcome(confined(fill)) == TOO_MANY_BYTES


def test_what_is_written_after_the_last_look_counts(confined):
    """Far from the limits a look comes every 0.05 s, and this child ends before the second."""
    limits = Limits(30, 10, 1 << 30, 1 << 16, 1 << 30, 400 * MEGABYTE, 10_000)

    def stretch():
        time.sleep(0.01)
        for k in range(2):
            os.truncate(create(f"f{k}"), 300 * MEGABYTE)
        os._exit(0)

    assert outcome(confined(stretch, limits)) == TOO_MANY_BYTES


def test_what_an_earlier_child_left_counts(confined):
    assert confined(lambda: [write(f"f{k}") for k in range(3)] and 1).answer == 1
    assert outcome(confined(lambda: [write(f"g{k}") for k in range(3)] and 1)) == TOO_MANY_BYTES


def test_what_is_within_the_limits_is_let_be(confined):
    def work():
        for _ in range(4):
            for k in range(4):
                write(f"f{k}")
        for k in range(4):
            Path(f"f{k}").unlink()
        return "done"

    assert outcome(confined(work)) == ("answered", "done")


def test_one_file_ends_at_its_limit(confined):
    def fill():
        try:
            write("f", 20 * MEGABYTE)
        except OSError as error:
            return error.errno
        return None

    assert confined(fill).answer == errno.EFBIG


def test_space_cannot_be_taken_at_once(confined):
    if "seccomp" not in kernel.offered():
        pytest.skip("this kernel has no seccomp")

    def take():
        handle = create("f")
        try:
            os.posix_fallocate(handle, 0, MEGABYTE)
        except OSError as error:
            return error.errno
        return os.fstat(handle).st_blocks

    assert confined(take).answer == errno.EPERM


def test_files_in_memory_are_out_of_reach(confined):
    def refused(action):
        try:
            action()
        except OSError as error:
            return type(error).__name__
        return "allowed"

    def task():
        return [
            refused(lambda: os.memfd_create("x")),
            refused(lambda: Path("/dev/shm/x").write_bytes(b"x")),
            refused(lambda: mmap.mmap(-1, 2 << 30)),
        ]

    if not {"seccomp", "landlock"} <= kernel.offered():
        pytest.skip("this kernel lacks seccomp or landlock")
    memory, shared, mapped = confined(task).answer
    assert memory == "PermissionError"
    assert shared in {"PermissionError", "FileNotFoundError"}
    assert mapped == "OSError"  # beyond memory_bytes


def counts_writes(folder):
    """Whether this kernel counts in /proc what a process writes here; it does not for tmpfs."""

    def written():
        lines = Path("/proc/self/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))

    try:
        before = written()
        (folder / "counted").write_bytes(bytes(MEGABYTE))
        return written() - before >= MEGABYTE
    except OSError:
        return False


@pytest.fixture
def job(tmp_path):
    limits = kernel.with_room(Limits(30, 10, 1 << 30, 1 << 16, 16 * MEGABYTE, 50 * MEGABYTE))
    request = Request("check", "model.onnx", {}, SUBJECT, limits, tmp_path)
    return Job(request, kernel.offered(), {}, children.Stop(), lambda *_: None)


def test_a_report_names_the_limit(job):
    report = job.run(lambda job: job.stage("run", lambda: [write(f"f{k}") for k in range(40)]))
    assert (report.outcome, codes(report)) == ("failed", ["scratch-exceeded"])
    assert report.findings[0].message == (
        "The job was stopped because stage 'run' wrote more than 50,000,000 bytes to its "
        "scratch folder. Use a smaller model, or ask the operator to raise "
        "HUB_LIMITS_WRITTEN_BYTES."
    )


def test_a_stage_that_only_reads_writes_nothing(job):
    if not {"landlock", "mounts"} & kernel.offered():
        pytest.skip("this kernel has neither landlock nor mounts")
    (job.work / "earlier").write_text("kept")

    def task():
        kept = (job.work / "earlier").read_text()
        for folder in (job.work, job.out):
            try:
                (folder / "new").write_text("x")
            except OSError:
                continue
            return "written"
        return kept

    assert job.stage("look", task, writes=False).answer == "kept"


def test_a_request_without_a_sum_has_room_for_several_files(tmp_path):
    limits = Limits(30, 10, 1 << 30, 1 << 16)
    request = Request("check", "model.onnx", {}, SUBJECT, limits, tmp_path)
    job = Job(request, kernel.offered(), {}, children.Stop(), lambda *_: None)
    assert job._confinement({"file_bytes": MEGABYTE}).limits.written_bytes == 8 * MEGABYTE
    # A later stage that may write less is not blamed for what lies there already.
    assert job._confinement({}).limits.written_bytes == 8 * MEGABYTE
    assert jobs._FILES_AT_ONCE == 8
