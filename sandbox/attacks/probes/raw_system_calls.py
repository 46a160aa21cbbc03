"""Raw system calls by name, made so that the errno shows how far they came."""

from __future__ import annotations

import ctypes
import os
import platform

from sandbox.attacks.probes.outcomes import REFUSED, Ending, blocked, escaped

FOREIGN = platform.machine() != "x86_64"  # nothing here knows the calls of a third machine
NUMBERS: dict[str, tuple[int | None, int | None]] = {  # x86_64, aarch64; None where there is no such call
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "cachestat": (451, 451),
    "capset": (126, 91),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fadvise64": (221, 223),
    "fanotify_init": (300, 262),
    "file_getattr": (468, 468),
    "file_setattr": (469, 469),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "inotify_init1": (294, 26),
    "io_setup": (206, 0),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "listmount": (458, 458),
    "lsm_list_modules": (461, 461),
    "madvise": (28, 233),
    "memfd_secret": (447, 447),
    "mincore": (27, 232),
    "mlock": (149, 228),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "preadv2": (327, 286),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "statmount": (457, 457),
    "swapon": (167, 224),
    "syncfs": (306, 267),
    "sysinfo": (99, 179),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}

Argument = int | bytes | None


def raw(name: str, *arguments: Argument) -> tuple[int, int]:
    """Make a call, and give what it returned and its errno; bytes are handed over as a buffer."""
    number = NUMBERS[name][FOREIGN]
    if number is None:
        return -1, 38  # ENOSYS
    return numbered(number, *arguments)


def numbered(number: int, *arguments: Argument) -> tuple[int, int]:
    """Make a call by its number, and give what it returned and its errno; bytes are handed over as a buffer."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    made = libc.syscall(ctypes.c_long(number), *map(_word, arguments))
    return made, ctypes.get_errno()


def call(name: str, *arguments: Argument) -> Ending:
    """Make a call; a refusal blocks it, and any other answer means that its permission check was passed."""
    made, error = raw(name, *arguments)
    if made == 0 and name == "clone":
        os._exit(0)  # the child that should not be
    if made < 0 and error in REFUSED:
        return blocked(os.strerror(error))
    return escaped(os.strerror(error) if made < 0 else f"it gave {made}")


def _word(argument: Argument) -> object:
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.create_string_buffer(argument) if isinstance(argument, bytes) else None
