"""Runs that were the end of their processes: tried again after a while, which gets longer, and given up at last."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Final

from trivium.commander.lowlevel import run_in_worker, wait
from trivium.exceptions import UnknownRunError, WorkerLostError

if TYPE_CHECKING:
    from trivium.journal._journal import Journal

ATTEMPTS: Final = 10
"""Attempts in a row that may end with their processes and record nothing, unless somebody says otherwise."""
_PATIENCE: Final = 60.0
"""The most seconds that a run waits."""


async def hold_back(journal: Journal, run_id: str, attempts: int = ATTEMPTS) -> None:
    """Have a run wait whose last attempts ended with their processes: runs beside it get further meanwhile.

    Args:
        journal: its journal.
        run_id: its id.
        attempts: how many attempts may have ended so and recorded nothing.

    Raises:
        WorkerLostError: that many have.
    """
    try:
        info = await run_in_worker(partial(journal.info, run_id))
    except UnknownRunError:
        return
    if info.status != "killed":
        return
    if info.futile >= attempts:
        error = WorkerLostError(
            f"the run {run_id!r} was the end of its process {info.futile} times, and got no further: what it does next "
            "may end the process, or take all of its memory. Begun again, it is tried once more",
            run_id,
            info.futile,
        )
        await run_in_worker(partial(journal.give_up, info, f"WorkerLostError: {error}"))
        raise error
    if info.futile > 1:
        await wait(random.uniform(0.5, 1) * min(2.0**info.futile, _PATIENCE))  # noqa: S311 - not a secret
