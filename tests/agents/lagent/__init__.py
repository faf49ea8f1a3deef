"""Programs as users of Lagent write them: each runs on trivium and on Lagent, and says what happened.

Lagent's own environment reads this folder too (see `scripts/scenarios.py`), so nothing of trivium is imported here:
a package is given as a module.
"""

from . import (
    actions,
    agents,
    aggregators,
    containers,
    executors,
    hooks,
    memories,
    mixtures,
    models,
    parsers,
    shipped,
    states,
    streams,
)
from ._script import SCRIPTS, outcome

__all__ = [
    "SCRIPTS",
    "actions",
    "agents",
    "aggregators",
    "containers",
    "executors",
    "hooks",
    "memories",
    "mixtures",
    "models",
    "outcome",
    "parsers",
    "shipped",
    "states",
    "streams",
]
