"""The system calls that a child may not make.

A refused call answers EPERM, so the library that made it sees an ordinary error. Calls newer than
this list answer ENOSYS, as on an older kernel: what nobody has judged is not allowed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from runners.engine.confine import kernel

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_LAST_KNOWN = 450
_CLONE_THREAD = 0x00010000

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
# Where struct seccomp_data keeps what a filter may look at (low halves, little endian).
_NUMBER, _ARCH, _ARGUMENT_0 = 0, 4, 16

# name: (x86-64, AArch64); None where the family never had the call.
_DENIED: dict[str, tuple[int, int | None]] = {
    # talking to anybody
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "sendmmsg": (307, 269),
    "recvmmsg": (299, 243),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    # becoming, or reaching into, another process
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # changing what surrounds it
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "vhangup": (153, 58),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    # what landlock does not watch: owners, modes, times, attributes, handles
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "utimensat": (280, 88),
    "futimesat": (261, None),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    # takes a disk's space at once and uncounted: see `scratch`
    "fallocate": (285, 47),
    # wide and seldom needed doors into the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "lookup_dcookie": (212, 18),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    # becoming somebody else
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "setgroups": (116, 159),
    "capset": (126, 91),
    "setrlimit": (160, 164),
}
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_SIGNAL_SELF = ((62, 129), (234, 131))  # kill, tgkill: abort() needs the second
_PRLIMIT = (302, 261)
_PRCTL = (157, 167)
# What CUDA does before it begins (traced on an H100, driver 580): it listens on a socket that only
# a neighbour in the same network namespace could reach, and is told that the GPU failed otherwise.
_LISTENING = frozenset({"socket", "bind", "listen"})
_AF_UNIX = 1
# Outliving the server, and hiding open files from it.
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refuse(code: int) -> bytes:
    return _line(_RETURN, _ERRNO | code)


def program(
    family: str, process: int, refusal: int = errno.EPERM, *, has_devices: bool = False
) -> bytes:
    """Compile the filter for one processor family and the process that will wear it.

    ``refusal`` is the error of a refused call; a test tells it from the kernel's own by another.
    With devices a process may listen on a socket of the machine, and still connect to none.
    """
    column = _COLUMN[family]
    lines = [
        _line(_LOAD, _ARCH),
        _line(_EQUAL, _AUDIT_ARCH[family], 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
    ]
    # Those of x32, which have a bit of their own, are beyond it too.
    lines += [_line(_GREATER, _LAST_KNOWN, 0, 1), _refuse(errno.ENOSYS)]
    # glibc makes threads with clone3 and falls back to clone only when told ENOSYS.
    lines += [_line(_EQUAL, _CLONE3[column], 0, 1), _refuse(errno.ENOSYS)]
    lines += [
        _line(_EQUAL, _CLONE[column], 0, 4),
        _line(_LOAD, _ARGUMENT_0),
        _line(_ANY_BIT, _CLONE_THREAD, 1, 0),
        _refuse(refusal),
        _line(_RETURN, _ALLOW),
    ]
    for numbers in _SIGNAL_SELF:
        lines += _only_on(numbers[column], (process,), refusal)
    lines += _only_on(_PRLIMIT[column], (0, process), refusal)
    lines += _not_with(_PRCTL[column], (_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE), refusal)
    if has_devices:
        lines += _only_on(_DENIED["socket"][column] or 0, (_AF_UNIX,), refusal)
    for name, numbers_of in _DENIED.items():
        number = numbers_of[column]
        if number is not None and not (has_devices and name in _LISTENING):
            lines += [_line(_EQUAL, number, 0, 1), _refuse(refusal)]
    lines.append(_line(_RETURN, _ALLOW))
    return b"".join(lines)


def _only_on(number: int, targets: tuple[int, ...], refusal: int) -> list[bytes]:
    """Let a call through only when its first argument is one of these process ids."""
    tests = [_line(_EQUAL, target, len(targets) - place, 0) for place, target in enumerate(targets)]
    return [
        _line(_EQUAL, number, 0, len(targets) + 3),
        _line(_LOAD, _ARGUMENT_0),
        *tests,
        _refuse(refusal),
        _line(_RETURN, _ALLOW),
    ]


def _not_with(number: int, values: tuple[int, ...], refusal: int) -> list[bytes]:
    """Let a call through unless its first argument is one of these."""
    tests = [_line(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [
        _line(_EQUAL, number, 0, len(values) + 3),
        _line(_LOAD, _ARGUMENT_0),
        *tests,
        _line(_RETURN, _ALLOW),
        _refuse(refusal),
    ]


def apply(refusal: int = errno.EPERM, *, has_devices: bool = False) -> None:
    """Install the filter on this process permanently; needs `no_new_privileges`. Raises OSError."""
    code = program(kernel.machine(), os.getpid(), refusal, has_devices=has_devices)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(
        struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(instructions))
    )
    kernel.prctl(kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, ctypes.addressof(header))
