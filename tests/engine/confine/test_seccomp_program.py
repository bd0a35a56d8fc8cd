"""What the filter answers to each system call, read from its instructions on any machine."""

from __future__ import annotations

import errno

import pytest

from runners.engine.confine import seccomp

ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FAMILIES = list(ARCH)
OWN = 4242
ALLOWED, REFUSED, UNKNOWN, KILLED = "allowed", "refused", "unknown", "killed"
ANSWERS = {
    0x7FFF0000: ALLOWED,
    0x00050000 | errno.EPERM: REFUSED,
    0x00050000 | errno.ENOSYS: UNKNOWN,
    0x80000000: KILLED,
}
# The calls that a child must never make, with their numbers on x86-64 and AArch64, written down a
# second time: whoever takes one out of the product's table takes it out of this one too.
REFUSED_CALLS = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "accept": (43, 202),
    "accept4": (288, 242), "bind": (49, 200), "listen": (50, 201), "sendto": (44, 206),
    "recvfrom": (45, 207), "sendmsg": (46, 211), "recvmsg": (47, 212), "sendmmsg": (307, 269),
    "recvmmsg": (299, 243), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "shmdt": (67, 197), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191),
    "semtimedop": (220, 192), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183), "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185), "fork": (57, None), "vfork": (58, None), "execve": (59, 221),
    "execveat": (322, 281), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "kcmp": (312, 272), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "sched_setaffinity": (203, 122), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429),
    "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "acct": (163, 89), "vhangup": (153, 58), "syslog": (103, 116), "iopl": (172, None),
    "ioperm": (173, None), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "utimensat": (280, 88), "futimesat": (261, None), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "mknod": (133, None),
    "mknodat": (259, 33), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "inotify_init": (253, None),
    "inotify_init1": (294, 26), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_setup": (206, 0), "io_submit": (209, 2),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "personality": (135, 92), "modify_ldt": (154, None), "uselib": (134, None),
    "lookup_dcookie": (212, 18), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "set_mempolicy_home_node": (450, 450),
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "setgroups": (116, 159), "capset": (126, 91), "setrlimit": (160, 164),
    "fallocate": (285, 47),
}  # fmt: skip
# Of two processes: its own number decides.
SIGNALS = {"kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261)}
# By its first argument: PR_SET_PDEATHSIG outlives the server, PR_SET_DUMPABLE hides descriptors.
PRCTL, REFUSED_OPTIONS = (157, 167), {1, 4}
CLONE, CLONE3, CLONE_THREAD = (56, 220), (435, 435), 0x00010000
READ, WRITE, EXIT_GROUP = (0, 63), (1, 64), (231, 94)


def answer(family, number, argument=0, arch=None, *, has_devices=False):
    """What the filter answers, by running its instructions as the kernel does."""
    code = seccomp.program(family, OWN, has_devices=has_devices)
    seen = {0: number, 4: ARCH[family] if arch is None else arch, 16: argument}
    at = value = 0
    while True:
        kind = int.from_bytes(code[at : at + 2], "little")
        if_true, if_false = code[at + 2], code[at + 3]
        operand = int.from_bytes(code[at + 4 : at + 8], "little")
        at += 8
        if kind == 0x06:
            return ANSWERS[operand]
        if kind == 0x20:
            value = seen[operand]
            continue
        holds = {0x15: value == operand, 0x25: value > operand, 0x45: value & operand != 0}[kind]
        at += 8 * (if_true if holds else if_false)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_call_on_the_list_is_refused_and_no_other(family):
    column = FAMILIES.index(family)
    refused = {name for name, numbers in REFUSED_CALLS.items() if numbers[column] is not None}
    for name in refused:
        assert answer(family, REFUSED_CALLS[name][column]) == REFUSED, name
    special = {numbers[column] for numbers in (*SIGNALS.values(), CLONE, CLONE3)}
    calls = {number for number in range(451) if answer(family, number) == REFUSED} - special
    assert calls == {REFUSED_CALLS[name][column] for name in refused}
    for numbers in (READ, WRITE, EXIT_GROUP):
        assert answer(family, numbers[column]) == ALLOWED


@pytest.mark.parametrize("family", FAMILIES)
def test_with_devices_only_listening_on_the_machine_is_added(family):
    column = FAMILIES.index(family)
    numbers = {name: REFUSED_CALLS[name][column] for name in ("socket", "bind", "listen")}
    answers = {
        number: (answer(family, number), answer(family, number, has_devices=True))
        for number in range(451)
    }
    changed = {number for number, (before, after) in answers.items() if before != after}
    assert changed == {numbers["bind"], numbers["listen"]}
    for domain in range(46):
        expected = ALLOWED if domain == 1 else REFUSED  # AF_UNIX
        assert answer(family, numbers["socket"], domain, has_devices=True) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_that_nobody_judged_do_not_exist(family):
    assert {answer(family, number) for number in (451, 452, 500, 1000, 0x3FFFFFFF)} == {UNKNOWN}
    assert answer(family, 0x40000000) == UNKNOWN
    others = [arch for name, arch in ARCH.items() if name != family]
    assert [answer(family, 0, arch=arch) for arch in (0x40000003, *others)] == [KILLED, KILLED]


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_may_be_made_and_processes_may_not(family):
    column = FAMILIES.index(family)
    assert answer(family, CLONE[column], CLONE_THREAD | 0x100) == ALLOWED
    assert answer(family, CLONE[column], 0x11) == REFUSED
    assert answer(family, CLONE3[column]) == UNKNOWN


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", SIGNALS)
def test_only_itself_is_signalled_or_limited(family, name):
    number = SIGNALS[name][FAMILIES.index(family)]
    assert answer(family, number, OWN) == ALLOWED
    expected = ALLOWED if name == "prlimit64" else REFUSED  # 0 is the caller for prlimit
    assert answer(family, number, 0) == expected
    for other in (1, OWN + 1, 2**32 - 1):
        assert answer(family, number, other) == REFUSED


@pytest.mark.parametrize("family", FAMILIES)
def test_no_child_hides_its_files_or_outlives_its_server(family):
    number = PRCTL[FAMILIES.index(family)]
    refused = {option for option in range(80) if answer(family, number, option) == REFUSED}
    assert refused == REFUSED_OPTIONS
