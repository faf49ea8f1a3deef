"""The system calls that code in the sandbox may not make, as a program for the kernel's filter (seccomp)."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class _Machine(NamedTuple):
    """The differences between processors: the architecture mark, and the numbers of the system calls."""

    mark: int
    clone: int
    socket: int
    denied: tuple[int, ...]


# From 424 on all processors number alike: pidfd_getfd and process_madvise reach into other processes, io_uring
# bypasses every filter, open_tree to fspick, mount_setattr and quotactl_fd are about mounts, and the pages of
# memfd_secret are not counted.
_COMMON: Final = (438, 440, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 443, 447)
_CLONE3: Final = 435
_LAST_KNOWN: Final = 462

_MACHINES: Final[Mapping[str, _Machine]] = MappingProxyType(
    {
        "x86_64": _Machine(
            mark=0xC000003E,
            clone=56,
            socket=41,
            denied=(
                # namespaces and mounts: unshare, setns, mount, umount2, pivot_root, chroot
                272, 308, 165, 166, 155, 161,
                # other processes: ptrace, process_vm_readv, process_vm_writev, kcmp, move_pages, migrate_pages
                101, 310, 311, 312, 279, 256,
                # keys, which no namespace keeps apart: add_key, request_key, keyctl
                248, 249, 250,
                # large and rarely needed parts of the kernel: bpf, perf_event_open, userfaultfd, fanotify_init,
                # open_by_handle_at, name_to_handle_at, lookup_dcookie, modify_ldt, uselib, sysfs, nfsservctl
                321, 298, 323, 300, 304, 303, 212, 154, 134, 139, 180,
                # memory that belongs to no process and no folder: memfd_create, shmget, shmat, shmctl, msgget,
                # semget, mq_open
                319, 29, 30, 31, 68, 64, 240,
                # the machine: modules, kexec, reboot, swap, quota, acct, syslog, clocks, ports, vhangup
                175, 313, 176, 246, 320, 169, 167, 168, 179, 163, 103, 164, 227, 159, 305, 172, 173, 153,
            ),
        ),
        "aarch64": _Machine(
            mark=0xC00000B7,
            clone=220,
            socket=198,
            denied=(
                97, 268, 40, 39, 41, 51,
                117, 270, 271, 272, 239, 238,
                217, 218, 219,
                280, 241, 282, 262, 265, 264, 18, 42,
                279, 194, 196, 195, 186, 190, 180,
                105, 273, 106, 104, 294, 142, 224, 225, 60, 89, 116, 170, 112, 171, 266, 58,
            ),
        ),
    }
)  # fmt: skip

# New namespaces of every kind, as flags of `clone`.
_NEW_NAMESPACES: Final = 0x7E020000
# Sockets within the sandbox: unix, inet, inet6, and of netlink what lists the network's interfaces. Others (vsock,
# packet, alg, …) may reach past a network namespace.
_FAMILIES: Final = (1, 2, 10)
_NETLINK, _ROUTES = 16, 0

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _MARK, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32  # offsets in `struct seccomp_data`
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000


def filter_program(machine: str) -> bytes | None:
    """Return the filter for a kind of processor; None if its system calls are not known.

    Example:
        >>> len(filter_program("x86_64")) % 8, filter_program("abacus")
        (0, None)
    """
    known = _MACHINES.get(machine)
    return b"".join(_steps(known)) if known is not None else None


def _steps(machine: _Machine) -> Iterator[bytes]:
    yield _step(_LOAD, _MARK)
    yield _step(_EQUAL, machine.mark, skip_if=1)
    yield _step(_RETURN, _KILL)  # calls of another architecture have other numbers
    yield _step(_LOAD, _NUMBER)
    yield from _when(_GREATER, _LAST_KNOWN, errno.ENOSYS)
    yield from _when(_EQUAL, _CLONE3, errno.ENOSYS)  # its flags cannot be seen; callers fall back to `clone`
    for number in (*machine.denied, *_COMMON):
        yield from _when(_EQUAL, number, errno.EPERM)
    yield _step(_EQUAL, machine.clone, skip_unless=4)
    yield _step(_LOAD, _FIRST_ARGUMENT)
    yield from _when(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM)
    yield _step(_RETURN, _ALLOW)
    yield _step(_EQUAL, machine.socket, skip_unless=len(_FAMILIES) + 5)
    yield _step(_LOAD, _FIRST_ARGUMENT)
    for place, family in enumerate(_FAMILIES):
        yield _step(_EQUAL, family, skip_if=len(_FAMILIES) - place + 3)
    yield _step(_EQUAL, _NETLINK, skip_unless=2)
    yield _step(_LOAD, _THIRD_ARGUMENT)
    yield _step(_EQUAL, _ROUTES, skip_if=1)
    yield _step(_RETURN, _FAIL | errno.EAFNOSUPPORT)
    yield _step(_RETURN, _ALLOW)


def _when(test: int, value: int, error: int) -> Iterator[bytes]:
    yield _step(test, value, skip_unless=1)
    yield _step(_RETURN, _FAIL | error)


def _step(code: int, value: int, *, skip_if: int = 0, skip_unless: int = 0) -> bytes:
    return struct.pack("HBBI", code, skip_if, skip_unless, value)
