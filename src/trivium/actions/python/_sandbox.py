"""The sandbox: a Python program under bubblewrap, with which trivium communicates over two pipes."""

from __future__ import annotations

import json
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import randbelow
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, cast

from trivium.actions.python._seccomp import filter_program
from trivium.exceptions import ConfigurationError, SandboxUnavailableError

TICK: Final = 0.1
"""The interval, in seconds, at which a wait for the sandbox can be cancelled."""
START_SECONDS: Final = 60.0
MOST_ANSWER: Final = 128 << 20
_SYSTEM: Final = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
# What programs look for in /etc; the rest (users, passwords, keys, hosts) is not mounted.
_ETC: Final = ("alternatives", "fonts", "ld.so.cache", "localtime", "mime.types", "ssl/certs", "ssl/openssl.cnf")
# User ids that no account has (systemd keeps them for services without an account of their own).
_FIRST_USER, _USERS = 61184, 4336
_LEAST: Final = MappingProxyType(
    {"memory": 192 << 20, "processes": 16, "cpu_seconds": 3, "file_bytes": 4096, "file_count": 100, "output": 1}
)
_INSTALL: Final = "install it (Debian and Ubuntu, as root: apt-get install bubblewrap)"


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of the code in one sandbox.

    Args:
        memory: bytes, of all its processes together.
        processes: processes and threads at a time.
        cpu_seconds: processor time of one process.
        file_bytes: bytes in the working folder, and as many in the folder for temporary files.
        file_count: files and folders.
        output: characters of text in the result of one execution; the middle of longer text is left out.

    Raises:
        ConfigurationError: a kernel could not start within a limit.
    """

    memory: int = 1 << 30
    processes: int = 64
    cpu_seconds: int = 3600
    file_bytes: int = 256 << 20
    file_count: int = 20_000
    output: int = 8192

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int) or value < _LEAST[name]:
                raise ConfigurationError(f"`{name}` is {value!r}; a kernel needs at least {_LEAST[name]:,}")

    def resource_limits(self) -> dict[str, int]:
        """The limits of the kernel's processes, by their names in the module `resource`."""
        # Address space is reserved far beyond what is used; the supervisor also watches the real memory.
        return {
            "RLIMIT_DATA": self.memory,
            "RLIMIT_AS": self.memory + (3 << 30),
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": 512,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_SIGPENDING": 1024,
        }


class Sandbox:
    """A running sandbox: nothing inside reaches the network, other processes, or files that were not mounted.

    It is isolated by bubblewrap's namespaces, a file system of read-only system folders and small folders in memory,
    no capabilities, a filter of system calls, and limits that hold for root too. When the object is closed or garbage
    collected, or when this process ends in any way, all processes inside end.

    Args:
        limits: the resource limits of the code.
        data: a folder whose files the code may read, in its working folder.

    Raises:
        SandboxUnavailableError: this machine cannot isolate code. Code never runs without a sandbox.
    """

    def __init__(self, limits: SandboxLimits | None = None, data: Path | None = None) -> None:
        limits = limits or SandboxLimits()
        bubblewrap, filter_ = find_bubblewrap(), _filter()
        user = _FIRST_USER + randbelow(_USERS) if os.geteuid() == 0 else None
        settings = {
            "user": user,
            "limits": limits.resource_limits(),
            "memory": limits.memory,
            "own_memory": limits.memory + (1 << 30),
            "file_count": limits.file_count,
            "output": limits.output,
        }
        self._errors = os.memfd_create("errors")
        info, info_inside = os.pipe()
        rules = memory_file(filter_)
        command = [
            bubblewrap,
            *isolation_options(user is not None),
            *file_system_options(limits, data),
            *("--seccomp", str(rules), "--info-fd", str(info_inside), "--"),
            *(sys.executable, "-I", "/sandbox/supervisor.py", json.dumps(settings)),
        ]
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and no part of it comes from a model
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                pass_fds=(info_inside, rules),
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            os.close(info)
            os.close(self._errors)
            raise SandboxUnavailableError(f"{bubblewrap} does not start: {error}", "bubblewrap") from error
        finally:
            os.close(info_inside)
            os.close(rules)
        first = first_process(info)
        self.process_fd, self._guard, self._is_killed = first, Lock(), False
        self._close = weakref.finalize(self, _end, process, first, self._errors, os.getpid())
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._received = bytearray()

    def wait_until_ready(self) -> Generator[None]:
        """Yield a few times a second until code can run, or until the sandbox is killed.

        Raises:
            SandboxUnavailableError: it does not start; the message has the error output of bubblewrap.
        """
        answer = yield from self._answer(b"", START_SECONDS)
        if (answer is None or answer.get("state") != "ready") and not self._is_killed:
            errors = self.read_errors()
            self.close()
            raise SandboxUnavailableError(start_failure(errors), "bubblewrap")

    def request(self, request: Mapping[str, object], seconds: float) -> Generator[None, None, dict[str, Any] | None]:
        """Send a request; yield a few times a second until the answer has arrived, and return it.

        Returns:
            The answer, or None if the sandbox ended without one or did not answer in time.
        """
        return (yield from self._answer(json.dumps(request).encode() + b"\n", seconds))

    def read_errors(self) -> str:
        """Read the beginning of its error output."""
        return os.pread(self._errors, 2000, 0).decode(errors="replace").strip() if self._close.alive else ""

    def kill(self) -> None:
        """Kill all processes inside, from any thread; a wait for an answer ends."""
        with self._guard:
            self._is_killed = True
            if self._close.alive:
                _kill(self.process_fd)

    def close(self) -> None:
        """Kill all processes inside and release all resources. Not while another thread waits for an answer."""
        with self._guard:
            self._close()

    def _answer(self, request: bytes, seconds: float) -> Generator[None, None, dict[str, Any] | None]:
        until, left = time.monotonic() + seconds, memoryview(request)
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        if left:
            poll.register(self._input, select.POLLOUT)
        while time.monotonic() < until and self._close.alive:
            for file, _ in poll.poll(TICK * 1000):
                if file == self._output and not self._receive():
                    return None
                if file == self._input:
                    left = self._send(left)
                    if not left:
                        poll.unregister(self._input)
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                return _read(bytes(line))
            yield
        return None

    def _receive(self) -> bool:
        block = os.read(self._output, 1 << 20)
        self._received += block
        return bool(block) and len(self._received) <= MOST_ANSWER

    def _send(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._input, left) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:  # it ended, which the next read reports
            return left[:0]


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else None


def find_bubblewrap() -> str:
    """Return the path of bubblewrap.

    Raises:
        SandboxUnavailableError: this is not Linux, or bubblewrap is not installed.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(
            "the sandbox needs Linux; run this in a Linux container or virtual machine that allows user namespaces"
        )
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailableError(
            f"the sandbox needs bubblewrap, and there is no `bwrap` here: {_INSTALL}. Code that a model wrote never "
            "runs without a sandbox",
            "bubblewrap",
        )
    return found


def _filter() -> bytes:
    found = filter_program(platform.machine())
    if found is None:
        raise SandboxUnavailableError(
            f"the sandbox does not know the system calls of a {platform.machine()} processor; it works on x86_64 and "
            "aarch64"
        )
    return found


def start_failure(errors: str) -> str:
    """The message for a sandbox that does not start, with the error output of bubblewrap."""
    return (
        f"the sandbox does not start: {errors or 'no reason given'}. It needs a bubblewrap of version 0.8 or later "
        f"({_INSTALL}), the permission to create namespaces (in a container: run it with --privileged, or with user "
        "namespaces allowed), and a Python environment that every user may read"
    )


def isolation_options(is_root: bool) -> list[str]:
    """The options for new namespaces without capabilities; root becomes another user once the sandbox has started."""
    names = ("ipc", "pid", "net", "uts", "cgroup-try")
    common = [f"--unshare-{name}" for name in names]
    common += ["--hostname", "sandbox", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]
    if is_root:
        return [*common, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    return [*common, "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"]


def file_system_options(limits: SandboxLimits, data: Path | None) -> Iterator[str]:
    """The options for the file system: read-only folders, and four writable folders in memory."""
    yield from ("--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/etc/ssl")
    yield from ("--perms", "0755", "--dir", "/sandbox")  # a path that no installation of Python uses
    for name in _SYSTEM:
        if os.path.islink(f"/{name}"):
            yield from ("--symlink", os.readlink(f"/{name}"), f"/{name}")
        else:
            yield from ("--ro-bind-try", f"/{name}", f"/{name}")
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")
    large, small = limits.file_bytes, 16 << 20
    folders = (("/dev/shm", small), ("/run", small), ("/tmp", large), ("/sandbox/work", large))  # noqa: S108 - inside
    for folder, size in folders:
        yield from ("--perms", "1777", "--size", str(size), "--tmpfs", folder)
    prefixes = {sys.prefix, sys.base_prefix}
    for folder in sorted(prefixes | set(map(os.path.realpath, prefixes))):
        if not Path(folder).is_relative_to("/usr"):
            for above in list(reversed(Path(folder).parents))[
                1:
            ]:  # bubblewrap would create them readable by one user only
                yield from ("--perms", "0755", "--dir", str(above))
            yield from ("--ro-bind", folder, folder)
    if data is not None:
        yield from ("--ro-bind", str(data.resolve()), "/sandbox/data")
    yield from ("--ro-bind", str(Path(__file__).with_name("_supervisor.py")), "/sandbox/supervisor.py")
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/sandbox/work")


def _environment() -> dict[str, str]:
    """The complete environment inside. Numerical libraries would start a thread for each core of the machine."""
    threads = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
    places = {"HOME": "/sandbox/work", "IPYTHONDIR": "/tmp/.ipython", "MPLCONFIGDIR": "/tmp/.matplotlib"}  # noqa: S108 - inside
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "MALLOC_ARENA_MAX": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
        **places,
        **{f"{name}_NUM_THREADS": "4" for name in threads},
    }


def memory_file(content: bytes) -> int:
    """Return the descriptor of a file in memory with this content."""
    file = os.memfd_create("rules")
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def first_process(info: int) -> int | None:
    """A descriptor of process 1 of the sandbox; None if bubblewrap ended before it reported that process."""
    with open(info, "rb") as file:
        found = _read(file.read())
    with suppress(OSError):  # it has ended already
        return os.pidfd_open(found["child-pid"]) if found is not None else None
    return None


def _kill(first: int | None) -> None:
    if first is not None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(first, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], first: int | None, errors: int, owner: int) -> None:
    """Kill process 1, and so all other processes, even those that ignore signals."""
    if os.getpid() != owner:  # a forked child must not end its parent's sandbox
        return
    _kill(first)
    if first is not None:
        os.close(first)
    else:
        process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
    os.close(errors)
