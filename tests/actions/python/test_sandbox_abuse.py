"""Abuse of what the sandbox gives: memory, processes, time, files, output. Each is bounded, and the session goes on."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import pytest

from trivium.actions import SandboxLimits
from trivium.actions.python._kernel import Execution, Kernels

from ._sandboxes import descendants, execute, kernel_process, sandboxes, state

LIMITS = SandboxLimits(memory=400 << 20, processes=48, file_bytes=32 << 20, file_count=2000, output=1000)
PRELUDE = "import ctypes, gc, mmap, os, shutil, signal, socket, subprocess, sys, threading, time\n"


class Abuse(NamedTuple):
    """Code, what its error or its text says, and whether the variables are kept (None: it depends)."""

    code: str
    says: str
    kept: bool | None = True
    seconds: float = 10


SPIN = "while True: pass"
FORK = "while True:\n    try: os.fork()\n    except OSError: pass"
HOLD = "bytearray(b'x' * (100 << 20)), time.sleep(60)"
PROCESS_ENDED = "the Python process ended"

ABUSES: dict[str, Abuse] = {
    # time
    "an endless loop": Abuse(SPIN, "stopped after 0.3 seconds; the variables are kept", seconds=0.3),
    "a long sleep": Abuse("time.sleep(600)", "KeyboardInterrupt", seconds=0.3),
    "a child that is waited for": Abuse("subprocess.run(['sleep', '600'])", "stopped after 0.3 seconds", seconds=0.3),
    # memory
    "one large object": Abuse("x = bytearray(1 << 30)", "MemoryError"),
    "a growing list": Abuse("x = []\nwhile True: x.append(bytearray(10 << 20))", "MemoryError"),
    "shared memory": Abuse("m = mmap.mmap(-1, 1 << 30)\nfor i in range(1 << 18): m[i << 12] = 1", "more memory", False),
    "children with memory": Abuse(f"for _ in range(9):\n  os.fork() or ({HOLD})\nos.wait()", "more memory", False),
    "a folder in memory": Abuse("open('/dev/shm/x', 'wb').write(bytes(40 << 20))", "OSError"),
    "sockets full of data": Abuse("s = [socket.socketpair() for _ in range(9999)]", "Too many open files"),
    # processes
    "a fork bomb": Abuse(FORK, "stopped after 0.5 seconds", None, 0.5),
    "children that multiply": Abuse(f"if not os.fork():\n    {FORK.replace(chr(10), chr(10) + '    ')}", ""),
    "many threads": Abuse(
        "stop = threading.Event()\nt = [threading.Thread(target=stop.wait) for _ in range(999)]\n"
        "for thread in t: thread.start()",
        "can't start new thread",
    ),
    "many processes": Abuse("p = [subprocess.Popen(['sleep', '60']) for _ in range(999)]", "BlockingIOError"),
    # files
    "a huge file": Abuse("f = open('huge', 'wb')\nwhile True: f.write(bytes(1 << 20))", "OSError"),
    "a file with a hole": Abuse("f = open('hole', 'wb')\nos.truncate('hole', 1 << 40)", "File too large"),
    "many large files": Abuse("for n in range(99): open(f'l{n}', 'wb').write(bytes(8 << 20))", "No space left"),
    "many files": Abuse("for n in range(10**9): open(f'f{n}', 'w')", "more than the 2,000 files", False),
    "deep folders": Abuse("for n in range(10**9): os.mkdir('d'); os.chdir('d')", "more than the 2,000 files", False),
    "the working folder gone": Abuse("shutil.rmtree(os.getcwd(), ignore_errors=True); print(os.listdir())", "[]"),
    "all folders gone": Abuse("[shutil.rmtree(p, ignore_errors=True) for p in ('/tmp', '/run', '/dev/shm')]", ""),
    # output
    "many lines": Abuse("for n in range(200_000): print(n)", "199999"),
    "endless output": Abuse("while True: print('x' * 1000)", "stopped after 0.3 seconds", seconds=0.3),
    "endless errors": Abuse("while True: sys.stderr.write('x' * 1000)", "stopped after 0.3 seconds", seconds=0.3),
    "output of a child": Abuse("subprocess.run('yes | head -c 5000000', shell=True)", "characters are left out"),
    "a long error": Abuse("raise ValueError('x' * 1_000_000)", "characters are left out"),
    "many images": Abuse(
        "from IPython.display import Image, display\n"
        "for _ in range(99): display(Image(b'\\x89PNG\\r\\n\\x1a\\n', format='png'))",
        "an image is left out",
    ),
    "one long text": Abuse("print('x' * 50_000_000)", "characters are left out"),
    # ends
    "sys.exit": Abuse("sys.exit(3)", "SystemExit: 3"),
    "exit": Abuse("exit()", PROCESS_ENDED, False),
    "os._exit": Abuse("os._exit(3)", PROCESS_ENDED, False),
    "a kill of itself": Abuse("os.kill(os.getpid(), 9)", PROCESS_ENDED, False),
    "a kill of all": Abuse("os.killpg(0, 9)", PROCESS_ENDED, False),
    "a kill of process 1": Abuse("[os.kill(1, s) for s in (2, 9, 15, 19)]; print('sent')", "sent"),
    "an abort": Abuse("os.abort()", PROCESS_ENDED, False),
    "a fault": Abuse("ctypes.string_at(1)", PROCESS_ENDED, False),
    "another program in its place": Abuse("os.execv('/bin/true', ['true'])", PROCESS_ENDED, False),
    "false messages": Abuse("get_ipython().kernel.iopub_thread.send_multipart([b'false', b'message'])", ""),
    "a question to a person": Abuse("input('? ')", "StdinNotImplementedError"),
    "a tower of calls": Abuse("f = lambda: f()\nf()", "RecursionError"),
}  # fmt: skip

# What no interrupt ends: the kernel goes, with its variables.
STUBBORN = {
    "an interrupt ignored": f"signal.signal(2, signal.SIG_IGN)\n{SPIN}",
    "an interrupt caught": "while 1:\n  try: time.sleep(9)\n  except BaseException: 0",
    "a computation without a pause": "sum(range(10**14))",
    "a kernel that stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "another program that stays": "os.execv('/bin/sleep', ['sleep', '60'])",
    "all descriptors closed": "os.closerange(0, 4096)",
}

AFTER = """
import os
if "stop" in globals():
    globals().pop("stop").set()
    for thread in t:
        thread.ident and thread.join()
for name in ("f", "m", "p", "s", "t", "x"):
    globals().pop(name, None)
for name in os.listdir("/sandbox/work"):
    os.remove(f"/sandbox/work/{name}")
globals().get("mark")
"""


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    """Kernels with small limits; after the tests nothing is left of them."""
    kernels = Kernels(LIMITS)
    yield kernels
    kernels.close()
    assert sandboxes() == []


@pytest.mark.parametrize("name", ABUSES)
def test_abuse_is_bounded_and_the_next_execution_works(name: str, kernels: Kernels):
    abuse = ABUSES[name]
    execute(kernels, f"{PRELUDE}mark = 'kept'")
    outcome = execute(kernels, PRELUDE + abuse.code, abuse.seconds)
    said = f"{outcome.error}\n{outcome.text}"
    assert any(each in said for each in abuse.says.split("|")), said
    assert len(outcome.text) < 2 * LIMITS.output
    assert len(outcome.error or "") < 2 * LIMITS.output
    assert abuse.kept in (outcome.kept, None)
    after = execute(kernels, AFTER)
    assert after.error is None, after.error
    assert after.text == ("'kept'" if outcome.kept else "")
    assert len(sandboxes()) == 1


@pytest.mark.slow
def test_what_ignores_interrupts_is_ended_in_all_sessions_at_once():
    before, kernels = set(sandboxes()), Kernels(LIMITS)

    def run(name: str) -> Execution:
        return execute(kernels, PRELUDE + STUBBORN[name], 0.2, session_id=name)

    with ThreadPoolExecutor(len(STUBBORN)) as pool:
        outcomes = dict(zip(STUBBORN, pool.map(run, STUBBORN), strict=True))
    for name, outcome in outcomes.items():
        assert not outcome.kept, name
        assert "ignored the interrupt" in (outcome.error or "") or "process ended" in (outcome.error or ""), name
    assert kernels.running == []
    assert set(sandboxes()) <= before


def test_computing_time_ends():
    kernels = Kernels(replace(LIMITS, cpu_seconds=3))
    assert PROCESS_ENDED in (execute(kernels, SPIN).error or "")
    kernels.close()


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.Popen(['sleep', '600'])",
        "subprocess.Popen(['sleep', '600'], start_new_session=True)",
        "os.fork() or (os.setsid(), os.fork() or time.sleep(600), os._exit(0))",
        "os.fork() or ([signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15, 20)], time.sleep(600))",
    ],
)
def test_what_code_starts_ends_with_the_execution(start: str, kernels: Kernels):
    before = set(descendants())
    execute(kernels, "0")
    known = before | set(descendants())
    told = execute(kernels, PRELUDE + start + "\nprint('started')").text
    assert "started" in told.splitlines()  # Python 3.12 and later warn of a fork beside threads
    assert {pid for pid in descendants() if state(pid) != "Z"} <= known


def test_between_two_executions_nothing_runs(kernels: Kernels):
    execute(
        kernels, f"{PRELUDE}count = [0]\ndef run():\n  while True: count[0] += 1\nthreading.Thread(target=run).start()"
    )
    assert state(kernel_process(kernels)) == "T"
    first = int(execute(kernels, "count[0]").text)
    assert int(execute(kernels, "time.sleep(0.2); count[0]").text) > first
    kernels.close(0)


@pytest.mark.parametrize("end", ["close", "garbage"])
def test_sessions_that_end_leave_no_process_no_file_and_no_descriptor(end: str):
    places = ("/tmp", "/dev/shm", "/run")
    before, files = descendants(), [set(os.listdir(place)) for place in places]
    descriptors = len(os.listdir("/proc/self/fd"))
    kernels = Kernels(LIMITS)
    code = f"{PRELUDE}subprocess.Popen(['sleep', '600'])\nfor p in {places}: open(f'{{p}}/mine-{os.getpid()}', 'w')"
    assert execute(kernels, code).error is None
    assert len(descendants()) > len(before)
    if end == "close":
        kernels.close()
    del kernels
    gc.collect()
    assert descendants() == before
    for place, known in zip(places, files, strict=True):
        left = set(os.listdir(place)) - known
        assert not [name for name in left if "kernel" in name or "bwrap" in name or "mine-" in name]
    assert len(os.listdir("/proc/self/fd")) == descriptors
