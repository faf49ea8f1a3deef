"""What reading something costs: it is read in a process that tells its peak of memory, and that of its own ones."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

__all__ = ["Cost", "cost_of"]

_PROGRAM = """
import json, re, resource, sys, time
said, kind, limit = "", "", ""
try:
    {body}
except Exception as error:
    said, kind, limit = str(error), type(error).__name__, getattr(error, "limit", "")
children = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = time.process_time() + children.ru_utime + children.ru_stime
own = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
most = max(own, children.ru_maxrss)
print(json.dumps([kind, said, str(limit), seconds, most / 1024]))
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
    """Run some statements, which find the arguments in `sys.argv`."""
    program = _PROGRAM.replace("{body}", body.replace("\n", "\n    "))
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=600)
    assert done.returncode == 0, f"it broke down: {done.returncode}"
    return Cost(*json.loads(done.stdout))
