"""Each rule of the filter, held by an interpreter of its program and by this machine's kernel."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

import pytest

from runners.engine.confine import children, isolation, seccomp
from runners.engine.confine.isolation import Confinement, Limits
from tests import kernel
from tests.engine.system_calls import ALLOWED, CLONE, CLONE3, DENIED, KILL, PRCTL, PRLIMIT, TGKILL

PROCESS, SOMEBODY = 4242, 4243
FAMILIES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
LIMITS = Limits(wall_seconds=10, cpu_seconds=3, memory_bytes=1 << 30, output_bytes=1 << 16)
# No call that the kernel itself answers gives this error.
MARK = errno.EXFULL
needs_seccomp = pytest.mark.skipif(
    "seccomp" not in kernel.offered(), reason="this kernel has no seccomp"
)


def judge(family, number, *arguments, arch=None):
    """Run the filter's program on one call; gives "allow", "kill" or the name of an error."""
    _, own = FAMILIES[family]
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, own if arch is None else arch, 0, *words)
    code = seccomp.program(family, PROCESS)
    lines = [struct.unpack("<HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]
    at = accumulator = 0
    while True:
        kind, if_true, if_false, value = lines[at]
        at += 1
        match kind:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x25:
                at += if_true if accumulator > value else if_false
            case 0x45:
                at += if_true if accumulator & value else if_false
            case 0x06:
                return answer(value)


def answer(value):
    match value & 0xFFFF0000:
        case 0x7FFF0000:
            return "allow"
        case 0x80000000:
            return "kill"
        case 0x00050000:
            return errno.errorcode[value & 0xFFFF]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", DENIED)
def test_a_denied_call_is_refused(family, name):
    number = DENIED[name][FAMILIES[family][0]]
    if number is not None:
        assert judge(family, number) == "EPERM"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ALLOWED)
def test_a_needed_call_is_let_through(family, name):
    assert judge(family, ALLOWED[name][FAMILIES[family][0]]) == "allow"


def test_every_denied_call_of_the_product_is_known_here():
    assert seccomp._DENIED == DENIED


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("call", "arguments", "verdict"),
    [
        (CLONE, (0x00010000,), "allow"),  # CLONE_THREAD
        (CLONE, (17,), "EPERM"),  # as fork does
        (CLONE, (0x10000000 | 17,), "EPERM"),  # CLONE_NEWUSER
        (CLONE3, (), "ENOSYS"),
        (KILL, (PROCESS,), "allow"),
        (KILL, (SOMEBODY,), "EPERM"),
        (KILL, (0,), "EPERM"),
        (KILL, (0xFFFFFFFF,), "EPERM"),
        (TGKILL, (PROCESS,), "allow"),
        (TGKILL, (SOMEBODY,), "EPERM"),
        (PRLIMIT, (0,), "allow"),
        (PRLIMIT, (PROCESS,), "allow"),
        (PRLIMIT, (SOMEBODY,), "EPERM"),
        (PRCTL, (1,), "EPERM"),  # PR_SET_PDEATHSIG
        (PRCTL, (4,), "EPERM"),  # PR_SET_DUMPABLE
        (PRCTL, (15,), "allow"),  # PR_SET_NAME
        ((451, 451), (), "ENOSYS"),
        ((0x7FFFFFFF, 0x7FFFFFFF), (), "ENOSYS"),
    ],
)
def test_calls_judged_by_their_arguments(family, call, arguments, verdict):
    assert judge(family, call[FAMILIES[family][0]], *arguments) == verdict


def test_calls_of_another_architecture_end_the_child():
    for family in FAMILIES:
        assert judge(family, 0, arch=0x40000003) == "kill"  # 32-bit x86
    assert judge("x86_64", 0x40000000 | 1) == "ENOSYS"  # x32


@needs_seccomp
def test_the_kernel_refuses_each_call_by_the_filter(monkeypatch):
    """Each call is made for real, with arguments that do no harm should it not be refused."""
    column = FAMILIES[platform.machine()][0]
    numbers = {name: pair[column] for name, pair in DENIED.items() if pair[column] is not None}
    libc = ctypes.CDLL(None, use_errno=True)

    def call_all():
        errors = {}
        for name, number in numbers.items():
            ctypes.set_errno(0)
            result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
            if result == 0 and name in {"fork", "vfork"}:
                os._exit(1)
            errors[name] = ctypes.get_errno()
        return errors

    original = seccomp.apply
    monkeypatch.setattr(seccomp, "apply", functools.partial(original, MARK))
    ending = children.run(call_all, Confinement(kernel.offered(), LIMITS), children.Stop())
    assert ending.answer == dict.fromkeys(numbers, MARK)


@needs_seccomp
def test_the_kernel_judges_arguments_by_the_filter(monkeypatch):
    column = FAMILIES[platform.machine()][0]
    parent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True)

    def call(numbers, *arguments):
        ctypes.set_errno(0)
        libc.syscall(ctypes.c_long(numbers[column]), *map(ctypes.c_long, arguments))
        return ctypes.get_errno()

    def call_all():
        return [
            call(KILL, parent, 0),
            call(TGKILL, parent, parent, 0),
            call(PRLIMIT, parent, 0, 0, 0),
            call(PRCTL, 1, 0, 0, 0, 0),
            call(PRCTL, 4, 0, 0, 0, 0),
            call(CLONE3, -1, 0),
            call((1000, 1000)),
            call(KILL, os.getpid(), 0),
            call(PRLIMIT, 0, 0, 0, 0),
        ]

    original = seccomp.apply
    monkeypatch.setattr(seccomp, "apply", functools.partial(original, MARK))
    ending = children.run(call_all, Confinement(kernel.offered(), LIMITS), children.Stop())
    assert ending.answer == [MARK] * 5 + [errno.ENOSYS] * 2 + [0, 0]


@needs_seccomp
def test_the_filter_belongs_to_the_layer():
    confinement = Confinement(frozenset({isolation.SECCOMP}), LIMITS)

    def trace():
        libc = ctypes.CDLL(None, use_errno=True)
        return libc.ptrace(0, 0, None, None)

    assert children.run(trace, confinement, children.Stop()).answer == -1
    bare = Confinement(frozenset(), LIMITS)
    assert children.run(trace, bare, children.Stop()).answer == 0
