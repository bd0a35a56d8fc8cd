"""Each rule of each layer but seccomp's, with that layer alone: without the rule a test fails."""

from __future__ import annotations

import _socket
import ctypes
import errno
import fcntl
import functools
import os
import resource
import shutil
import signal
import socket
import stat
import threading
from pathlib import Path

import pytest

from runners.engine.confine import children, isolation, mounts
from runners.engine.confine.isolation import Confinement, Limits
from tests import kernel

GIB = 1 << 30
LIMITS = Limits(
    wall_seconds=20,
    cpu_seconds=7,
    memory_bytes=2 * GIB,
    output_bytes=1 << 16,
    file_bytes=1 << 20,
    open_files=48,
)
PR_GET_PDEATHSIG = 2
RNDGETENTCNT = 0x80045200


@pytest.fixture
def folders(tmp_path):
    for name in ("input", "work", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        (tmp_path / name / "folder").mkdir()
    return tmp_path


@pytest.fixture
def wearing(folders):
    """Run a task in a child that wears these layers and no others; skip what the kernel lacks."""

    def run(task, *layers, devices=()):
        missing = set(layers) - kernel.offered()
        if missing:
            pytest.skip(f"this kernel has no {', '.join(sorted(missing))}")
        confinement = Confinement(
            frozenset(layers), LIMITS, (folders / "input",), (folders / "work",), folders / "work"
        )
        if devices:
            confinement = isolation.with_devices(confinement, devices)
        ending = children.run(task, confinement, children.Stop())
        assert ending.kind == "answered", ending
        return ending.answer

    return run


def error_of(action):
    """Name the error that an action meets; "allowed" where there is none."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "allowed"


# --- every child ------------------------------------------------------------------------------


def test_a_child_without_layers_is_tied_to_its_server(wearing):
    libc = ctypes.CDLL(None)

    def task():
        number = ctypes.c_int()
        libc.prctl(PR_GET_PDEATHSIG, ctypes.byref(number), 0, 0, 0)
        status = Path("/proc/self/status").read_text().splitlines()
        fields = dict(line.split(":\t", 1) for line in status if ":\t" in line)
        capabilities = [fields[name] for name in ("CapPrm", "CapEff", "CapInh")]
        return {
            "signal": number.value,
            "session": os.getsid(0) == os.getpid(),
            "umask": os.umask(0),
            "oom": Path("/proc/self/oom_score_adj").read_text().strip(),
            "no_new_privileges": fields["NoNewPrivs"],
            "capabilities": [int(value, 16) for value in capabilities],
        }

    expected = {
        "signal": signal.SIGKILL,
        "session": True,
        "umask": 0o077,
        "oom": "1000",
        "no_new_privileges": "1",
        "capabilities": [0, 0, 0],
    }
    assert wearing(task) == expected
    # A new user namespace brings every capability in it, which must go as well.
    assert wearing(task, "namespaces") == expected


# --- limits -----------------------------------------------------------------------------------


def limits():
    names = ("AS", "DATA", "CPU", "FSIZE", "NOFILE", "CORE", "NPROC")
    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names}


def test_the_limits_of_a_child(wearing):
    held = wearing(limits, "rlimits")
    expected = {
        "AS": [2 * GIB, 2 * GIB],
        "CPU": [7, 8],
        "FSIZE": [1 << 20, 1 << 20],
        "NOFILE": [48, 48],
        "CORE": [0, 0],
    }
    assert {name: held[name] for name in expected} == expected
    # Counted for the user in all, where there is no user namespace.
    assert 64 <= held["NPROC"][0] <= 64 + 30_000
    assert wearing(limits, "rlimits", "namespaces")["NPROC"] == [64, 64]


def test_the_limits_of_a_child_with_an_accelerator(wearing):
    held = wearing(limits, "rlimits", devices=(Path("/dev/null"),))
    assert held["DATA"] == [2 * GIB, 2 * GIB]
    assert held["AS"][0] != 2 * GIB
    assert held["NOFILE"] == [1024, 1024]


def test_no_more_limits_than_asked_for(wearing):
    assert wearing(limits) == {name: list(pair) for name, pair in limits().items()}


# --- namespaces -------------------------------------------------------------------------------


def spaces():
    names = ("user", "net", "ipc", "uts", "mnt")
    return {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in names}


def test_namespaces_of_its_own(wearing):
    outside = spaces()
    inside = wearing(spaces, "namespaces")
    assert {name for name in outside if inside[name] != outside[name]} == {
        "user",
        "net",
        "ipc",
        "uts",
    }


def test_the_hosts_name_is_hidden(wearing):
    assert wearing(lambda: os.uname().nodename, "namespaces") == "sandbox"


# --- mounts -----------------------------------------------------------------------------------


@pytest.fixture
def storage(tmp_path):
    """Blobs of other models beside the job's folders, as a hub keeps them."""
    blob = tmp_path / "storage" / "ab" / "blob"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"weights of somebody else")
    return blob


@pytest.mark.parametrize("layers", [("mounts",), isolation.LAYERS])
def test_nothing_else_exists(wearing, storage, folders, layers):
    server = os.getpid()
    paths = [
        *("/etc/passwd", "/etc", "/proc/1", f"/proc/{server}", f"/proc/{server}/mem"),
        *("/proc/self/environ", "/proc/self/maps", "/proc/mounts", "/proc/net", "/proc/version"),
        *("/dev/shm", "/dev/tty", "/dev/mem", "/sys/kernel", "/sys/fs/cgroup", "/boot", "/usr/bin"),
        *(str(storage), str(storage.parent), str(storage.parents[1])),
        *(str(folders / "other"), str(folders / "other" / "file")),
        *(str(Path.home() / ".bashrc"), str(Path.home() / ".ssh"), __file__),
        str(Path(__file__).parents[3] / "pyproject.toml"),
    ]

    def task():
        return {path: error_of(Path(path).stat) for path in paths}

    assert wearing(task, *layers) == dict.fromkeys(paths, "ENOENT")


def test_the_root_holds_the_way_to_what_is_visible(wearing, folders):
    # Bound are the places themselves; above them lie folders that hold nothing else.
    tops = {place.real.split("/")[1] for place in isolation.interpreter_places()}
    tops |= {link.split("/")[1] for p in isolation.interpreter_places() for link, _ in p.links}
    tops |= {str(folders).split("/")[1], "proc"}

    def task():
        root = sorted(os.listdir("/"))  # noqa: PTH208
        return [
            root,
            sorted(os.listdir("/proc")),  # noqa: PTH208
            sorted(os.listdir("/proc/self")),  # noqa: PTH208
            sorted(os.listdir("/dev")),  # noqa: PTH208
            sorted(os.listdir(folders)),  # noqa: PTH208
        ]

    assert wearing(task, "mounts") == [
        sorted(tops),
        ["cpuinfo", "meminfo", "self"],
        ["fd"],
        ["null", "urandom"],
        ["input", "work"],
    ]


def test_with_landlock_the_root_cannot_even_be_listed(wearing):
    def task():
        return [error_of(functools.partial(os.listdir, path)) for path in ("/", "/dev", "/proc")]

    assert wearing(task, "mounts", "landlock") == ["EACCES"] * 3


def test_only_the_scratch_can_be_written(wearing, folders):
    def task():
        engine = str(Path(isolation.__file__).parent)
        places = ("/", "/proc", "/dev", engine, folders, folders / "input", folders / "work")
        return [error_of((Path(place) / "new").mkdir) for place in places]

    *others, scratch = wearing(task, "mounts")
    assert (set(others), scratch) == ({"EROFS"}, "allowed")
    assert not (folders / "input" / "new").exists()


def test_mounts_forbid_more_than_writing(wearing, folders):
    """Programs, devices and set-user-id files work in no folder that holds uploads."""

    def flags(path):
        held = os.statvfs(path).f_flag
        names = ("RDONLY", "NOSUID", "NODEV", "NOEXEC")
        values = {"RDONLY": 1, "NOSUID": 2, "NODEV": 4, "NOEXEC": 8}
        return [name for name in names if held & values[name]]

    def task():
        engine = Path(isolation.__file__).parent
        places = (folders / "input", folders / "work", "/", engine, "/dev/null")
        return [flags(place) for place in places]

    data, scratch, root, library, device = wearing(task, "mounts")
    assert data == root == ["RDONLY", "NOSUID", "NODEV", "NOEXEC"]
    assert scratch == ["NOSUID", "NODEV", "NOEXEC"]
    assert library[:3] == ["RDONLY", "NOSUID", "NODEV"]
    assert "NODEV" not in device
    assert {"RDONLY", "NOSUID", "NOEXEC"} <= set(device)


def test_devices_work(wearing):
    def task():
        Path("/dev/null").write_bytes(b"x")
        with Path("/dev/urandom").open("rb") as file:
            return len(file.read(3))

    assert wearing(task, "mounts") == 3


def test_libraries_of_an_accelerator_can_be_loaded(wearing, monkeypatch, tmp_path):
    """As `LD_LIBRARY_PATH` names them; a driver's libraries may lie anywhere."""
    library = Path(_ctypes_file())
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    shutil.copy(library, drivers)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{drivers}:relative:")

    def task():
        ctypes.CDLL(str(drivers / library.name))
        return Path("/dev/zero").open("rb").read(2) == b"\0\0"

    assert wearing(task, "mounts", "landlock", devices=(Path("/dev/zero"),)) is True


ALL = ("namespaces", "mounts", "landlock", "seccomp")


def _name_a_thread():
    """Name a thread from another one, as CUDA does: by its file, made where it is missing."""
    go = threading.Event()
    thread = threading.Thread(target=go.wait)
    thread.start()
    try:
        Path(f"/proc/self/task/{thread.native_id}/comm").write_text("cuda-event")
    finally:
        go.set()
        thread.join()


def _listen():
    """Listen on a name in the network namespace, as CUDA does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(f"\0cuda-uvmfd-{Path(f'/proc/{os.getpid()}/ns/pid').stat().st_ino}")
        server.listen(128)


def _read_addresses():
    assert "libc" in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("layers", [*((name,) for name in ALL), ALL])
def test_cuda_can_begin(wearing, layers):
    """What `cudaSetDevice` does on an H100 (driver 580), and ends with failure 304 or 2 without."""

    def task():
        return [error_of(_name_a_thread), error_of(_listen), error_of(_read_addresses)]

    assert wearing(task, *layers, devices=(Path("/dev/zero"),)) == ["allowed"] * 3


def test_devices_open_no_other_door(wearing):
    """What CUDA needs is not what a model could use: it talks to nobody and reads no memory."""

    def task():
        def connect(family, address):
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.connect(address)

        def read(name):
            return lambda: Path(f"/proc/self/task/{threading.get_native_id()}", name).read_bytes()

        return {
            "a name": error_of(lambda: connect(socket.AF_UNIX, "\0anybody")),
            "the network": error_of(lambda: connect(socket.AF_INET, ("127.0.0.1", 9))),
            "a pair": error_of(socket.socketpair),
            **{name: error_of(read(name)) for name in ("environ", "mem", "maps")},
        }

    answers = wearing(task, *ALL, devices=(Path("/dev/zero"),))
    assert answers == dict.fromkeys(("a name", "the network", "a pair"), "EPERM") | dict.fromkeys(
        ("environ", "mem", "maps"), "EACCES"
    )


@pytest.mark.parametrize("layers", [("mounts",), ("landlock",), ("seccomp",)])
def test_only_devices_open_what_cuda_needs(wearing, layers):
    def task():
        return [error_of(_name_a_thread), error_of(_listen), error_of(_read_addresses)]

    assert wearing(task, *layers) != ["allowed"] * 3


def _ctypes_file():
    import _ctypes

    return _ctypes.__file__


def test_paths_through_links_work(tmp_path):
    if "mounts" not in kernel.offered():
        pytest.skip("this kernel has no mounts")
    real = tmp_path / "real"
    real.mkdir()
    (real / "file").write_text("reached")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to(real)
    (tmp_path / "loop").symlink_to("loop")
    readable = (tmp_path / "one" / "file", tmp_path / "loop", tmp_path / "missing" / ".." / "x")
    confinement = Confinement(frozenset({"mounts"}), LIMITS, readable)
    ending = children.run((tmp_path / "one" / "file").read_text, confinement, children.Stop())
    assert ending.answer == "reached"


def test_a_link_that_ends_nowhere_is_no_place(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert mounts.places([tmp_path / "loop", tmp_path / "none", Path("/")], mounts.DATA) == ()
    (place,) = mounts.places([tmp_path / "x" / ".." / ".."], mounts.DATA) or [None]
    assert place is None


# --- landlock ---------------------------------------------------------------------------------

READABLE = ("read", "list")


def attempts(folder, elsewhere):
    """Try everything that landlock knows below a folder; gives the errors by name."""
    tried = {
        "read": (folder / "file").read_text,
        "list": lambda: list(folder.iterdir()),
        "write": lambda: os.open(folder / "file", os.O_WRONLY),
        "truncate": lambda: os.truncate(folder / "file", 0),
        # To be read alone: what may not be written is refused by another right.
        "make a file": lambda: os.open(folder / "new", os.O_CREAT | os.O_RDONLY),
        "make a folder": (folder / "new folder").mkdir,
        "make a link": lambda: (folder / "link").symlink_to("file"),
        "make a pipe": lambda: os.mkfifo(folder / "pipe"),
        "make a socket": lambda: os.mknod(folder / "socket", stat.S_IFSOCK | 0o600),
        "make a character device": lambda: os.mknod(
            folder / "character", stat.S_IFCHR | 0o600, os.makedev(1, 3)
        ),
        "make a block device": lambda: os.mknod(
            folder / "block", stat.S_IFBLK | 0o600, os.makedev(7, 0)
        ),
        "move": lambda: (folder / "file").rename(elsewhere / "moved"),
        "remove a file": (folder / "file").unlink,
        "remove a folder": (folder / "folder").rmdir,
    }
    return {name: error_of(action) for name, action in tried.items()}


def test_landlock_refuses_everything_elsewhere(wearing, folders):
    other, input_ = folders / "other", folders / "input"
    found = wearing(lambda: [attempts(other, other), attempts(input_, input_)], "landlock")
    refused = dict.fromkeys(found[0], "EACCES")
    expected = [refused, refused | dict.fromkeys(READABLE, "allowed")]
    if kernel.landlock_version() < 3:
        expected = [one | {"truncate": "allowed"} for one in expected]
    assert found == expected


def test_landlock_lets_scratch_hold_files_and_folders_only(wearing, folders):
    work = folders / "work"
    found = wearing(lambda: attempts(work, folders / "work" / "folder"), "landlock")
    refused = {
        *("make a link", "make a pipe", "make a socket"),
        *("make a character device", "make a block device"),
    }
    assert {name for name, error in found.items() if error == "EACCES"} == refused
    # Into another folder, which would take rights along.
    assert found["move"] == "EXDEV"
    assert {found[name] for name in found.keys() - refused - {"move"}} == {"allowed"}


def test_landlock_refuses_programs(wearing, folders):
    program = Path(shutil.copy("/bin/true", folders / "input"))
    execute = functools.partial(os.execv, program, ["true"])
    assert wearing(lambda: error_of(execute), "landlock") == "EACCES"


def test_landlock_refuses_commands_to_devices(wearing):
    if kernel.landlock_version() < 5:
        pytest.skip("this kernel's landlock knows no commands to devices")

    def task():
        with Path("/dev/urandom").open("rb") as file:
            return error_of(lambda: fcntl.ioctl(file, RNDGETENTCNT, bytes(4)))

    assert wearing(task) == "allowed"
    assert wearing(task, "landlock") == "EACCES"


def test_landlock_refuses_the_network(wearing):
    if kernel.landlock_version() < 4:
        pytest.skip("this kernel's landlock knows no network")

    def task():
        one = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        return [
            error_of(lambda: one.bind(("127.0.0.1", 0))),
            error_of(lambda: one.connect(("127.0.0.1", 9))),
        ]

    assert wearing(task, "landlock") == ["EACCES", "EACCES"]


def test_landlock_refuses_to_reach_other_processes(wearing):
    if kernel.landlock_version() < 6:
        pytest.skip("this kernel's landlock has no scopes")
    server = os.getpid()
    name = f"\0hub-test-{server}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(name)
        listening.listen()

        def task():
            one = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            return [error_of(lambda: os.kill(server, 0)), error_of(lambda: one.connect(name))]

        assert wearing(task) == ["allowed", "allowed"]
        assert wearing(task, "landlock") == ["EPERM", "EPERM"]


def test_landlock_lets_devices_be_spoken_to(folders):
    if "landlock" not in kernel.offered():
        pytest.skip("this kernel has no landlock")
    random = Path("/dev/random")

    def task():
        with random.open("r+b", buffering=0) as file:
            return error_of(lambda: fcntl.ioctl(file, RNDGETENTCNT, bytes(4)))

    for devices, answer in (((random,), "allowed"), ((), None)):
        confinement = Confinement(frozenset({"landlock"}), LIMITS, devices=devices)
        assert children.run(task, confinement, children.Stop()).answer in (
            answer,
            ["PermissionError", f"[Errno 13] Permission denied: '{random}'"] if not answer else "",
        )
