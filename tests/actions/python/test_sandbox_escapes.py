"""Attempts to get out of the sandbox: each ends inside, and the session works on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import pytest

from trivium.actions.python._kernel import Kernels

from ._sandboxes import execute, sandboxes

SECRET = "the-secret-of-the-host-4711"
MAY_GAIN = "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()
ABSTRACT = f"trivium-test-{os.getpid()}"

# Each attempt prints what it got hold of; `got(x)` if there is something, an exception if not.
PRELUDE = """
import ctypes, errno, fcntl, glob, os, resource, shutil, signal, socket, stat, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def got(what):
    if what or (what == 0 and what is not False):
        print("ESCAPED", what)
def call(number, *arguments):
    ctypes.set_errno(0)
    value = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if value < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"call {number} was let through: {value}"
kept = []
def pointer(content):
    kept.append(ctypes.create_string_buffer(content))
    return ctypes.addressof(kept[-1])
def read_all(pattern):
    for path in glob.glob(pattern):
        try:
            yield open(path, "rb").read()
        except OSError:
            pass
"""
NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {"unshare": 272, "clone": 56, "keyctl": 250, "uring": 425, "bpf": 321, "memfd": 319, "readv": 310,
               "perf": 298, "setns": 308, "fsopen": 430, "shmget": 29, "new": 470, "clone3": 435, "handle": 304},
    "aarch64": {"unshare": 97, "clone": 220, "keyctl": 219, "uring": 425, "bpf": 280, "memfd": 279, "readv": 270,
                "perf": 241, "setns": 268, "fsopen": 430, "shmget": 194, "new": 470, "clone3": 435, "handle": 265},
}  # fmt: skip


class Attempt(NamedTuple):
    """Code that tries something, and whether it may be tried on the host, where it must succeed."""

    code: str
    on_host: bool = False


ATTEMPTS: dict[str, Attempt] = {
    # files
    "read the passwords": Attempt("got(open('/etc/shadow').read())", os.geteuid() == 0),
    "read the users": Attempt("got(open('/etc/passwd').read())", True),
    "read a file of the host": Attempt("got(open({secret_file!r}).read())", True),
    "read the project": Attempt("got(open({project!r}).read())", True),
    "list the home folder": Attempt("got([n for n in os.listdir({home!r}) if n.startswith('.bash') or n == 'home'])"),
    "go up by dots": Attempt("got(open('/sandbox/work/../../../../..' + {secret_file!r}).read())"),
    "follow a symbolic link": Attempt("os.symlink({secret_file!r}, 'link'); got(open('link').read())"),
    "go through the root of process 1": Attempt("got(open('/proc/1/root' + {secret_file!r}).read())"),
    "go through the root of any process": Attempt("got(list(read_all('/proc/*/root' + {secret_file!r})))"),
    "write to the system": Attempt("got(open('/usr/local/x', 'w'))", os.geteuid() == 0),
    "write to the root": Attempt("got(open('/x', 'w'))"),
    "write to the settings": Attempt("got(open('/etc/x', 'w'))"),
    "write among the devices": Attempt("got(open('/dev/x', 'w'))"),
    "change Python for the next": Attempt("got(open(os.path.join(sys.prefix, 'pyvenv.cfg'), 'a'))"),
    "change the supervisor": Attempt("got(open('/sandbox/supervisor.py', 'a'))"),
    "remount a folder": Attempt("got(libc.mount(b'none', b'/usr', None, 32 | 4096, None) == 0)"),
    "make a disk": Attempt("os.mknod('disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0)); got('made')"),
    "open a disk": Attempt("got([open(p, 'rb') for p in ('/dev/vda', '/dev/sda', '/dev/nvme0n1', '/dev/mem')])"),
    # secrets
    "read its environment": Attempt("got([v for v in os.environ.values() if {secret!r} in v])", True),
    "read others' environment": Attempt("got([t for t in read_all('/proc/*/environ') if b'4711' in t])", True),
    "read others' command lines": Attempt("got([t for t in read_all('/proc/[0-9]*/cmdline') if b'pytest' in t])", True),
    "read an inherited file": Attempt(
        "own = ('/dev', '/run', '/pro', '/san')\n"
        "got([p for p in map(os.readlink, glob.glob('/proc/[0-9]*/fd/*')) if p[0] == '/' and p[:4] not in own])"
    ),
    "read the descriptors of process 1": Attempt("got(os.listdir('/proc/1/fd'))", os.geteuid() == 0),
    "read the memory of process 1": Attempt("got(open('/proc/1/mem', 'rb'))"),
    "read the keys": Attempt("got(call({keyctl}, 0, -3, 0, 0, 0))", True),
    "add a key": Attempt("got(call({keyctl} - 2, 0, 0, 0, 0, 0))"),
    "read the log of the machine": Attempt("got(libc.klogctl(10, None, 0) >= 0)"),
    # the network
    "reach a server over TCP": Attempt("got(socket.create_connection(('127.0.0.1', {tcp}), 1))", True),
    "reach the world over TCP": Attempt("got(socket.create_connection(('192.0.2.1', 80), 1))"),
    "reach the world over UDP": Attempt("got(socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))"),
    "look up a name": Attempt("got(socket.getaddrinfo('example.com', 80))"),
    "reach an abstract socket": Attempt("socket.socket(1).connect('\\0' + {abstract!r}); got('there')", True),
    "reach a socket in a folder": Attempt("socket.socket(socket.AF_UNIX).connect({unix!r}); got('there')", True),
    "reach the hypervisor": Attempt("got(socket.socket(40, socket.SOCK_STREAM))"),
    "send raw packets": Attempt("got(socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))", os.geteuid() == 0),
    "listen to packets": Attempt("got(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))", os.geteuid() == 0),
    "listen to the machine's events": Attempt("got(socket.socket(16, socket.SOCK_RAW, 15))", True),
    "see a network card": Attempt("got([n for _, n in socket.if_nameindex() if n != 'lo'])"),
    # other processes
    "end a process of the host": Attempt("os.kill({victim}, 9); got('sent')"),
    "end a process that it cannot see": Attempt("[os.kill(p, 9) for p in range(20000, 20500)]"),
    "trace process 1": Attempt("got(libc.ptrace(16, 1, 0, 0) == 0)"),
    "read another's memory": Attempt("got(call({readv}, 1, 0, 0, 0, 0, 0))", os.geteuid() == 0),
    "type into the terminal": Attempt("got(fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x'))"),
    # rights
    "become root": Attempt("os.setuid(0); got('root')", os.geteuid() == 0),
    "have rights": Attempt(
        "got([l for l in open('/proc/self/status') if l[:6] in ('CapEff', 'CapPrm') and int(l[7:], 16)])"
    ),
    "keep rights for a program to gain": Attempt(
        f"got({os.geteuid() == 0} and [l for l in open('/proc/self/status') if l[:6] == 'CapBnd' and int(l[7:], 16)])"
    ),
    "gain rights from a program": Attempt("got('NoNewPrivs:\\t0' in open('/proc/self/status').read())", MAY_GAIN),
    "run a program that makes root": Attempt(
        "got(b'root' in subprocess.run(['su', '-c', 'id'], capture_output=True, stdin=-3).stdout)",
        os.geteuid() == 0,
    ),
    "mount a folder": Attempt("got(libc.mount(b'tmpfs', b'/sandbox/work', b'tmpfs', 0, None) == 0)"),
    "change the root": Attempt("os.chroot('/tmp'); got('changed')"),
    "make a user namespace": Attempt("got(call({unshare}, 0x10000000))"),
    "make a namespace with a process": Attempt("got(call({clone}, 0x10000011, 0, 0, 0, 0))"),
    "make a namespace the new way": Attempt("got(call({clone3}, 0, 0))"),
    "enter a namespace": Attempt("got(call({setns}, os.open('/proc/1/ns/net', os.O_RDONLY), 0))"),
    "mount the new way": Attempt("got(call({fsopen}, pointer(b'tmpfs'), 0))"),
    "open a file by its number": Attempt("got(call({handle}, -100, 0, 0))"),
    "use io_uring": Attempt("got(call({uring}, 8, pointer(bytes(200))))"),
    "load a program into the kernel": Attempt("got(call({bpf}, 0, pointer(bytes(200)), 72))"),
    "watch the processor": Attempt("got(call({perf}, pointer(bytes(200)), 0, -1, -1, 0))"),
    "keep memory outside the count": Attempt("got(call({memfd}, pointer(b'x'), 0))", True),
    "keep memory in no process": Attempt("got(call({shmget}, 0, 4096, 0o1600))"),
    "make a call that nobody knows": Attempt("got(call({new}, 0, 0, 0))"),
    "set the clock": Attempt("time.clock_settime(time.CLOCK_REALTIME, time.time()); got('set')"),
    "name the machine": Attempt("socket.sethostname('mine'); got('named')"),
    "set the kernel's options": Attempt("got(open('/proc/sys/kernel/core_pattern', 'w'))", os.geteuid() == 0),
    "press the magic key": Attempt("got(open('/proc/sysrq-trigger', 'w'))"),
    "read the machine": Attempt("got(os.listdir('/sys'))", True),
    "raise a limit": Attempt("resource.setrlimit(resource.RLIMIT_NPROC, (100000, 100000)); got('raised')"),
    "have no limit": Attempt(
        "limits = [resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE]\n"
        "got([n for n in limits if resource.getrlimit(n)[1] < 0])"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Things of the host that code may want: a file, servers, sockets, a process."""
    folder = tmp_path_factory.mktemp("host")
    folder.chmod(0o755)
    secret_file = folder / "secret.txt"
    secret_file.write_text(SECRET)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TRIVIUM_TEST_SECRET", SECRET)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (str(folder / "socket"), f"\0{ABSTRACT}"):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        inherited = stack.enter_context(secret_file.open())
        os.set_inheritable(inherited.fileno(), True)
        victim = stack.enter_context(subprocess.Popen(["sleep", "600"]))
        stack.callback(victim.kill)
        yield {
            "secret": SECRET,
            "secret_file": str(secret_file),
            "project": str(Path(__file__).parents[3] / "pyproject.toml"),
            "home": str(Path.home()),
            "tcp": tcp.getsockname()[1],
            "unix": str(folder / "socket"),
            "abstract": ABSTRACT,
            "victim": victim.pid,
            "process": victim,
            **NUMBERS[os.uname().machine],
        }


@pytest.fixture(scope="module")
def kernels(host: dict[str, Any]) -> Iterator[Kernels]:
    """One kernel for all attempts; after them nothing is left of it."""
    kernels = Kernels()
    yield kernels
    kernels.close()
    assert sandboxes() == []


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_to_get_out_ends_inside(name: str, kernels: Kernels, host: dict[str, Any]):
    code = ATTEMPTS[name].code.format(**host)
    attempt = f"{PRELUDE}try:\n{indent(code, '    ')}\nexcept Exception as e: print(repr(e))\nprint('over')"
    execution = execute(kernels, attempt)
    assert execution.error is None
    assert "ESCAPED" not in execution.text
    assert SECRET not in execution.text
    assert execution.text.endswith("over")
    assert host["process"].poll() is None
    assert execute(kernels, "6 * 7").text == "42"


def test_no_debugger_is_loaded(kernels: Kernels):
    assert execute(kernels, "import sys; [each for each in sys.modules if 'pydevd' in each]").text == "[]"


@pytest.mark.parametrize("name", [name for name, attempt in ATTEMPTS.items() if attempt.on_host])
def test_outside_the_sandbox_the_same_attempt_succeeds(name: str, host: dict[str, Any]):
    """Or the test above would prove nothing."""
    program = PRELUDE + ATTEMPTS[name].code.format(**host)
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    assert "ESCAPED" in outcome.stdout, outcome.stderr


def test_a_session_finds_nothing_of_another(kernels: Kernels):
    mark = "open('/sandbox/work/mark', 'w').write('mine'); open('/tmp/mark', 'w').write('mine')"
    execute(kernels, f"x = 1; {mark}; import glob; sorted(glob.glob('/run/*'))")
    seen = execute(
        kernels,
        "import os; print(os.listdir('/sandbox/work'), os.path.exists('/tmp/mark'), 'x' in globals())",
        session_id=1,
    )
    assert seen.text == "[] False False"
    key = "open('/run/connection.json').read()"
    assert execute(kernels, key).text != execute(kernels, key, session_id=1).text
    kernels.close(1)
