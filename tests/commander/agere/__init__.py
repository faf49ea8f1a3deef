"""Programs as users of Agere write them: each runs on trivium and on Agere, and says what happened.

Agere's own environment reads this folder too (see `scripts/scenarios.py`), so nothing of trivium is imported here:
a package is given as a module.
"""

from . import callbacks, contexts, edges, ends, failures, jobs, mixtures, nodes, streams, terminations, threads, tools
from ._script import SCRIPTS, outcome

__all__ = [
    "SCRIPTS",
    "callbacks",
    "contexts",
    "edges",
    "ends",
    "failures",
    "jobs",
    "mixtures",
    "nodes",
    "outcome",
    "streams",
    "terminations",
    "threads",
    "tools",
]
