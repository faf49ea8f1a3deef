"""What reading something costs: it is read in a process that tells its peak of memory, and that of its own ones."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from typing import NamedTuple

__all__ = ["Cost", "cost_of"]

# It imports what is measured once, and makes a process of its own for each measurement.
_PROGRAM = """
import json, os, re, resource, sys, time
{imports}
def measured(body):
    said, kind, limit, began = "", "", "", time.process_time()
    names = {"sys": sys}
    try:
        exec(body, names)
        said = names.get("said", "")
    except Exception as error:
        said, kind, limit = str(error), type(error).__name__, getattr(error, "limit", "")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() - began + children.ru_utime + children.ru_stime
    own = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
    most = max(own, children.ru_maxrss)
    print(json.dumps([kind, said, str(limit), seconds, most / 1024]))
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        body, sys.argv[1:] = json.loads(line)
        measured(body)
        break
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Cost(NamedTuple):
    """The name of an error, its text, the limit that it names; the seconds of processors, and the peak in
    megabytes."""

    error: str
    text: str
    limit: str
    seconds: float
    megabytes: float


def cost_of(body: str, *arguments: object) -> Cost:
    """Run some statements, which find the arguments in `sys.argv`; they may say something in `said`."""
    maker = _maker(re.findall(r"^from trivium\S+ import .+$", body, re.MULTILINE)[0])
    assert maker.stdin is not None
    assert maker.stdout is not None
    try:
        maker.stdin.write(f"{json.dumps([body, [*map(str, arguments)]])}\n")
        maker.stdin.flush()
        said = [maker.stdout.readline()]
        while said[-1] and not said[-1].strip().isdigit():
            said.append(maker.stdout.readline())
    except BaseException:
        _end(maker)
        raise
    assert said[-1].strip() == "0", f"it broke down: {said[-1]}"
    return Cost(*json.loads(said[-2]))


@functools.cache
def _maker(imports: str) -> subprocess.Popen[str]:
    program = _PROGRAM.replace("{imports}", imports)
    made = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(_end, made)
    return made


def _end(maker: subprocess.Popen[str]) -> None:
    """End it with its measurement."""
    _maker.cache_clear()
    with suppress(ProcessLookupError):
        os.killpg(maker.pid, signal.SIGKILL)
    maker.communicate()
